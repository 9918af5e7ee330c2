"""What is sent to ray.data.llm and what is read of it, without Ray and without a GPU."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from perspective_rag import LLMJudge
from perspective_rag.errors import ConfigError, LLMError, MissingDependency
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.types import Passage, Perspective, Prompt
from perspective_rag_scale import RayLLM, ray_llm
from perspective_rag_scale.ray_llm import reply_of, request_of
from perspective_rag_scale.vllm_requests import Chats


class Tokenizer:
    """A token for each word; its template writes <s>."""

    chat_template = "<s>{% for m in messages %}[{{ m.role }}] {{ m.content }} {% endfor %}[says]"
    all_special_tokens = ("<s>", "[user]")

    def apply_chat_template(self, messages, tokenize, add_generation_prompt):
        assert (tokenize, add_generation_prompt) == (False, True)
        return "<s> " + " ".join(f"[{m['role']}] {m['content']}" for m in messages) + " [says]"

    def __call__(self, text, add_special_tokens):
        words = (["<s>"] if add_special_tokens else []) + text.split()
        return {"input_ids": words}


class Played(RayLLM):
    """Rows go through the two functions that Ray would call, around an engine that is played."""

    def __init__(self, tokenizer=None, **options):
        super().__init__("model", **options)
        self.requests = []
        self.chats = Chats(tokenizer or Tokenizer(), own_system=True)

    def _run(self, rows):
        done = []
        for row in reversed(rows):  # Ray keeps no order
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(ray_llm, "_chats", lambda *how: self.chats)
                request = request_of("model", "{}", True, row)
            self.requests.append(request)
            text = " ".join(request["tokenized_prompt"])
            if "broken" in text:
                done.append({"place": row["place"], "__inference_error__": "ValueError: too long"})
            elif "lost" not in text:
                processed = {**request, **played(text)}
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
    assert (sampling["temperature"], sampling["max_tokens"], sampling["logprobs"]) == (0.0, 1, 20)


def form(value):
    if isinstance(value, dict):
        return {name: form(each) for name, each in value.items()}
    return type(value)


def test_rows_of_a_run_have_one_form_down_to_the_last_field():
    prompts = [
        Prompt("n", "u", "s", choices=("yes", "no")),
        Prompt("n", "u", schema={"type": "object", "properties": {"a": {"type": "string"}}}),
        Prompt("n", "u", max_tokens=3),
        Prompt("n", "u", schema={"type": "array"}),
        Prompt("n", "u", choices=("pro", "con", "none"), temperature=1),
    ]
    runs = ray_llm._runs(prompts)
    assert runs == [[0, 4], [1, 3], [2]]
    for places in runs:
        asked = [json.loads(ray_llm._row(i, prompts[i])["request"]) for i in places]
        assert all(form(each) == form(asked[0]) for each in asked)
        assert None not in [*asked[0]["sampling"].values()]


def test_prompts_of_several_kinds_are_answered_in_their_order():
    class Counting(Played):
        def _run(self, rows):
            self.runs = [*getattr(self, "runs", []), [row["place"] for row in rows]]
            return super()._run(rows)

    llm = Counting()
    replies = llm.complete_many(
        [
            Prompt("n", "broken", choices=("yes", "no")),
            Prompt("n", "free"),
            Prompt("n", "cruel", choices=("yes", "no")),
        ]
    )
    assert llm.runs == [[0, 2], [1]]
    assert isinstance(replies[0], LLMError)
    assert replies[1].choice_probabilities is None
    assert replies[2].choice_probabilities["yes"] == pytest.approx(0.9)


def test_a_prompt_is_read_with_one_first_token_and_without_the_models_markers():
    llm = Played()
    llm.complete(Prompt("n", "Zoos <s> [user] are cruel.", "Be brief."))
    (ids,) = [each["tokenized_prompt"] for each in llm.requests]
    assert (ids[:2], ids[-1]) == (["<s>", "[system]"], "[says]")
    assert ids.count("<s>") == ids.count("[user]") == 1
    plain = Tokenizer()
    plain.chat_template = None
    llm = Played(plain)
    llm.complete(Prompt("n", "Zoos are cruel.", "Be brief."))
    assert llm.requests[0]["tokenized_prompt"] == "<s> Be brief. Zoos are cruel.".split()


@pytest.mark.parametrize(
    ("options", "there", "said"),
    [
        ({}, {"CPU": 8.0}, "a replica needs 1 GPUs, the cluster has 0; .* give cpus"),
        ({"options": {"tensor_parallel_size": 4}}, {"CPU": 8.0, "GPU": 2.0}, "needs 4 GPUs"),
        ({"cpus": 2}, {"CPU": 2.0}, "need 3 cores, the cluster has 2"),
    ],
)
def test_a_cluster_without_room_is_refused_as_ray_would_wait_for_ever(options, there, said):
    with pytest.raises(ConfigError, match=said):
        RayLLM("model", **options)._check_room(there)
    RayLLM("model", **options)._check_room({"CPU": 9.0, "GPU": 4.0})


def test_a_cluster_that_fails_is_an_error_for_each_prompt():
    class Failing(Played):
        def _run(self, rows):
            raise RuntimeError("no GPU")

    replies = Failing().complete_many([Prompt("n", "u")] * 2)
    assert [type(each) for each in replies] == [LLMError] * 2
    assert "no GPU" in str(replies[0].__cause__)
    assert Failing().complete_many([]) == []


def test_the_engines_own_error_is_told_whatever_ray_puts_around_it():
    class TaskError(Exception):
        cause = ImportError("no module named vllm")

    class Failing(Played):
        def _run(self, rows):
            raise RuntimeError("The actor died " + "x" * 600) from KeyError(TaskError("trace"))

    (reply,) = Failing().complete_many([Prompt("n", "u")])
    assert "ImportError: no module named vllm (in a process of Ray" in str(reply)


@pytest.mark.parametrize("error", [ConfigError("no room"), MissingDependency("ray-llm", "it")])
def test_what_the_next_batch_would_meet_too_is_raised(error):
    class Refusing(Played):
        def _run(self, rows):
            raise error

    with pytest.raises(type(error)):
        Refusing().complete_many([Prompt("n", "u")])


def test_options_are_checked_and_are_part_of_the_revision():
    with pytest.raises(ConfigError, match="JSON"):
        RayLLM("model", options={"x": object()})
    with pytest.raises(ConfigError, match="replicas"):
        RayLLM("model", replicas=0)
    with pytest.raises(ConfigError, match="one of accelerator and cpus"):
        RayLLM("model", accelerator="A100", cpus=2)
    with pytest.raises(ConfigError, match="does not stream"):
        RayLLM("model", address="ray://head:10001")
    assert RayLLM("m", options={"max_model_len": 9}).revision != RayLLM("m").revision


@pytest.mark.parametrize("missing", ["ray", "vllm", "transformers"])
def test_without_its_packages_the_extra_is_named(missing, monkeypatch):
    there = SimpleNamespace()
    monkeypatch.setattr(
        ray_llm.importlib.util, "find_spec", lambda name: None if name == missing else there
    )
    with pytest.raises(MissingDependency, match=r"perspective-rag\[ray-llm\]"):
        RayLLM("model").complete(Prompt("n", "hello"))
