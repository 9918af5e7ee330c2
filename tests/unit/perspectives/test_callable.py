"""A function as an extractor."""

from __future__ import annotations

import asyncio

import pytest

from perspective_rag import (
    CallableExtractor,
    ConfigError,
    Extraction,
    Perspective,
    PerspectivePipeline,
    arun,
    run,
)
from perspective_rag.perspectives.find import extraction_of
from perspective_rag.testing import SAMPLE, HashEmbedder, MemoryStore

QUESTION = "What about the harbour?"
SIDES = (Perspective("p1", "for"), Perspective("p2", "against"))
NAMED = extraction_of(QUESTION, SIDES)


async def awaited(question):
    await asyncio.sleep(0)
    return ["for", "against"]


def pipeline(function):
    extractor = CallableExtractor(function, name="mine")
    return PerspectivePipeline(MemoryStore(SAMPLE), embedder=HashEmbedder(), extractor=extractor)


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda question: ["for", "against"], NAMED),
        (awaited, NAMED),
        (lambda question: SIDES, NAMED),
        (lambda question: Extraction("root", SIDES), Extraction("root", SIDES)),
        (lambda question: [], Extraction(QUESTION, kind="factual")),
        (lambda question: None, Extraction(QUESTION, kind="factual")),
    ],
)
def test_strings_perspectives_an_extraction_or_nothing(function, expected):
    extractor = CallableExtractor(function)
    assert run(extractor.extract(QUESTION)) == expected
    assert asyncio.run(arun(extractor.extract(QUESTION))) == expected


def test_two_perspectives_mean_what_they_mean_when_they_are_given_to_a_call():
    question = "Should zoos be closed?"
    extraction = run(CallableExtractor(awaited).extract(question))
    assert extraction.exclusive
    assert extraction == extraction_of(question, ["for", "against"])


def test_the_pipeline_searches_what_the_function_finds():
    result = pipeline(awaited).retrieve(QUESTION)
    assert result.perspectives == SIDES
    assert result.trace.calls["extract"] == 1


@pytest.mark.parametrize("returned", ["for", 3, {"for": 1}, [1, 2], [""]])
def test_a_wrong_return_value_names_the_extractor_and_what_it_must_return(returned):
    expected = "extractor 'mine' must return a list of strings or Perspectives, an Extraction, or"
    with pytest.raises(ConfigError, match=expected):
        pipeline(lambda question: returned).retrieve(QUESTION)


def test_a_function_that_raises_leaves_a_degradation():
    def broken(question):
        raise ConnectionError("the model is away")

    result = pipeline(broken).retrieve(QUESTION)
    assert result.perspectives == ()
    assert "the model is away" in result.trace.degradations[0].message


@pytest.mark.parametrize("function", [lambda: [], lambda a, b: [], list, "sides"])
def test_what_does_not_take_one_argument_is_refused_at_construction(function):
    with pytest.raises(ConfigError, match=r"CallableExtractor needs a function of \(question\)"):
        CallableExtractor(function)
