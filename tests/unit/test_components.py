"""What can never be a component is refused where it is passed, in words that say what to pass."""

from __future__ import annotations

from functools import partial

import pytest

from perspective_rag import (
    CallableLLM,
    ConfigError,
    LLMExpander,
    LLMExtractor,
    LLMJudge,
    PerspectivePipeline,
)
from perspective_rag.testing import SAMPLE, HashEmbedder, MemoryStore, TableJudge


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


def test_a_class_is_refused_though_it_has_the_methods():
    with pytest.raises(ConfigError, match=r"embedder must be .*HashEmbedder\(\.\.\.\)"):
        pipeline(embedder=HashEmbedder)


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


def test_an_extractor_to_fall_back_on_is_one():
    with pytest.raises(ConfigError, match=r"fallback must be an Extractor .*CallableExtractor"):
        LLMExtractor(CallableLLM(str), fallback=function)


def test_components_of_the_right_shape_pass():
    assert pipeline(judge=TableJudge()).judge.name == "table"
