"""A small model judges through vLLM, in this process and over HTTP, as it does in transformers."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

pytest.importorskip("vllm")

from benchmarks.vllm.data import read_pairs
from benchmarks.vllm.server import cached_tokens
from perspective_rag import LLMJudge, OpenAICompatibleLLM
from perspective_rag.errors import LLMError
from perspective_rag.flow.driver import arun, run
from perspective_rag.flow.limiter import Limits
from perspective_rag.flow.request import Recorder
from perspective_rag.types import Passage, Perspective, Prompt
from perspective_rag_scale.transformers_llm import TransformersLLM
from perspective_rag_train import judge_many

PAIRS = read_pairs(12)
UNTIMED = Limits(timeout=None)
YES_NO = Prompt("p", "Is Paris in France? Answer yes or no.", choices=("yes", "no"), max_tokens=4)
SCHEMA = {
    "type": "object",
    "properties": {"sides": {"type": "array", "items": {"type": "string"}, "maxItems": 2}},
    "required": ["sides"],
    "additionalProperties": False,
}


def judged(llm, pairs=PAIRS):
    flow = LLMJudge(llm).judge_pairs([side for _, side in pairs], [each for each, _ in pairs])
    return run(flow, Recorder(strict=True), UNTIMED)


@pytest.fixture(scope="module")
def found(engine):
    return judged(engine)


@pytest.fixture
def client(server):
    llm = OpenAICompatibleLLM("small", base_url=server, timeout=1800.0, constrain_choices=True)
    yield llm
    llm.close()


def test_the_engine_gives_the_probabilities_of_transformers(engine, found, folder):
    expected = judged(TransformersLLM(folder, dtype="float32"))
    # transformers counts " yes" too, which the grammar does not let the engine say.
    np.testing.assert_allclose(found, expected, atol=0.02)
    assert len(set(found.round(4))) > len(PAIRS) // 2


def test_the_server_gives_the_probabilities_of_the_engine(found, client):
    np.testing.assert_allclose(judged(client), found, atol=1e-4)


async def test_the_server_gives_them_to_async_callers_too(found, client):
    flow = LLMJudge(client).judge_pairs([s for _, s in PAIRS], [d for d, _ in PAIRS])
    support = await arun(flow, Recorder(strict=True), UNTIMED)
    np.testing.assert_allclose(support, found, atol=1e-4)


def test_a_passage_is_read_once_for_all_its_perspectives(engine, found):
    _, llm = engine._loaded()
    prompts, _ = LLMJudge(engine)._prompts([s for _, s in PAIRS], [d for d, _ in PAIRS])
    llm.reset_prefix_cache()
    before = engine.cached_tokens
    completions = engine.complete_many(prompts)
    cached = engine.cached_tokens - before
    read = sum(each.prompt_tokens for each in completions)
    # The instructions alone are more than half of a prompt; half of the pairs share a passage too.
    assert 0.5 < cached / read < 1.0
    again = engine.complete_many(prompts)
    assert engine.cached_tokens - before - cached > cached
    for one, other in zip(completions, again, strict=True):
        yes = (one.choice_probabilities["yes"], other.choice_probabilities["yes"])
        assert math.isclose(*yes, abs_tol=1e-4)


def test_the_server_reads_a_common_beginning_once(client, server):
    client.options["extra_body"] = {"cache_salt": "test"}
    before = cached_tokens(server)
    judged(client)
    assert cached_tokens(server) > before


@pytest.mark.parametrize("through", ["engine", "client"])
def test_choices_are_held_to(through, request):
    completion = request.getfixturevalue(through).complete(YES_NO)
    assert completion.text.casefold() in ("yes", "no", "y", "n")
    assert sum(completion.choice_probabilities.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("through", ["engine", "client"])
def test_json_follows_its_schema(through, request):
    llm = request.getfixturevalue(through)
    prompt = Prompt(
        "p", "Name two sides of the debate on zoos as JSON.", schema=SCHEMA, max_tokens=200
    )
    completion = llm.complete(prompt)
    if through == "engine":  # the server of these tests was not told to leave white space out
        assert "\n" not in completion.text
    if completion.completion_tokens < 200:  # else it was cut off, as any reply may be
        assert set(json.loads(completion.text)) == {"sides"}


def test_free_text_is_the_same_over_http(engine, client):
    prompt = Prompt("p", "What is the capital of France?", max_tokens=8)
    said = engine.complete(prompt)
    assert "Paris" in said.text
    assert client.complete(prompt).text == said.text


@pytest.mark.parametrize("through", ["engine", "client"])
def test_a_prompt_longer_than_the_model_takes_fails_alone(through, request):
    llm = request.getfixturevalue(through)
    side = Perspective("pro", "Zoos should be closed.")
    passages = [Passage("long", "zoos are old " * 1200), Passage("short", "Zoos are cruel.")]
    book = Recorder()
    judge = LLMJudge(llm, max_characters=100_000)
    support = run(judge.judge([side], passages), book, UNTIMED)[:, 0]
    assert np.isnan(support[0])
    assert 0.0 < support[1] < 1.0
    assert "1 of 2 pairs" in book.degradations[0].message
    with pytest.raises(LLMError):
        llm.complete(Prompt("p", "zoos are old " * 1200))


def test_many_pairs_are_judged_into_a_file_and_continued(engine, found, tmp_path):
    judge = LLMJudge(engine)
    path = tmp_path / "verdicts.jsonl"
    assert judge_many(judge, PAIRS[:5], path, batch_size=4).judged == 5
    done = judge_many(judge, PAIRS, path, batch_size=4)
    assert (done.judged, done.resumed, done.failed) == (len(PAIRS) - 5, 5, 0)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    np.testing.assert_allclose([line["support"] for line in lines], found, atol=1e-4)
