"""One small debate behind every framework, over models and a store that can be slow and that count
how many calls they serve at a time.
"""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
import zlib
from collections import Counter
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from perspective_rag import CallableJudge
from tests.integrations.conforming import DOCUMENT
from tests.integrations.samples import QUESTION, SIDES, TEXTS
from tests.integrations.store_table import StoreTable

TRUTH = {(name, SIDES[name[:-2]]): 0.9 for name in TEXTS if name[:-2] in SIDES}
DIMENSIONS = 32


class Heart:
    """Beats while the event loop is free; ``pause`` waits for a beat, as slow work would.

    Work that runs in the event loop itself holds up the beat it waits for, and fails.
    """

    def __init__(self, patience=5.0):
        self.beats = 0
        self.pauses = []
        self.patience = patience

    async def beat(self):
        while True:
            await asyncio.sleep(0.001)
            self.beats += 1

    def pause(self, name):
        def wait():
            seen, patience = self.beats, time.monotonic() + self.patience
            while self.beats < seen + 2:
                assert time.monotonic() < patience, f"{name} ran in the event loop"
                time.sleep(0.001)
            self.pauses.append(name)

        return wait


@pytest.fixture
async def heart():
    """A heart that beats in the event loop of the test."""
    heart = Heart()
    beating = asyncio.create_task(heart.beat())
    yield heart
    beating.cancel()


class Probe:
    """What the fakes go through: counts calls by kind and how many there were at a time.

    ``pause(kind)`` is what a call does meanwhile; one that awaits sleeps ``seconds``.
    """

    def __init__(self, pause=None, seconds=0.0):
        self.pause, self.seconds = pause, seconds
        self.now, self.most, self.made = Counter(), Counter(), Counter()
        self._lock = threading.Lock()

    def _step(self, kind, by):
        with self._lock:
            self.now[kind] += by
            self.made[kind] += by > 0
            self.most[kind] = max(self.most[kind], self.now[kind])

    @contextmanager
    def call(self, kind):
        self._step(kind, 1)
        try:
            if self.pause is not None:
                self.pause(kind)
            yield
        finally:
            self._step(kind, -1)

    @asynccontextmanager
    async def acall(self, kind):
        self._step(kind, 1)
        try:
            await asyncio.sleep(self.seconds)
            yield
        finally:
            self._step(kind, -1)


@cache
def _word(word):
    return np.random.default_rng(zlib.crc32(word.encode())).standard_normal(DIMENSIONS)


def vector(text):
    """Texts that share words are similar."""
    row = sum((_word(word) for word in text.lower().strip("?.").split()), np.zeros(DIMENSIONS))
    return row / (np.linalg.norm(row) or 1.0)


NAMES = list(TEXTS)
ROWS = np.array([vector(text) for text in TEXTS.values()])


def nearest(asked, k):
    """Names and cosines of the k nearest passages."""
    scores = ROWS @ np.asarray(asked)
    return [(NAMES[i], float(scores[i])) for i in np.argsort(-scores, kind="stable")[:k]]


def reply_to(prompt):
    """What a model says of the question in a prompt: its two sides."""
    question = re.findall(r"Should .*? be .*?\?", prompt)[-1]
    sides = [f"yes {question[7:-1]} cages are cruel", f"no {question[7:-1]} breeding keeps species"]
    return json.dumps({"root": question, "perspectives": sides})


def probed_judge(probe):
    """A judge that knows the truth; goes through a probe."""

    def judge(perspectives, passages):
        with probe.call("judge"):
            return [[TRUTH.get((a.id, b.id), 0.1) for b in perspectives] for a in passages]

    return CallableJudge(judge)


def _langchain(probe, *, awaits, llm, judged, options):
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import SimpleChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.vectorstores import VectorStore

    from langchain_perspective_rag import PerspectiveRetriever

    class Words(Embeddings):
        def embed_documents(self, texts):
            with probe.call("embed"):
                return [vector(text).tolist() for text in texts]

        def embed_query(self, text):
            return self.embed_documents([text])[0]

    class Shelf(VectorStore):
        embeddings = Words()

        @classmethod
        def from_texts(cls, texts, embedding, metadatas=None, **kwargs):
            raise NotImplementedError

        def similarity_search(self, query, k=4, **kwargs):
            raise AssertionError("searched by text")

        def similarity_search_by_vector(self, embedding, k=4, **kwargs):
            with probe.call("store"):
                return self._found(embedding, k)

        def _found(self, embedding, k):
            return [
                Document(TEXTS[name], id=name, metadata={"n": name})
                for name, _ in nearest(embedding, k)
            ]

    class AwaitedShelf(Shelf):
        async def asimilarity_search_by_vector(self, embedding, k=4, **kwargs):
            async with probe.acall("store"):
                return self._found(embedding, k)

    class Model(SimpleChatModel):
        def _call(self, messages, stop=None, run_manager=None, **kwargs):
            with probe.call("llm"):
                return reply_to(messages[-1].text)

        @property
        def _llm_type(self):
            return "probed"

    class AwaitedModel(Model):
        async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
            async with probe.acall("llm"):
                return ChatResult(
                    generations=[ChatGeneration(message=AIMessage(reply_to(messages[-1].text)))]
                )

    retriever = PerspectiveRetriever.wrap(
        AwaitedShelf() if awaits else Shelf(),
        judge=probed_judge(probe) if judged else None,
        llm=(AwaitedModel() if awaits else Model()) if llm else None,
        **options,
    )

    def told(documents):
        return [document.model_dump() for document in documents]

    async def aask(question):
        return told(await retriever.ainvoke(question))

    return SimpleNamespace(
        retriever_limiter=retriever.limiter,
        ask=lambda question: told(retriever.invoke(question)),
        aask=aask,
        report=retriever.retrieve,
        areport=retriever.aretrieve,
    )


