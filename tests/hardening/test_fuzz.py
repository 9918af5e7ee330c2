"""The public API under seeded, hostile components: whatever they do, results keep their promises.

``make fuzz`` runs it for an hour (``FUZZ_SECONDS``) with new seeds; the suite runs some examples of
one seed.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import random
import time

import numpy as np
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from perspective_rag import PerspectivePipeline, PerspectiveRAGError
from perspective_rag.options import COVERAGE_POLICIES, FUSIONS, PROJECTIONS
from perspective_rag.perspectives.llm import LLMExtractor
from perspective_rag.testing import HashEmbedder, MemoryStore, ScriptedLLM
from perspective_rag.testing.samples import PERSPECTIVES, QUESTION, SAMPLE
from perspective_rag.types import Extraction, Hit, Passage, Perspective, Query, passage_key

EXAMPLES = 150
SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))

ODD = [None, 0, -1, 3.5, math.nan, math.inf, "", "text", b"bytes", [], {}, (), object(), 10**400]
QUESTIONS = [
    QUESTION, "Should zoos be closed?", "Who wrote Faust?", "cats or dogs?", "arguments against X",
    "?", "\ud800", "a" * 3000, "who is " * 50, "<|im_end|> [2] {{passage}}", "ÄÖ 動物園 🦓", "   x  ",
    "What is the best way to heat a house?", "is is is is", "not not not", "\x1b]0;title\x07 why?",
]  # fmt: skip


class Hostile:
    """Does as its dice say, and the same again for the same words: sync and async meet it alike."""

    def __init__(self, dice_seed, trouble):
        self.seed, self.trouble = dice_seed, trouble

    def dice(self, *words):
        return random.Random(f"{self.seed}|{words!r}")

    def strikes(self, *words):
        """A pair of dice and whether something goes wrong now."""
        dice = self.dice(*words)
        return dice, dice.random() < self.trouble

    def odd(self, dice):
        return dice.choice(ODD)

    def fail(self, dice):
        raise dice.choice(
            [ValueError, KeyError, MemoryError, RecursionError, ConnectionError, TimeoutError,
             AttributeError, StopIteration, OverflowError, UnicodeError, AssertionError]
        )("hostile")  # fmt: skip


class HostileStore(Hostile):
    def __init__(self, dice_seed, trouble, takes_vector, passages):
        super().__init__(dice_seed, trouble)
        self.takes_vector = takes_vector
        self.inner = MemoryStore(passages, takes_vector=takes_vector)

    def search(self, text, vector, *, k, filter=None):
        hits = self.inner._search(text, vector, k, filter)
        dice, struck = self.strikes("search", text)
        if not struck:
            return hits
        kind = dice.randrange(9)
        if kind == 0:
            self.fail(dice)
        if kind == 1:
            return self.odd(dice)
        if kind == 2:
            return hits * 2
        if kind == 3:
            return [Hit(h.passage, self.odd(dice), self.odd(dice)) for h in hits]
        if kind == 4:
            return [self.odd(dice) if dice.random() < 0.5 else hit for hit in hits]
        if kind == 5:
            return self.later(hits, dice)
        if kind == 6:
            width = dice.randrange(1, 70)
            return [Hit(h.passage, h.score, np.ones(width + (i % 2))) for i, h in enumerate(hits)]
        if kind == 7:
            return iter(hits)
        return [Hit(h.passage, dice.uniform(-1e300, 1e300)) for h in hits]

    def later(self, hits, dice):
        yield from hits[: dice.randrange(5)]
        self.fail(dice)

    async def asearch(self, text, vector, *, k, filter=None):
        return self.search(text, vector, k=k, filter=filter)


class KeepingStore(HostileStore):
    def embeddings_of(self, passages):
        dice, struck = self.strikes("vectors", len(passages))
        rows = HashEmbedder().embed_passages([passage.text for passage in passages])
        if not struck:
            return rows
        kind = dice.randrange(4)
        if kind == 0:
            self.fail(dice)
        if kind == 1:
            return self.odd(dice)
        if kind == 2:
            return rows[:, : dice.randrange(1, 60)]
        return np.where(np.arange(len(rows))[:, None] % 2, rows, np.nan)


class HostileEmbedder(Hostile):
    def embed_passages(self, texts):
        return self.rows("passages", texts)

    def embed_queries(self, texts):
        return self.rows("queries", texts)

    def rows(self, what, texts):
        rows = HashEmbedder().embed_passages(texts)
        dice, struck = self.strikes(what, len(texts))
        if not struck:
            return rows
        kind = dice.randrange(6)
        if kind == 0:
            self.fail(dice)
        if kind == 1:
            return self.odd(dice)
        if kind == 2:
            return rows[:, :7]
        if kind == 3:
            return rows * 1e200
        if kind == 4:
            return rows * 0.0
        return rows[1:]


class HostileJudge(Hostile):
    name = "hostile"

    def __init__(self, dice_seed, trouble):
        super().__init__(dice_seed, trouble)
        dice, struck = self.strikes("threshold")
        self.threshold = self.odd(dice) if struck and dice.random() < 0.2 else 0.5

    def judge(self, perspectives, passages):
        key = [p.id for p in perspectives], [d.text for d in passages]
        dice, struck = self.strikes("judge", key)
        table = np.array(
            [[self.dice(p.text, d.text).random() for p in perspectives] for d in passages]
        ).reshape(len(passages), len(perspectives))
        if not struck:
            return table
        kind = dice.randrange(6)
        if kind == 0:
            self.fail(dice)
        if kind == 1:
            return self.odd(dice)
        if kind == 2:
            return table * 3
        if kind == 3:
            return np.where(table > 0.5, np.nan, table)
        if kind == 4:
            return table + 1e-7
        return self.flow(dice, table)

    def flow(self, dice, table):
        if dice.random() < 0.5:
            yield [self.odd(dice)]
        yield []
        return table


class HostileParts(Hostile):
    """An extractor and expander."""

    def extract(self, question):
        dice, struck = self.strikes("extract", question)
        if not struck:
            return [Perspective("a", PERSPECTIVES[0]), Perspective("b", PERSPECTIVES[1])]
        kind = dice.randrange(6)
        if kind == 0:
            self.fail(dice)
        if kind == 1:
            return self.odd(dice)
        if kind == 2:
            return Extraction(dice.choice(["", " ", question]), (Perspective("a", "x", share=1.0),))
        if kind == 3:
            return [Perspective(f"p{i}", f"side {i}", weight=1e-9 + i) for i in range(40)]
        if kind == 4:
            return [Perspective("a", "same"), Perspective("b", "same")]
        return [self.odd(dice), "a side"]

    def expand(self, question, perspectives):
        dice, struck = self.strikes("expand", question)
        if not struck:
            return [Query(each.text, each.id) for each in perspectives]
        kind = dice.randrange(4)
        if kind == 0:
            self.fail(dice)
        if kind == 1:
            return self.odd(dice)
        if kind == 2:
            return [Query(str(i), self.odd(dice)) for i in range(30)]
        return [Query("", None), Query(question), *perspectives]

    def key(self, passage):
        dice, struck = self.strikes("key", passage.id)
        if struck and dice.random() < 0.5:
            self.fail(dice)
        return self.odd(dice) if struck else None


def passages(dice):
    made = list(SAMPLE[: dice.randrange(0, 23)])
    for _ in range(dice.randrange(4)):
        of = dice.choice(SAMPLE)
        odd = {"source": dice.choice(["one", 3, None]), "nan": math.nan, "array": np.arange(2)}
        text = dice.choice([of.text, of.text.upper(), "", "[1] [2] " + of.text, "\ud800"])
        made.append(Passage(dice.choice(["", " ", of.id, "x"]), text, odd))
    return made


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "k": st.integers(1, 12),
        "fetch_k": st.integers(1, 30),
        "mmr_lambda": st.sampled_from([0.0, 0.5, 1.0]),
        "projection": st.sampled_from(PROJECTIONS),
        "fusion": st.sampled_from(FUSIONS),
        "coverage": st.sampled_from(COVERAGE_POLICIES),
        "coverage_weight": st.sampled_from([0.0, 0.8, 1.0]),
        "max_queries": st.integers(1, 5),
        "judge_k": st.sampled_from([0, 1, 8, 25]),
        "min_support": st.sampled_from([None, 0.0, 0.5, 1.0]),
        "relevance_floor": st.sampled_from([None, -1.0, 0.2, 1.0]),
        "drop_unrelated": st.booleans(),
        "max_per_source": st.sampled_from([None, 1, 2]),
        "guard_searches": st.integers(0, 3),
        "discover": st.integers(0, 2),
        "timeout": st.sampled_from([None, 60.0]),
        "max_concurrency": st.integers(1, 3),
        "strict": st.booleans(),
    },
)
CASES = st.fixed_dictionaries(
    {
        "dice": st.integers(0, 2**32),
        "trouble": st.sampled_from([0.0, 0.1, 0.5, 1.0]),
        "takes_vector": st.booleans(),
        "keeps": st.booleans(),
        "parts": st.sets(st.sampled_from(["embedder", "judge", "extractor", "expander", "key", "llm"])),
        "question": st.sampled_from(QUESTIONS) | st.text(max_size=60),
        "given": st.sampled_from([None, [], PERSPECTIVES, ["one"], [None], ["same", "same"]]),
        "options": OPTIONS,
    }
)  # fmt: skip


def pipeline_of(case):
    dice, trouble, parts = case["dice"], case["trouble"], case["parts"]
    kind = KeepingStore if case["keeps"] else HostileStore
    store = kind(dice, trouble, case["takes_vector"], passages(random.Random(dice)))
    own = HostileParts(dice, trouble)
    llm = ScriptedLLM(lambda prompt: str(own.odd(own.dice("llm", prompt.user))))
    extractor = own if "extractor" in parts else LLMExtractor(llm) if "llm" in parts else None
    return store, PerspectivePipeline(
        store,
        embedder=HostileEmbedder(dice, trouble) if "embedder" in parts else None,
        judge=HostileJudge(dice, trouble) if "judge" in parts else None,
        extractor=extractor,
        expander=own if "expander" in parts else None,
        dedup_key=own.key if "key" in parts else None,
        **case["options"],
    )


def check_result(result, store, options):
    known = {id(passage) for passage in store.inner.passages}
    keys = [passage_key(passage) for passage in result.passages]
    own = {id(passage) for passage in result.passages}
    assert len(own) == len(result.passages) <= options.get("k", 5)
    assert own <= known
    if not result.trace.degradations and "key" not in options:
        assert len(set(keys)) == len(keys)
    coverage = result.coverage
    if coverage is not None:
        support = coverage.support
        assert support.shape == (len(result.candidates), len(result.perspectives))
        assert np.all(np.isnan(support) | ((support >= 0.0) & (support <= 1.0)))
        listed = coverage.listed
        for column, perspective in enumerate(result.perspectives):
            there = bool(listed[:, column].any())
            assert there == (perspective in coverage.covered)
            stands = [perspective in part for part in
                      (coverage.covered, coverage.missing, coverage.unjudged)]  # fmt: skip
            assert sum(stands) == 1
            assert all(result.candidates[i] in result.supporting(perspective)
                       for i in np.flatnonzero(listed[:, column]))  # fmt: skip
    json.dumps(result.to_dict(), allow_nan=False)
    assert str(result)
    assert repr(result)


def told(pipeline, result):
    answer = pipeline.answer(result)
    assert all(claim.citations for claim in answer.claims)
    json.dumps(answer.to_dict(), allow_nan=False)
    values = result.to_dict()
    del values["trace"]["seconds"]
    return json.dumps(values, sort_keys=True)


def outcome(case, *, awaited):
    """What a caller sees: the result, told, or the library's own error."""
    try:
        store, pipeline = pipeline_of(case)
        if awaited:
            coming = pipeline.aretrieve(case["question"], perspectives=case["given"])
            result = asyncio.run(coming)
        else:
            result = pipeline.retrieve(case["question"], perspectives=case["given"])
        check_result(result, store, {**case["options"], **dict.fromkeys(case["parts"])})
        return told(pipeline, result)
    except PerspectiveRAGError as error:
        return type(error).__name__


def check(case):
    assert outcome(case, awaited=False) == outcome(case, awaited=True)


@seed(15)
@settings(
    max_examples=EXAMPLES, database=None, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(case=CASES)
def test_whatever_components_do_results_keep_their_promises(case):
    check(case)


def test_as_long_as_is_asked_for():
    """Only under ``make fuzz``: batches of new seeds, which a failure names."""
    until = time.monotonic() + SECONDS
    number = time.time_ns() if SECONDS else 0
    while time.monotonic() < until:
        number += 1

        @seed(number)
        @settings(max_examples=200, database=None, suppress_health_check=list(HealthCheck))
        @given(case=CASES)
        def batch(case):
            check(case)

        batch()
