"""The vLLM engine through a stand-in module with the real one's signatures (vLLM 0.32)."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from perspective_rag.errors import ConfigError, LLMError, MissingDependency
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.local.judges import load_judge
from perspective_rag.protocols import LLM, CompletesMany
from perspective_rag.types import Passage, Perspective, Prompt
from perspective_rag_scale.vllm_engine import VLLMEngine

YES_NO = Prompt("judge", "is it?", system="be brief", choices=("yes", "no"), max_tokens=4, seed=7)
PRO = Perspective("pro", "zoos should close")


@dataclass
class Logprob:
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass(kw_only=True)
class StructuredOutputsParams:
    json: dict | None = None
    choice: list[str] | None = None


@dataclass(kw_only=True)
class SamplingParams:
    temperature: float = 1.0
    seed: int | None = None
    max_tokens: int | None = 16
    logprobs: int | None = None
    structured_outputs: StructuredOutputsParams | None = None


@dataclass
class LoRARequest:
    lora_name: str
    lora_int_id: int
    lora_path: str = ""


@dataclass
class Vllm:
    """What the engine was built with and asked, and what it says."""

    template: str | None = "{{ messages }}"
    built: list[dict] = field(default_factory=list)
    calls: list[dict] = field(default_factory=list)
    steps: list[dict[str, float]] = field(default_factory=lambda: [{"Yes": 0.6, "no": 0.2}])
    refuses: str = "\0"
    loads: bool = True
    dies: bool = False
    shut: int = 0
    cached: int | None = 2

    def module(self) -> ModuleType:
        owner = self

        class Engine:
            def __init__(self, model: str, **options):
                owner.built.append({"model": model, **options})
                if not owner.loads:
                    raise ValueError("no config.json")
                self.llm_engine = SimpleNamespace(engine_core=self)

            def shutdown(self):
                owner.shut += 1

            def get_tokenizer(self):
                return SimpleNamespace(chat_template=owner.template)

            def chat(self, messages, sampling_params=None, use_tqdm=True, lora_request=None):
                return self._outputs("chat", messages, sampling_params, use_tqdm, lora_request)

            def generate(self, prompts, sampling_params=None, *, use_tqdm=True, lora_request=None):
                return self._outputs("generate", prompts, sampling_params, use_tqdm, lora_request)

            def _outputs(self, kind, asked, sampling, use_tqdm, lora):
                owner.calls.append(
                    {"kind": kind, "asked": asked, "sampling": sampling, "lora": lora}
                )
                assert use_tqdm is False
                assert len(asked) == len(sampling)
                if owner.dies:
                    raise EngineDeadError("EngineCore encountered an issue")
                if any(owner.refuses in str(each) for each in asked):
                    raise ValueError("The decoder prompt is longer than the maximum model length")
                return [owner.output(each) for each in sampling]

        module = ModuleType("vllm")
        module.LLM, module.SamplingParams = Engine, SamplingParams
        return module

    def output(self, sampling):
        written = self.steps[: sampling.max_tokens]
        ids = {token: i for step in written for i, token in enumerate(step)}
        steps = [
            {ids[t]: Logprob(math.log(p), decoded_token=t) for t, p in step.items()}
            for step in written
        ]
        best = [max(step, key=step.get) for step in written]
        said = SimpleNamespace(
            text="".join(best),
            token_ids=[ids[token] for token in best],
            logprobs=steps if sampling.logprobs else None,
        )
        return SimpleNamespace(
            prompt_token_ids=[1, 2, 3], num_cached_tokens=self.cached, outputs=[said]
        )


class EngineDeadError(Exception):
    """As in ``vllm.v1.engine.exceptions``: the engine's process is gone."""


