"""Who observes a request is told all of it, and cannot harm it."""

from __future__ import annotations

import asyncio
import logging

import pytest

from perspective_rag import PerspectivePipeline, RetrievalError
from perspective_rag.testing import HashEmbedder, MemoryStore, TableJudge
from perspective_rag.types import Passage

QUESTION = "Should zoos be closed?"
PASSAGES = [
    Passage("a", "zoos should be closed because cages are cruel"),
    Passage("b", "zoos should be closed and the animals freed"),
    Passage("e", "breeding programmes keep species alive that zoos alone protect"),
]
TRUTH = {("a", "support"): 0.9, ("b", "support"): 0.9, ("e", "oppose"): 0.9}
STAGES = ["extract", "expand", "search", "merge", "rank", "judge", "select", "guard"]
STAGES += ["second_reading"]


class Book:
    """Telemetry that writes down what it is told; raises at what is named ``broken``."""

    def __init__(self, broken=""):
        self.broken, self.told = broken, []

    def observe(self, question, options):
        self._tell("observe", (question, options.k))
        return self

    def calls(self, call):
        self._tell("calls", call.stage)
        return call

    def answered(self, call, reply):
        self._tell("answered", (call.stage, type(reply.error)))

    def noted(self, note):
        self._tell("noted", note)

    def failed(self, error):
        self._tell("failed", type(error))

    def _tell(self, kind, what):
        self.told.append((kind, what))
        if kind == self.broken:
            raise RuntimeError("the exporter is down")

    def of(self, kind):
        return [what for told, what in self.told if told == kind]


def pipeline(telemetry, **given):
    embedder = HashEmbedder()
    parts = {"store": MemoryStore(PASSAGES, embedder), "judge": TableJudge(TRUTH), **given}
    return PerspectivePipeline(embedder=embedder, telemetry=telemetry, k=2, **parts)


def asked(pipeline, kind):
    if kind == "sync":
        return pipeline.retrieve(QUESTION)
    return asyncio.run(pipeline.aretrieve(QUESTION))


both = pytest.mark.parametrize("kind", ["sync", "async"])


@both
def test_the_stages_of_a_request_begin_and_end_in_their_order_with_what_they_gave(kind):
    book = Book()
    result = asked(pipeline(book), kind)
    assert book.of("observe") == [(QUESTION, 2)]
    notes = book.of("noted")
    assert [each.begins for each in notes if each.begins] == ["retrieve", *STAGES]
    assert [each.ends for each in notes if each.ends] == [*STAGES, "retrieve"]
    outcomes = {each.ends: each.outcome for each in notes if each.ends}
    assert outcomes["retrieve"] is result
    assert outcomes["extract"].perspectives == result.perspectives
    for last in ("guard", "second_reading"):
        assert [c.passage.id for c in outcomes[last]] == [p.id for p in result.passages]
    assert book.of("calls") == [stage for stage, _ in book.of("answered")]
    assert {"embed", "search", "judge"} <= set(book.of("calls"))
    assert not book.of("failed")


@both
def test_a_request_that_fails_is_told_with_its_error(kind):
    class Down(MemoryStore):
        def search(self, *args, **kwargs):
            raise ConnectionError("down")

        asearch = search

    book = Book()
    with pytest.raises(RetrievalError):
        asked(pipeline(book, store=Down(PASSAGES, HashEmbedder())), kind)
    assert book.of("failed") == [RetrievalError]
    assert ("search", ConnectionError) in book.of("answered")
    assert "merge" not in [each.begins for each in book.of("noted")]


async def test_a_request_that_is_cancelled_is_told():
    class Slow(MemoryStore):
        async def asearch(self, *args, **kwargs):
            await asyncio.sleep(60)

    book = Book()
    asking = pipeline(book, store=Slow(PASSAGES, HashEmbedder()))
    task = asyncio.create_task(asking.aretrieve(QUESTION))
    while "search" not in book.of("calls"):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert book.of("failed") == [asyncio.CancelledError]


@both
@pytest.mark.parametrize("broken", ["observe", "calls", "answered", "noted"])
def test_telemetry_that_fails_is_recorded_once_and_fails_no_request_not_even_a_strict_one(
    kind, broken, caplog
):
    with caplog.at_level(logging.WARNING, logger="perspective_rag"):
        result = asked(pipeline(Book(broken), strict=True), kind)
    plain = asked(pipeline(None), kind)
    assert [p.id for p in result.passages] == [p.id for p in plain.passages]
    [lost] = result.trace.degradations
    assert lost.stage == "telemetry"
    assert "the exporter is down" in repr(lost.error)
    assert "told nothing more" in caplog.text
