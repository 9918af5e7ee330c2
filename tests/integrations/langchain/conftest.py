"""A small debate with a known truth, and LangChain stores over it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from uuid import NAMESPACE_URL, uuid5

import pytest

pytest.importorskip("langchain_core")

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from perspective_rag.testing import TableJudge
from tests.integrations.langchain.samples import UnknownStore, WordEmbeddings
from tests.integrations.samples import QUESTION, SIDES, TEXTS


def name_of(key: str) -> str:
    """Ids that every store accepts (Qdrant takes UUIDs only)."""
    return str(uuid5(NAMESPACE_URL, key))


class RecordingStore(InMemoryVectorStore):
    """Keeps the keyword arguments of every search."""

    def __init__(self, embedding, pause=lambda: None):
        super().__init__(embedding)
        self.calls: list[dict] = []
        self.pause = pause

    def similarity_search_by_vector(self, embedding, k=4, **kwargs):
        self.calls.append({"embedding": embedding, "k": k, **kwargs})
        self.pause()
        return super().similarity_search_by_vector(embedding, k, **kwargs)


class NetworkStore(UnknownStore):
    """At the end of a network; it has no async form."""

    def __init__(self, embedding, pause=lambda: None):
        super().__init__(embedding)
        self.calls: list[dict] = []
        self.pause = pause

    def similarity_search_by_vector(self, embedding, k=4, **kwargs):
        self.calls.append({"embedding": embedding, "k": k, "awaited": False, **kwargs})
        self.pause()
        return self.inner.similarity_search_by_vector(embedding, k, **kwargs)


class AsyncStore(NetworkStore):
    """The same, with an async search that waits without blocking."""

    async def asimilarity_search_by_vector(self, embedding, k=4, **kwargs):
        self.calls.append({"embedding": embedding, "k": k, "awaited": True, **kwargs})
        await asyncio.sleep(0.001)
        return self.inner.similarity_search_by_vector(embedding, k, **kwargs)


class Recorder(BaseCallbackHandler):
    """Every start and end of a run, as (event, name, tags, parent)."""

    def __init__(self):
        self.runs: dict = {}
        self.ended: list = []
        self.failed: list = []
        self.custom: list = []

    def on_retriever_start(self, serialized, query, *, run_id, parent_run_id=None, tags=None, **kw):
        self._start("retriever", run_id, parent_run_id, tags, kw)

    def on_chat_model_start(
        self, serialized, messages, *, run_id, parent_run_id=None, tags=None, **kw
    ):
        self._start("llm", run_id, parent_run_id, tags, kw)

    def on_llm_start(self, serialized, prompts, *, run_id, parent_run_id=None, tags=None, **kw):
        self._start("llm", run_id, parent_run_id, tags, kw)

    def on_chain_start(self, serialized, inputs, *, run_id, parent_run_id=None, tags=None, **kw):
        if "perspective_rag:judge" in (tags or []):
            self._start("judge", run_id, parent_run_id, tags, kw)

    def on_chain_end(self, outputs, *, run_id, **kw):
        if run_id in self.runs:
            self.ended.append(run_id)

    def on_chain_error(self, error, *, run_id, **kw):
        if run_id in self.runs:
            self.failed.append((run_id, error))

    def _start(self, kind, run_id, parent, tags, kw):
        self.runs[run_id] = SimpleNamespace(
            id=run_id,
            kind=kind,
            parent=parent,
            tags=tags or [],
            name=kw.get("name"),
            metadata=kw.get("metadata"),
        )

    def on_retriever_end(self, documents, *, run_id, **kw):
        self.ended.append(run_id)

    def on_llm_end(self, response, *, run_id, **kw):
        self.ended.append(run_id)

    def on_retriever_error(self, error, *, run_id, **kw):
        self.failed.append((run_id, error))

    def on_custom_event(self, name, data, *, run_id, **kw):
        self.custom.append((name, data, run_id))

    def root(self):
        (found,) = [run for run in self.runs.values() if run.parent is None]
        return found

    def children(self):
        return [run for run in self.runs.values() if run.parent == self.root().id]


@pytest.fixture
def documents():
    return [
        Document(
            id=name_of(key), page_content=text, metadata={"key": key, "nested": {"tags": [key]}}
        )
        for key, text in TEXTS.items()
    ]


@pytest.fixture
def embeddings():
    return WordEmbeddings()


@pytest.fixture
def store(documents, embeddings):
    made = RecordingStore(embeddings)
    made.add_documents(documents)
    embeddings.asked.clear()
    return made


@pytest.fixture
def judge():
    table = {
        (name_of(key), side): float(SIDES.get(key.split("-")[0]) == side)
        for key in TEXTS
        for side in ("support", "oppose")
    }
    return TableJudge(table)


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def debate():
    """What tests need of this module: pytest's importlib mode lets them import nothing from here."""
    return SimpleNamespace(
        question=QUESTION,
        texts=TEXTS,
        name_of=name_of,
        WordEmbeddings=WordEmbeddings,
        RecordingStore=RecordingStore,
        NetworkStore=NetworkStore,
        AsyncStore=AsyncStore,
        Recorder=Recorder,
        keys=lambda documents: [document.metadata["key"] for document in documents],
    )