def _llama_index(probe, *, awaits, llm, judged, options):
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, TextNode

    from llama_index.retrievers.perspective_rag import PerspectiveRetriever

    class Words(BaseEmbedding):
        def _get_text_embedding(self, text):
            with probe.call("embed"):
                return vector(text).tolist()

        _get_query_embedding = _get_text_embedding

        async def _aget_query_embedding(self, query):
            return self._get_text_embedding(query)

    nodes = {name: TextNode(id_=name, text=text) for name, text in TEXTS.items()}

    class Shelf(BaseRetriever):
        def _found(self, bundle):
            return [
                NodeWithScore(node=nodes[name], score=score)
                for name, score in nearest(bundle.embedding, 10)
            ]

        def _retrieve(self, query_bundle):
            with probe.call("store"):
                return self._found(query_bundle)

    class AwaitedShelf(Shelf):
        async def _aretrieve(self, query_bundle):
            async with probe.acall("store"):
                return self._found(query_bundle)

    class Model(CustomLLM):
        @property
        def metadata(self):
            return LLMMetadata(model_name="probed")

        def complete(self, prompt, formatted=False, **kwargs):
            with probe.call("llm"):
                return CompletionResponse(text=reply_to(prompt))

        def stream_complete(self, prompt, formatted=False, **kwargs):
            raise NotImplementedError

    class AwaitedModel(Model):
        async def achat(self, messages, **kwargs):
            async with probe.acall("llm"):
                said = reply_to(messages[-1].content)
                return ChatResponse(message=ChatMessage(role="assistant", content=said))

    retriever = PerspectiveRetriever(
        AwaitedShelf() if awaits else Shelf(),
        takes_vector=True,
        embed_model=Words(),
        judge=probed_judge(probe) if judged else None,
        llm=(AwaitedModel() if awaits else Model()) if llm else None,
        **options,
    )

    def told(found):
        return [(item.score, item.node.to_dict()) for item in found]

    async def aask(question):
        return told(await retriever.aretrieve(question))

    return SimpleNamespace(
        retriever_limiter=retriever.pipeline.limiter,
        ask=lambda question: told(retriever.retrieve(question)),
        aask=aask,
        report=retriever.report,
        areport=retriever.areport,
    )


def _haystack(probe, **given):
    from tests.integrations.haystack.probed import probed

    shared = SimpleNamespace(vector=vector, nearest=nearest, reply_to=reply_to, judge=probed_judge)
    return probed(probe, shared, **given)


MAKERS = {"langchain": _langchain, "llama_index": _llama_index, "haystack": _haystack}
PACKAGES = {
    "langchain": "langchain_core",
    "llama_index": "llama_index.core",
    "haystack": "haystack",
}


@pytest.fixture(params=list(MAKERS))
def framework(request):
    """The name of a framework that is installed."""
    pytest.importorskip(PACKAGES[request.param])
    return request.param


@pytest.fixture
def wrapped(framework):
    """Makes a wrapped store of a framework: with ``ask``, ``aask``, ``report`` and ``areport``."""
    make = MAKERS[framework]

    def wrap(probe=None, *, awaits=False, llm=False, judged=True, **options):
        return make(probe or Probe(), awaits=awaits, llm=llm, judged=judged, options=options)

    return wrap


@pytest.fixture
def load():
    """What the tests of load and of the event loop need of this module."""
    return SimpleNamespace(
        question=QUESTION,
        texts=TEXTS,
        Heart=Heart,
        Probe=Probe,
        judge=probed_judge,
    )


@pytest.fixture(scope="module")
def table(request):
    """The table of the document that the module's stores stand in, named by its ``TABLE``."""
    made = StoreTable(DOCUMENT, request.module.TABLE)
    yield made
    made.write()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the module's stores keep their files."""
    return tmp_path_factory.mktemp("stores")
