"""A service whose store hangs, dies and returns as it is told to: ``/store/hangs`` and so on."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Literal

from fastapi import FastAPI, HTTPException

from perspective_rag import (
    BM25Store,
    Corpus,
    Hit,
    Limiter,
    PerspectivePipeline,
    RetrievalError,
)
from perspective_rag.extend import Vector, in_thread
from perspective_rag.testing import TableJudge

State = Literal["well", "hangs", "dead"]


class FaultyStore:
    """The sample debates by BM25, in the state it was last put in."""

    takes_vector = False

    def __init__(self) -> None:
        self._inner = BM25Store(Corpus.example().passages)
        self._state: State = "well"
        self._changed = threading.Event()

    def be(self, state: State) -> None:
        """Changes the state; searches that hang go on as the new one says."""
        self._state = state
        self._changed.set()
        self._changed = threading.Event()

    def search(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]:
        """What BM25 finds, sooner or later or never."""
        while self._state == "hangs":
            self._changed.wait()
        if self._state == "dead":
            raise ConnectionError("the store is down")
        return self._inner.search(text, vector, k=k, filter=filter)

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]:
        """The same in a thread."""
        return await in_thread(self.search, text, vector, k=k, filter=filter)


def create_app() -> FastAPI:
    """The service; a search has a second, and at most eight are made at a time."""
    store = FaultyStore()
    judge = TableJudge({}, default=0.6)
    pipeline = PerspectivePipeline(store, judge=judge, limiter=Limiter(8), timeout=1.0)
    app = FastAPI()

    @app.get("/ask")
    async def ask(question: str) -> dict[str, Any]:
        try:
            result = await pipeline.aretrieve(question)
        except RetrievalError as error:
            raise HTTPException(503, "the store does not answer") from error
        if result.trace.degradations:  # some searches failed: not the whole answer
            raise HTTPException(503, "the store answers in part")
        return {"passages": [passage.id for passage in result.passages]}

    @app.get("/store/{state}")
    async def be(state: State) -> State:
        store.be(state)
        return state

    @app.get("/health")
    async def health() -> dict[str, int]:
        return {"threads": threading.active_count()}

    return app


app = create_app()
