"""Indexes, retrievers and handlers over fakes with a known truth, for the LlamaIndex tests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("llama_index.core")

from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.instrumentation import root_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.core.storage.storage_context import StorageContext
from llama_index.core.vector_stores import SimpleVectorStore
from pydantic import PrivateAttr

from perspective_rag.testing import HashEmbedder, TableJudge

QUESTION = "Should zoos be closed?"
# Four passages echo the question; the one against is worded otherwise.
TEXTS = {
    "a": "zoos should be closed because cages are cruel",
    "b": "zoos should be closed and the animals freed",
    "c": "should zoos be closed yes closed soon",
    "d": "closed zoos should be parks",
    "e": "breeding programmes keep species alive that zoos alone protect",
    "f": "the recipe needs butter and flour",
}
TRUTH = {(i, "support"): 0.9 for i in "abcd"} | {("e", "oppose"): 0.9}


def no_pause():
    """What the fakes below do before they answer, unless a test gives them something else."""


class HashEmbedding(BaseEmbedding):
    """Bag-of-words vectors; ``texts`` lists every text it was asked for."""

    _fake: HashEmbedder = PrivateAttr(default_factory=HashEmbedder)
    _pause: Any = PrivateAttr(default_factory=lambda: no_pause)

    @property
    def texts(self):
        return self._fake.embedded

    def _get_query_embedding(self, query):
        return self._get_text_embeddings([query])[0]

    async def _aget_query_embedding(self, query):
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text):
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts):
        self._pause()
        return self._fake.embed_passages(texts).tolist()


class RecordingVectorStore(SimpleVectorStore):
    """Remembers every query; has no async search of its own."""

    _queries: list = PrivateAttr(default_factory=list)
    _pause: Any = PrivateAttr(default_factory=lambda: no_pause)

    def query(self, query, **kwargs):
        self._pause()
        self._queries.append(query)
        return super().query(query, **kwargs)


class WordRetriever(BaseRetriever):
    """Searches by shared words, hands out the same node objects every time, has no async search."""

    def __init__(self, nodes, pause=no_pause, failing=()):
        self.nodes = list(nodes)
        self.bundles = []
        self.pause = pause
        self.failing = set(failing)
        super().__init__()

    def _retrieve(self, query_bundle):
        self.pause()
        self.bundles.append(query_bundle)
        if query_bundle.query_str in self.failing or "*" in self.failing:
            raise ConnectionError("the store cannot be reached")
        wanted = set(query_bundle.query_str.lower().rstrip("?.").split())
        shared = [len(wanted & set(node.text.lower().split())) for node in self.nodes]
        order = sorted(range(len(self.nodes)), key=lambda i: -shared[i])
        return [NodeWithScore(node=self.nodes[i], score=float(shared[i])) for i in order]


class RecordingHandler(BaseEventHandler):
    """Keeps every instrumentation event."""

    seen: list = []

    @classmethod
    def class_name(cls):
        return "RecordingHandler"

    def handle(self, event, **kwargs):
        self.seen.append(event)

    def names(self):
        return [event.class_name() for event in self.seen]


def make_nodes():
    return [
        TextNode(
            id_=name,
            text=text,
            metadata={
                "title": name.upper(),
                "tags": ["zoo"],
                "shelf": "odd" if name in "ace" else "even",
            },
            excluded_embed_metadata_keys=["title", "tags", "shelf"],
        )
        for name, text in TEXTS.items()
    ]


def make_index(embed_model=None, vector_store=None, nodes=None):
    store = vector_store or SimpleVectorStore()
    return VectorStoreIndex(
        nodes=make_nodes() if nodes is None else nodes,
        embed_model=embed_model or HashEmbedding(),
        storage_context=StorageContext.from_defaults(vector_store=store),
    )


def table_judge(pause=no_pause, **kwargs):
    """A judge that knows the truth."""
    return TableJudge(TRUTH, before=lambda *_: pause(), **kwargs)


@pytest.fixture
def zoo():
    """Everything the tests build with."""
    return SimpleNamespace(
        question=QUESTION,
        texts=TEXTS,
        nodes=make_nodes,
        index=make_index,
        judge=table_judge,
        HashEmbedding=HashEmbedding,
        RecordingVectorStore=RecordingVectorStore,
        WordRetriever=WordRetriever,
    )


@pytest.fixture
def events():
    """The instrumentation events of a test."""
    handler = RecordingHandler(seen=[])
    before = list(root_dispatcher.event_handlers)
    root_dispatcher.add_event_handler(handler)
    yield handler
    root_dispatcher.event_handlers = before


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    """Any look at LlamaIndex's global models fails: nothing here may depend on them."""
    from llama_index.core import Settings

    def refuse(name):
        def look(self):
            raise AssertionError(f"Settings.{name} was touched")

        return property(look, lambda self, value: None)

    for name in ("llm", "embed_model"):
        monkeypatch.setattr(type(Settings), name, refuse(name))