@pytest.fixture
def vllm(monkeypatch):
    fake = Vllm()
    sampling, lora, request = (ModuleType(f"vllm.{n}") for n in ("s", "lora", "lora.request"))
    sampling.StructuredOutputsParams, request.LoRARequest = StructuredOutputsParams, LoRARequest
    for name, module in {
        "vllm": fake.module(),
        "vllm.sampling_params": sampling,
        "vllm.lora": lora,
        "vllm.lora.request": request,
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    return fake


def test_construction_loads_nothing_and_the_engine_is_built_once_with_prefix_caching(vllm):
    engine = VLLMEngine("some/model", revision="abc", options={"max_model_len": 512})
    assert isinstance(engine, LLM)
    assert isinstance(engine, CompletesMany)
    assert vllm.built == []
    engine.complete(YES_NO)
    engine.complete(YES_NO)
    assert vllm.built == [
        {
            "model": "some/model",
            "enable_prefix_caching": True,
            "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
            "revision": "abc",
            "max_model_len": 512,
        }
    ]


def test_choices_are_held_to_in_every_spelling_and_probabilities_sum_over_first_tokens(vllm):
    vllm.steps = [{"Yes": 0.4, " yes": 0.1, "y": 0.1, "No": 0.2, "Maybe": 0.2}]
    completion = VLLMEngine("m").complete(YES_NO)
    assert completion.choice_probabilities == pytest.approx({"yes": 0.75, "no": 0.25})
    assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == (
        "Yes",
        3,
        1,
    )
    sent = vllm.calls[0]
    assert sent["kind"] == "chat"
    assert sent["asked"] == [
        [{"role": "system", "content": "be brief"}, {"role": "user", "content": "is it?"}]
    ]
    choice = StructuredOutputsParams(choice=["yes", "Yes", "YES", "no", "No", "NO"])
    assert sent["sampling"] == [
        SamplingParams(
            temperature=0.0, seed=7, max_tokens=1, logprobs=20, structured_outputs=choice
        )
    ]


def test_white_space_before_the_answer_does_not_decide(vllm):
    vllm.steps = [{"\n": 0.9, "A": 0.1}, {"Agree": 0.25, "AGAINST": 0.75}]
    prompt = Prompt("judge", "is it?", choices=("agree", "against"), max_tokens=4)
    completion = VLLMEngine("m").complete(prompt)
    assert completion.choice_probabilities == pytest.approx({"agree": 0.25, "against": 0.75})
    assert vllm.calls[0]["sampling"][0].max_tokens == 4  # "A" begins both


def test_one_token_is_written_where_the_first_letter_tells_the_choices_apart(vllm):
    vllm.steps = [{"y": 0.6, "no": 0.4}, {"es": 1.0}]
    completion = VLLMEngine("m").complete(YES_NO)
    assert (completion.text, completion.completion_tokens) == ("yes", 1)
    assert completion.choice_probabilities == pytest.approx({"yes": 0.6, "no": 0.4})


def test_what_was_in_the_prefix_cache_is_counted(vllm):
    engine = VLLMEngine("m")
    engine.complete_many([YES_NO] * 3)
    vllm.cached = None  # as the engine has it before anything was looked up
    engine.complete(YES_NO)
    assert engine.cached_tokens == 6


def test_an_engine_that_died_fails_the_batch_and_the_next_one_starts_another(vllm):
    engine = VLLMEngine("m")
    vllm.dies = True
    replies = engine.complete_many([YES_NO] * 3)
    assert all("EngineDeadError" in str(reply) for reply in replies)
    assert (len(vllm.calls), vllm.shut) == (1, 1)
    vllm.dies = False
    assert engine.complete(YES_NO).text == "Yes"
    assert len(vllm.built) == 2
    engine.close()
    engine.close()
    assert vllm.shut == 2


def test_pairs_of_one_passage_are_asked_one_after_the_other(vllm):
    judge = load_judge("zephyr-7b", engine="vllm", batch_size=2)
    sides = [PRO, Perspective("con", "zoos should stay")]
    passages = [Passage("a", "cages"), Passage("b", "species")]
    book = Recorder()
    flow = judge.judge_pairs([sides[0], sides[0], sides[1], sides[1]], passages * 2)
    vllm.steps = [{"Yes": 0.6, "no": 0.2}]
    np.testing.assert_allclose(run(flow, book), [0.75] * 4)
    asked = [chat[-1]["content"] for call in vllm.calls for chat in call["asked"]]
    assert [("cages" in text, "should close" in text) for text in asked] == [
        (True, True),
        (True, False),
        (False, True),
        (False, False),
    ]
    # What two prompts of a passage do not share is the statement and what follows it.
    first, second = (text.partition("Statement: zoos should ") for text in asked[:2])
    assert first[:2] == second[:2]
    assert first[1]


def test_a_schema_is_held_to_and_other_prompts_are_free(vllm):
    engine = VLLMEngine("m")
    engine.complete(Prompt("p", "x", schema={"type": "object"}))
    engine.complete(Prompt("p", "x"))
    first, second = (call["sampling"][0] for call in vllm.calls)
    assert first.structured_outputs == StructuredOutputsParams(json={"type": "object"})
    assert (second.structured_outputs, second.logprobs) == (None, None)


def test_a_model_without_a_chat_template_is_given_plain_text(vllm):
    vllm.template = None
    VLLMEngine("m").complete(YES_NO)
    assert vllm.calls[0]["kind"] == "generate"
    assert vllm.calls[0]["asked"] == ["be brief\n\nis it?"]


def test_a_prompt_that_is_refused_fails_alone(vllm):
    vllm.refuses = "too long"
    engine = VLLMEngine("m")
    long = Prompt("judge", "too long", choices=("yes", "no"))
    replies = engine.complete_many([YES_NO, long, YES_NO])
    assert [isinstance(reply, LLMError) for reply in replies] == [False, True, False]
    assert "maximum model length" in str(replies[1])
    with pytest.raises(LLMError):
        engine.complete(long)
    assert engine.complete_many([]) == []


def test_a_model_that_cannot_be_loaded_is_tried_once_and_leaves_its_pairs_unjudged(vllm):
    vllm.loads = False
    judge = load_judge("zephyr-7b", engine="vllm", model="no/such")
    passages = [Passage(str(i), f"text {i}") for i in range(3)]
    for _ in range(2):
        book = Recorder()
        assert np.isnan(run(judge.judge([PRO], passages), book)).all()
        assert "vllm:no/such could not be loaded" in str(book.degradations[0].error)
        assert "no config.json" in str(book.degradations[0].error)
    assert len(vllm.built) == 1
    with pytest.raises(LLMError, match="could not be loaded"):
        judge.llm.complete(YES_NO)


async def test_async_gives_the_same(vllm):
    engine = VLLMEngine("m")
    assert await engine.acomplete(YES_NO) == engine.complete(YES_NO)


def test_the_fine_tuned_judge_as_an_adapter_asked_in_batches(vllm):
    judge = load_judge("mistral-7b-berds-adapter", engine="vllm", batch_size=4)
    passages = [Passage(str(i), f"text {i}") for i in range(5)]
    book = Recorder()
    found = run(judge.judge([PRO, Perspective("con", "zoos should stay")], passages), book)
    np.testing.assert_allclose(found, np.full((5, 2), 0.75))
    assert [len(call["asked"]) for call in vllm.calls] == [4, 4, 2]
    assert book.counts["judged_pairs"] == 10
    assert (book.prompt_tokens, book.completion_tokens) == (30, 10)
    assert vllm.built[0]["enable_lora"] is True
    assert vllm.built[0]["max_lora_rank"] == 64
    adapter = "timchen0618/Mistral_BERDS_evaluator"
    assert vllm.calls[0]["lora"] == LoRARequest("adapter", 1, adapter)
    assert [message["role"] for message in vllm.calls[0]["asked"][0]] == ["user"]


def test_what_cannot_run_is_refused():
    with pytest.raises(ConfigError, match="transformers"):
        load_judge("t5-11b-true-nli", engine="vllm")
    with pytest.raises(ConfigError, match="zephyr-7b"):
        load_judge("zephyr7b")


def test_without_vllm_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(MissingDependency, match=r"perspective-rag\[vllm\]"):
        VLLMEngine("m").complete(YES_NO)
