"""What cannot be used is refused where it is passed, in words that say what to pass."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from perspective_rag import (
    CallableLLM,
    ConfigError,
    LLMExpander,
    LLMExtractor,
    LLMJudge,
    PerspectivePipeline,
)
from perspective_rag.errors import between, count
from perspective_rag.testing import SAMPLE, HashEmbedder, MemoryStore


@pytest.mark.parametrize("value", [1, 7, np.int64(3)])
def test_a_count_is_a_plain_int(value):
    assert count("k", value) == int(value)
    assert type(count("k", value)) is int


@pytest.mark.parametrize("value", [0, -1, True, 1.0, "1", None, float("nan")])
def test_no_count(value):
    with pytest.raises(ConfigError, match="k must be a whole number, at least 1; got"):
        count("k", value)


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.25)])
def test_a_number_between_is_a_plain_float(value):
    assert between("share", value) == float(value)
    assert type(between("share", value)) is float


@pytest.mark.parametrize("value", [-0.01, 1.01, True, "0.5", None, float("nan"), [0.5]])
def test_no_number_between(value):
    with pytest.raises(ConfigError, match=r"share must be a number in \[0, 1\]; got"):
        between("share", value)


# Components


def function(*arguments):
    raise AssertionError("never called")


class Nothing:
    name = "nothing"


def pipeline(**parts):
    return PerspectivePipeline(
        **{"store": MemoryStore(SAMPLE), "embedder": HashEmbedder(), **parts}
    )


@pytest.mark.parametrize(
    ("parameter", "wrapper"),
    [
        ("store", "CallableStore"),
        ("embedder", "CallableEmbedder"),
        ("judge", "CallableJudge"),
        ("extractor", "CallableExtractor"),
    ],
)
def test_a_function_is_refused_and_its_wrapper_named(parameter, wrapper):
    with pytest.raises(ConfigError, match=rf"^{parameter} must be an? .*{wrapper}\(function\)"):
        pipeline(**{parameter: function})
    with pytest.raises(
        ConfigError, match=rf"^{parameter} must be .*wrap it, {wrapper}\(function\)"
    ):
        pipeline(**{parameter: partial(function, 1)})


@pytest.mark.parametrize(
    "parameter", ["store", "embedder", "judge", "extractor", "expander", "answerer", "limiter"]
)
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("default", "got 'default'"),
        (Nothing(), "got a Nothing, which lacks"),
        (Nothing, r"got the class Nothing: pass an instance, Nothing\(\.\.\.\)"),
        (3, "got 3"),
        (["x" * 500], r"got \['x+\.\.\."),
    ],
)
def test_anything_else_is_refused_with_what_was_given(parameter, given, said):
    with pytest.raises(ConfigError, match=f"^{parameter} must be an? .*{said}"):
        pipeline(**{parameter: given})


def test_a_store_is_needed_and_options_are_no_mapping():
    with pytest.raises(ConfigError, match=r"store must be a Store .* got None"):
        pipeline(store=None)
    with pytest.raises(ConfigError, match=r"options must be PipelineOptions .*from_dict"):
        pipeline(options={"k": 3})


@pytest.mark.parametrize("kind", [LLMExtractor, LLMExpander, LLMJudge])
def test_a_model_by_name_or_function_is_no_llm(kind):
    with pytest.raises(ConfigError, match=r"llm must be an LLM .* got 'gpt'.*OpenAICompatibleLLM"):
        kind("gpt")
    with pytest.raises(ConfigError, match=r"llm must be an LLM .*CallableLLM\(function\)"):
        kind(lambda prompt: "yes")
    assert kind(CallableLLM(lambda prompt: "yes")).llm.name == "callable"
