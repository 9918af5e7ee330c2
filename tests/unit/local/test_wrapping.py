"""The pipeline behind a wrapper, and the store of given passages."""

from __future__ import annotations

import pytest

from perspective_rag import CallableLLM, ConfigError, LLMExtractor, LLMListJudge, Passage
from perspective_rag.extend import (
    CallableExtractor,
    GivenPassages,
    WrapperParts,
    larger_judge,
    packaged_judge,
    wrapped_pipeline,
)
from perspective_rag.testing import TableJudge

LLM = CallableLLM(lambda prompt: "", name="tiny")
STORE = GivenPassages([Passage("a", "One."), Passage("b", "Two.")])


def made(judge="default", llm=None, llm_name="llm", watch=None, **given):
    parts = WrapperParts(judge=judge, **given)
    return wrapped_pipeline(STORE, parts, llm=llm, llm_name=llm_name, watch=watch)


def test_the_default_judge_is_the_language_model_where_there_is_one():
    plain, asking = made(), made(llm=LLM)
    assert (plain.judge, plain.second_judge) == (packaged_judge(), larger_judge())
    assert isinstance(asking.judge, LLMListJudge)
    assert asking.judge.llm is LLM
    assert isinstance(asking.extractor, LLMExtractor)
    assert asking.second_judge is None
    own = TableJudge()
    assert made(own, LLM).judge is own
    assert made(None, LLM).judge is None
    assert made(own, watch=lambda call, name, inputs: call).judge.inner is own


def test_what_cannot_be_used_is_named_as_the_wrapper_names_it():
    with pytest.raises(ConfigError, match="model= and extractor= both"):
        made(llm=LLM, extractor=CallableExtractor(lambda question: []), llm_name="model")
    with pytest.raises(ConfigError, match='judge must be "default", None, or a Judge'):
        made("defualt")


async def test_given_passages_are_found_in_their_order_and_known_by_their_source():
    assert [hit.passage.id for hit in STORE.search("x", None, k=1)] == ["a"]
    assert [hit.passage.id for hit in await STORE.asearch("x", None, k=5)] == ["a", "b"]
    same = made(None, dedup_key=lambda source: source["url"])
    assert same.identity(Passage("a", "One.", source={"url": "u"})) == "dedup_key:u"
