"""Many requests at once get the answers of one alone, within the limits, and leave nothing behind."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perspective_rag import Limiter
from perspective_rag.options import FUSIONS, PROJECTIONS

NOUNS = "zoos parks cages museums bridges trains animals children leaves cities".split()
VERBS = "closed freed painted visited sold".split()
QUESTIONS = [f"Should {noun} be {verb}?" for noun in NOUNS for verb in VERBS]
LIMIT = 6
STAGES = ("extract", "embed", "vectors", "search", "judge")


@pytest.mark.slow
def test_r28_thirty_two_threads_get_the_answers_of_one(wrapped, load):
    probe = load.Probe()
    made = wrapped(probe, limiter=Limiter(LIMIT), mmr_lambda=0.7, max_queries=2, guard_searches=0)
    assert len(QUESTIONS) == 50
    alone = [made.ask(question) for question in QUESTIONS]
    assert len({str(answer) for answer in alone}) > 10  # an answer of another would be noticed
    probe.most.clear()

    def fifty(start):
        order = [(start + step) % 50 for step in range(50)]
        return all(made.ask(QUESTIONS[i]) == alone[i] for i in order)

    with ThreadPoolExecutor(32) as pool:
        assert all(pool.map(fifty, range(32)))
    assert 1 <= probe.most["store"] <= LIMIT
    assert 1 <= probe.most["judge"] <= LIMIT
    # LangChain's embeddings take one query each; our adapter asks for four of them side by side.
    assert 1 <= probe.most["embed"] <= 4 * LIMIT
    assert not any(made.retriever_limiter.running(stage) for stage in STAGES)


@pytest.mark.slow
@pytest.mark.parametrize(("awaits", "requests"), [(False, 100), (True, 1000)])
async def test_r28_a_thousand_questions_at_once_get_the_answers_of_one(
    wrapped, load, awaits, requests
):
    probe = load.Probe()
    made = wrapped(
        probe, awaits=awaits, llm=True, limiter=Limiter(LIMIT), max_queries=2, guard_searches=0
    )
    alone = [made.ask(question) for question in QUESTIONS]
    assert len({str(answer) for answer in alone}) > 10
    probe.most.clear()
    answers = await asyncio.gather(*(made.aask(QUESTIONS[i % 50]) for i in range(requests)))
    assert all(answer == alone[i % 50] for i, answer in enumerate(answers))
    assert max(probe.most[kind] for kind in ("llm", "store", "judge")) <= LIMIT
    if awaits:  # all are there at once, so the limit is reached as well as kept
        assert probe.most["llm"] == LIMIT


@pytest.fixture(scope="module")
def left():
    """What the requests of a framework leave, measured once, in an interpreter of its own."""

    @cache
    def measure(framework):
        command = [sys.executable, "-m", "tests.integrations.leaks", framework]
        root = Path(__file__).parents[2]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return measure


# A result kept by mistake is more than 100 blocks; LlamaIndex keeps the id of every event that no
# trace is around, 14 blocks a request.
FEW_BLOCKS = 40


@pytest.mark.slow
@pytest.mark.parametrize("way", ["sync", "async", "failing"])
def test_memory_and_threads_return_to_where_they_were(left, framework, way):
    found = left(framework)[way]
    assert found["blocks"] < FEW_BLOCKS
    assert found["objects"] == 0
    assert found["threads"] == 0


@pytest.mark.slow
def test_a_result_that_is_kept_would_be_noticed(left, framework):
    found = left(framework)["keeping"]
    assert found["blocks"] > 2 * FEW_BLOCKS
    assert found["objects"] >= 600  # 100 results of 5 candidates each


# Sync and async are one: every strategy with every other option.

options = st.fixed_dictionaries(
    {},
    optional={
        "k": st.integers(1, 12),
        "fetch_k": st.integers(1, 12),
        "mmr_lambda": st.sampled_from([0.0, 0.3, 0.7, 1.0]),
        "projection": st.sampled_from(PROJECTIONS),
        "fusion": st.sampled_from(FUSIONS),
        "max_queries": st.integers(1, 4),
        "judge_k": st.integers(0, 10),
        "coverage": st.sampled_from(["annotate", "off"]),
        "coverage_weight": st.sampled_from([0.0, 0.5, 1.0]),
        "min_support": st.sampled_from([None, 0.05, 0.95]),
        "guard_searches": st.integers(0, 3),
        "max_concurrency": st.integers(1, 3),
        "timeout": st.sampled_from([None, 30.0]),
    },
)
perspectives = st.sampled_from([None, [], ["cages are cruel"], ["breeding", "ice cream", "rust"]])
parts = st.fixed_dictionaries(
    {"llm": st.booleans(), "judged": st.booleans(), "awaits": st.booleans()}
)


def told(result):
    values = result.to_dict()
    del values["trace"]["seconds"]
    return values


async def agree(wrapped, question, made_of, chosen, given_perspectives):
    made = wrapped(**made_of)
    one = made.report(question, perspectives=given_perspectives, **chosen)
    other = await made.areport(question, perspectives=given_perspectives, **chosen)
    assert told(one) == told(other)
    assert len(one.candidates) == min(chosen.get("k", 5), 10)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(made_of=parts, chosen=options, asked=perspectives)
def test_r12_sync_and_async_agree_whatever_is_asked(wrapped, load, made_of, chosen, asked):
    asyncio.run(agree(wrapped, load.question, made_of, chosen, asked))


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("projection", PROJECTIONS)
async def test_r12_sync_and_async_agree_for_every_strategy(wrapped, load, projection, fusion):
    made_of = {"llm": True, "awaits": True}
    for weight in (0.4, 1.0):
        chosen = {"projection": projection, "fusion": fusion, "mmr_lambda": weight}
        await agree(wrapped, load.question, made_of, chosen, None)
