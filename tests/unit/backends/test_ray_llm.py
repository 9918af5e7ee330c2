"""What is sent to ray.data.llm and what is read of it, without Ray and without a GPU."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

from perspective_rag import LLMJudge, RayLLM
from perspective_rag.backends.ray_llm import reply_of, request_of
from perspective_rag.errors import ConfigError, LLMError, MissingDependency
from perspective_rag.flow.drivers import run
from perspective_rag.flow.recorder import Recorder
from perspective_rag.types import Passage, Perspective, Prompt


class Played(RayLLM):
    """Rows go through the two functions that Ray would call, around an engine that is played."""

    def __init__(self, **options):
        super().__init__("model", **options)
        self.requests = []

    def _run(self, rows):
        done = []
        for row in reversed(rows):  # Ray keeps no order
            request = request_of(row)
            self.requests.append(request)
            user = request["messages"][-1]["content"]
            if "broken" in user:
                done.append({"place": row["place"], "__inference_error__": "ValueError: too long"})
            elif "lost" not in user:
                processed = {**request, **played(user)}
                done.append({**reply_of(processed), "__inference_error__": ""})
        return done


def played(user):
    yes = 0.9 if "cruel" in user else 0.2
    tokens = {
        "7": {"logprob": float(np.log(1 - yes)), "rank": 1, "decoded_token": "No"},
        "5": {"logprob": float(np.log(yes)), "rank": 2, "decoded_token": "Yes"},
        "9": None,  # as Arrow fills what other rows have
    }
    return {
        "generated_text": "Yes",
        "generated_tokens": np.array([5]),
        "num_input_tokens": 11,
        "num_generated_tokens": 1,
        "logprobs": [tokens],
    }


def test_a_judge_asks_in_one_batch_and_reads_probabilities_in_order():
    llm, recorder = Played(), Recorder()
    passages = [Passage(str(i), text) for i, text in enumerate(["cruel", "broken", "fine", "lost"])]
    perspectives = [Perspective("p", "Close zoos.")] * 4
    support = run(LLMJudge(llm).judge_pairs(perspectives, passages), recorder)
    np.testing.assert_allclose(support, [0.9, np.nan, 0.2, np.nan])
    assert recorder.degradations[0].message == "2 of 4 pairs could not be judged"
    sampling = llm.requests[0]["sampling_params"]
    assert sampling["structured_outputs"]["choice"][:3] == ["yes", "Yes", "YES"]
    assert (sampling["temperature"], sampling["max_tokens"], sampling["logprobs"]) == (0.0, 16, 20)


def test_rows_have_the_same_columns_whatever_is_asked():
    llm = Played()
    rows = [
        llm._row(0, Prompt("n", "u", "s", choices=("yes", "no"))),
        llm._row(1, Prompt("n", "u", schema={"type": "object"})),
    ]
    assert [{name: type(value) for name, value in row.items()} for row in rows] == [
        {"place": int, "request": str}
    ] * 2
    asked = json.loads(rows[1]["request"])["sampling_params"]
    assert asked["structured_outputs"] == {"json": {"type": "object"}}


def test_a_cluster_that_fails_is_an_error_for_each_prompt():
    class Failing(Played):
        def _run(self, rows):
            raise RuntimeError("no GPU")

    replies = Failing().complete_many([Prompt("n", "u")] * 2)
    assert [type(each) for each in replies] == [LLMError] * 2
    assert "no GPU" in str(replies[0].__cause__)
    assert Failing().complete_many([]) == []


def test_options_are_checked_and_are_part_of_the_revision():
    with pytest.raises(ConfigError, match="JSON"):
        RayLLM("model", options={"x": object()})
    with pytest.raises(ConfigError, match="replicas"):
        RayLLM("model", replicas=0)
    assert RayLLM("m", options={"max_model_len": 9}).revision != RayLLM("m").revision


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_the_extra_is_named():
    with pytest.raises(MissingDependency, match=r"perspective-rag\[ray"):
        RayLLM("model").complete(Prompt("n", "hello"))
