"""A retriever that waits at a gate: a file in the folder ``$GATE``, until it is taken away.

The gate "loading" stands before the retriever is there, the gate "searching" before each search.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from perspective_rag import Corpus, local_pipeline


def wait_at(name):
    gate = Path(os.environ["GATE"]) / name
    while gate.exists():
        time.sleep(0.02)


class Gated:
    """The example's own store, behind the gate."""

    takes_vector = False

    def __init__(self, store):
        self._store = store

    def search(self, text, vector, *, k, filter=None):
        wait_at("searching")
        return self._store.search(text, vector, k=k, filter=filter)

    async def asearch(self, text, vector, *, k, filter=None):
        return await asyncio.to_thread(self.search, text, vector, k=k, filter=filter)


def retriever():
    wait_at("loading")
    pipeline = local_pipeline(Corpus.example())
    return Gated(pipeline.store), pipeline.embedder
