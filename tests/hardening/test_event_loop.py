"""An event loop goes on while long texts are read: nothing that takes long is done in it.

What is counted are the calls of functions in the loop's thread from one of its ticks to the next; no
clock is read.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from contextlib import contextmanager

import pytest

from perspective_rag import LLMJudge, PerspectivePipeline
from perspective_rag import types as display
from perspective_rag.answer.grounded import GroundedAnswerer
from perspective_rag.extend import CallableExtractor, call, in_thread
from perspective_rag.flow.driver import arun, run
from perspective_rag.judge.cache import CachedJudge
from perspective_rag.perspectives import words as lexicon
from perspective_rag.testing import HashEmbedder, MemoryStore, RuleJudge, ScriptedLLM
from perspective_rag.text import printable
from perspective_rag.types import Hit, Passage

QUESTION = "Should zoos be closed?"
SENTENCES = [
    "Zoos should be closed because animals number {} suffer in cages.",
    "Zoos save species number {} and should stay open for everybody who learns there.",
    "The council of town {} has read the report about cages and its costs.",
]
MANY = [Passage(str(i), f"Zoos save {i} species") for i in range(3000)]
MOST = 20_000
"""Calls from one tick to the next: a few milliseconds."""


def long_text(number, length=20_000):
    parts, size = [], 0
    while size < length:
        parts.append(SENTENCES[len(parts) % 3].format(f"{number}-{len(parts)}"))
        size += len(parts[-1]) + 1
    return " ".join(parts)


def passages(*, ids=True):
    return [Passage(str(i) if ids else "", long_text(i)) for i in range(8)]


def says_both(passage, perspective):
    return 0.9 if len(passage.text) % 2 == (perspective.stance == "support") else 0.1


def pipeline(found, judge=None, **parts):
    judge = judge or RuleJudge(says_both)
    parts = {"embedder": HashEmbedder(), "judge": judge, **parts}
    return PerspectivePipeline(ThreadedStore(found), **parts)


class ThreadedStore(MemoryStore):
    """As a client of a server: the search costs the loop nothing."""

    __slots__ = ()

    async def asearch(self, *given, **wanted):
        return await in_thread(self.search, *given, **wanted)


class Heartbeat:
    """Counts the ticks of the running loop, and the calls in its thread from tick to tick."""

    def __init__(self):
        self.ticks, self.calls, self.most = 0, 0, 0

    def called(self, frame, event, argument):
        self.calls += event in ("call", "c_call")

    async def beat(self):
        while True:
            self.ticks += 1
            self.most, self.calls = max(self.most, self.calls), 0
            await asyncio.sleep(0)


@contextmanager
def heartbeat():
    heart = Heartbeat()
    task = asyncio.get_running_loop().create_task(heart.beat())
    sys.setprofile(heart.called)
    try:
        yield heart
    finally:
        sys.setprofile(None)
        task.cancel()
    heart.most = max(heart.most, heart.calls)


async def retrieve(found, tmp_path):
    result = await pipeline(found).aretrieve(QUESTION, k=6)
    assert result.coverage.judged


async def choose(found, tmp_path):
    await pipeline(found).achoose(QUESTION, [Hit(each, 0.5) for each in found], k=6)


async def answer_of_the_passages(found, tmp_path):
    asked = pipeline(found)
    result = await asked.aretrieve(QUESTION, k=6)
    assert (await asked.aanswer(result)).claims


async def answer_without_perspectives(found, tmp_path):
    asked = pipeline(found)
    result = await asked.aretrieve("What do the zoos of town do?", k=6)
    await asked.aanswer(result)


async def answer_of_a_model(found, tmp_path):
    reply = '{"claims": [{"text": "Zoos save species.", "citations": [1], "perspective": null}]}'
    asked = pipeline(found, answerer=GroundedAnswerer(ScriptedLLM(lambda prompt: reply)))
    result = await asked.aretrieve(QUESTION, k=6)
    assert (await asked.aanswer(result)).claims


async def discovered(found, tmp_path):
    await pipeline(found).aretrieve("What do people think about zoos?", k=6, discover=3)


async def judged_by_a_model(found, tmp_path):
    judge = LLMJudge(ScriptedLLM(lambda prompt: "yes"), max_characters=20_000)
    await pipeline(found, judge).aretrieve(QUESTION, k=6)


async def ranked_with_a_store_of_texts(found, tmp_path):
    store = ThreadedStore(found, takes_vector=False)
    own = PerspectivePipeline(store, embedder=HashEmbedder(), judge=RuleJudge(says_both))
    await own.aretrieve(QUESTION, k=6)


async def cached(found, tmp_path):
    class Revised(RuleJudge):
        revision = "1"

    judge = CachedJudge(Revised(says_both), tmp_path / "verdicts.sqlite")
    await pipeline(found, judge).aretrieve(QUESTION, k=6)
    judge.close()


async def a_long_question(found, tmp_path):
    await pipeline([Passage("1", "Zoos.")]).aretrieve("Ist das wirklich gut für uns? " * 10_000)


async def perspectives_of_a_function(found, tmp_path):
    extractor = CallableExtractor(lambda question: ["Zoos are cruel", "Zoos teach"])
    own = pipeline([Passage("1", "Zoos.")], extractor=extractor)
    await own.aretrieve("Should zoos be closed? " * 100)


async def misspelt_words(found, tmp_path):
    words = " the ".join(f"xq{a}wz{b}nrtplmkjhgf" for a in "abcd" for b in "abcd")
    await pipeline([Passage("1", "Zoos.")]).aretrieve(f"Should the people of the {words}?"[:195])


async def the_first_question(found, tmp_path):
    lexicon.vocabulary.cache_clear()
    lexicon.readings.cache_clear()
    lexicon.tags.cache_clear()
    await pipeline([Passage("1", "Zoos.")]).aretrieve(QUESTION)


async def many_candidates(found, tmp_path):
    await pipeline(MANY).aretrieve(QUESTION, fetch_k=3000, judge_k=8)


CASES = [
    retrieve, choose, answer_of_the_passages, answer_without_perspectives, answer_of_a_model,
    discovered, judged_by_a_model, ranked_with_a_store_of_texts, cached, a_long_question,
    perspectives_of_a_function, misspelt_words, the_first_question, many_candidates,
]  # fmt: skip


@pytest.mark.parametrize(("case", "ids"), [*((case, True) for case in CASES), (retrieve, False)])
async def test_the_loop_ticks_while_long_texts_are_read(case, ids, tmp_path):
    await pipeline([Passage("1", "Zoos.")]).aretrieve(QUESTION)  # what is read once is read now
    found = passages(ids=ids)
    with heartbeat() as heart:
        await case(found, tmp_path)
    assert heart.most < MOST


def test_what_a_flow_computes_runs_in_the_callers_thread_or_beside_its_loop():
    def flow():
        before = threading.get_ident()
        reply = yield from call("x", threading.get_ident)
        return before, reply.value, threading.get_ident()

    here = threading.get_ident()
    assert {here} == {*run(flow())[::2]}
    before, called, after = asyncio.run(arun(flow()))
    assert before == after
    assert here not in (before, called)


def test_a_result_of_very_long_passages_is_shown_by_their_beginnings(monkeypatch):
    read = []
    monkeypatch.setattr(
        display, "printable", lambda text: read.append(len(text)) or printable(text)
    )
    found = [Passage(str(i), "\x1b[31m" + "Zoos are bad. " * 2_000) for i in range(5)]
    said = str(pipeline(found).retrieve(QUESTION))
    assert "Zoos are bad" in said
    assert "\x1b" not in said
    assert sum(read) < 50_000  # of 140,000
