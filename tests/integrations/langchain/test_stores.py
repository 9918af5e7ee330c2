"""Vector stores: the same ranking as brute force, filters that arrive, vectors that come back."""

from __future__ import annotations

import asyncio
import time

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_perspective_rag import (
    LangChainStore,
    PerspectiveRetriever,
    SteerableEmbeddings,
    StoreAdapter,
)
from perspective_rag import CapabilityError, Query, RetrievalError
from perspective_rag.extend import report_in
from perspective_rag.protocols import KeepsEmbeddings, Store
from perspective_rag.testing import HashEmbedder
from tests.integrations.langchain.samples import UnknownStore

PERSPECTIVE = "cages are cruel"


class TextStore(UnknownStore):
    """Searches by text only, like langchain-lancedb."""

    def similarity_search(self, query, k=4, **kwargs):
        return self.inner.similarity_search(query, k, **kwargs)


class AsyncTextStore(TextStore):
    async def asimilarity_search(self, query, k=4, **kwargs):
        await asyncio.sleep(0)
        return await self.inner.asimilarity_search(query, k, **kwargs)


class CachingTextStore(TextStore):
    """Embeds a text once and then remembers what it found."""

    def __init__(self, embedding):
        super().__init__(embedding)
        self.remembered = {}

    def similarity_search(self, query, k=4, **kwargs):
        if query not in self.remembered:
            self.remembered[query] = super().similarity_search(query, k, **kwargs)
        return self.remembered[query]


def faiss_store(embeddings, strategy="EUCLIDEAN_DISTANCE"):
    faiss = pytest.importorskip("faiss")
    module = pytest.importorskip("langchain_community.vectorstores.faiss")
    docstore = pytest.importorskip("langchain_community.docstore.in_memory")
    inner = strategy == "MAX_INNER_PRODUCT"
    return module.FAISS(
        embeddings,
        faiss.IndexFlatIP(64) if inner else faiss.IndexFlatL2(64),
        docstore.InMemoryDocstore(),
        {},
        distance_strategy=module.DistanceStrategy[strategy],
    )


def chroma_store(embeddings, space, folder):
    chromadb = pytest.importorskip("chromadb")
    module = pytest.importorskip("langchain_chroma")
    # All the clients without a folder share one database, and its settings.
    client = chromadb.PersistentClient(folder, chromadb.Settings(anonymized_telemetry=False))
    kind = {"hnsw:space": space}
    return module.Chroma("debate", embeddings, client=client, collection_metadata=kind)


def qdrant_store(embeddings, distance):
    client = pytest.importorskip("qdrant_client")
    module = pytest.importorskip("langchain_qdrant")
    made = client.QdrantClient(":memory:")
    made.create_collection(
        "debate",
        vectors_config=client.models.VectorParams(
            size=64, distance=client.models.Distance[distance]
        ),
    )
    kind = client.models.Distance[distance]
    return module.QdrantVectorStore(made, "debate", embeddings, distance=kind)


STORES = {
    "in-memory": lambda e, tmp: InMemoryVectorStore(e),
    "faiss-l2": lambda e, tmp: faiss_store(e),
    "chroma-cosine": lambda e, tmp: chroma_store(e, "cosine", tmp),
    "qdrant-cosine": lambda e, tmp: qdrant_store(e, "COSINE"),
    "steered-text": lambda e, tmp: TextStore(SteerableEmbeddings(e)),
    "steered-async-text": lambda e, tmp: AsyncTextStore(SteerableEmbeddings(e)),
}
IN_PROCESS = {"in-memory", "faiss-l2"}
KEEPING = IN_PROCESS | {"chroma-cosine", "qdrant-cosine"}


def with_perspective(question, perspectives):
    """An expander whose queries carry the perspective without being it."""
    return [Query(f"{question} {each.text}", each.id) for each in perspectives]
    yield


class Expand:
    expand = staticmethod(with_perspective)


@pytest.fixture
def flat(documents):
    return [
        Document(
            id=d.id,
            page_content=d.page_content,
            metadata={"key": d.metadata["key"], "side": d.metadata["key"][:3]},
        )
        for d in documents
    ]


@pytest.fixture(params=list(STORES))
def kind(request):
    return request.param


@pytest.fixture
def filled(kind, flat, embeddings, tmp_path):
    store = STORES[kind](embeddings, tmp_path)
    store.add_documents(flat, ids=[document.id for document in flat])
    embeddings.asked.clear()
    return store


def brute_force_pap(question, texts, k):
    """Reciprocal rank fusion of the plain and the projected ranking, straight from the formulas."""
    rows = HashEmbedder().embed_passages(list(texts.values()))
    plain, carried, perspective = HashEmbedder().embed_queries(
        [question, f"{question} {PERSPECTIVE}", PERSPECTIVE]
    )
    unit = perspective / np.linalg.norm(perspective)
    projected = carried - (carried @ unit) * unit
    fused: dict[str, float] = {}
    for vector, weight in ((plain, 2.0), (projected, 1.0)):
        best = np.argsort(-(rows @ vector), kind="stable")[:k]
        for rank, index in enumerate(best, start=1):
            key = list(texts)[index]
            fused[key] = fused.get(key, 0.0) + weight / (60 + rank)
    return fused


async def test_pap_ranks_as_brute_force(filled, debate):
    retriever = PerspectiveRetriever.wrap(
        filled, judge=None, k=6, fetch_k=6, expander=Expand(), projection="pap", fusion="rrf"
    )
    asked = {"perspectives": [PERSPECTIVE]}
    expected = brute_force_pap(debate.question, debate.texts, 6)
    best = sorted(expected.values(), reverse=True)[:6]
    for documents in (
        retriever.invoke(debate.question, **asked),
        await retriever.ainvoke(debate.question, **asked),
    ):
        found = {d.metadata["key"]: report_in(d.metadata)["scores"]["fused"] for d in documents}
        assert list(found.values()) == pytest.approx(best)
        assert found == pytest.approx({key: expected[key] for key in found})
    plain = retriever.retrieve(debate.question, projection="none", **asked)
    turned = retriever.retrieve(debate.question, **asked)
    assert [c.scores["fused"] for c in plain.candidates] != [
        c.scores["fused"] for c in turned.candidates
    ] or [p.id for p in plain.passages] != [p.id for p in turned.passages], "PAP changes something"


def test_ids_and_cosines(kind, filled, flat, embeddings, debate):
    store = LangChainStore(filled)
    assert isinstance(store, Store)
    assert store.takes_vector
    vector = np.asarray(embeddings.embed_query(debate.question))
    hits = store.search(debate.question, vector, k=4)
    cosines = {d.id: float(np.dot(embeddings.embed_query(d.page_content), vector)) for d in flat}
    assert [hit.passage.id for hit in hits] == sorted(cosines, key=lambda name: -cosines[name])[:4]
    for hit in hits:
        expected = cosines[hit.passage.id] if kind in IN_PROCESS else None
        assert hit.score == (None if expected is None else pytest.approx(expected, abs=1e-5))
        assert isinstance(hit.passage.source, Document)


class Watched(InMemoryVectorStore):
    """Counts the searches it makes at a time; each waits a little for another to begin."""

    now = most = 0

    def similarity_search_by_vector(self, embedding, k=4, **kwargs):
        self.now += 1
        self.most = max(self.most, self.now)
        time.sleep(0.05)
        self.now -= 1
        return super().similarity_search_by_vector(embedding, k, **kwargs)


@pytest.mark.parametrize(("adapter", "at_a_time"), [(None, 1), (StoreAdapter(at_hand=True), 3)])
async def test_a_store_that_computes_in_python_is_searched_in_turn(
    flat, embeddings, debate, adapter, at_a_time
):
    sides = ["Cages are cruel.", "Zoos save species."]
    store = Watched(embeddings)
    store.add_documents(flat)
    retriever = PerspectiveRetriever.wrap(store, judge=None, adapter=adapter)
    retriever.invoke(debate.question, perspectives=sides)
    assert store.most == at_a_time
    store.most = 0
    await retriever.ainvoke(debate.question, perspectives=sides)
    assert store.most == at_a_time


def test_which_stores_compute_in_python(kind, filled):
    assert LangChainStore(filled).in_turn is (kind in {"in-memory", "qdrant-cosine"})


def test_r8_filters_arrive(kind, filled, debate):
    by_kind = {
        "in-memory": lambda: lambda d: d.metadata["side"] == "aga",
        "steered": lambda: lambda d: d.metadata["side"] == "aga",
        "faiss": lambda: {"side": "aga"},
        "chroma": lambda: {"side": "aga"},
        "qdrant": qdrant_filter,
    }
    wanted = next(make() for name, make in by_kind.items() if kind.startswith(name))
    options = {"judge": None, "fetch_k": 3, "projection": "pap", "k": 3}
    if kind.startswith("steered"):  # its search takes any name, and shows none
        options["filter_keyword"] = "filter"
    retriever = PerspectiveRetriever.wrap(filled, **options)
    found = retriever.invoke(debate.question, filter=wanted)
    assert set(debate.keys(found)) == {"against-1", "against-2"}


def qdrant_filter():
    from qdrant_client import models

    return models.Filter(
        must=[models.FieldCondition(key="metadata.side", match=models.MatchValue(value="aga"))]
    )


def test_r7_vectors_come_back(kind, filled, embeddings, debate):
    store = LangChainStore(filled)
    assert isinstance(store, KeepsEmbeddings) is (kind in KEEPING)
    if kind not in KEEPING:
        return
    vector = np.asarray(embeddings.embed_query(debate.question))
    passages = [hit.passage for hit in store.search(debate.question, vector, k=5)]
    rows = store.embeddings_of([*passages, passages[0]])
    expected = HashEmbedder().embed_passages([p.text for p in [*passages, passages[0]]])
    np.testing.assert_allclose(rows, expected, atol=1e-5)
    embeddings.asked.clear()
    PerspectiveRetriever.wrap(filled, judge=None, lambda_mult=0.5).invoke(debate.question)
    assert not set(embeddings.asked) & set(debate.texts.values()), "no passage is embedded again"


@pytest.mark.parametrize("kind", sorted(KEEPING))
def test_a_passage_the_store_does_not_know_gets_no_vector(kind, filled, flat, embeddings, debate):
    store = LangChainStore(filled)
    vector = np.asarray(embeddings.embed_query(debate.question))
    first, second = [hit.passage for hit in store.search(debate.question, vector, k=2)]
    filled.delete([first.id])
    rows = store.embeddings_of([first, second])
    assert np.isnan(rows[0]).all()
    np.testing.assert_allclose(rows[1], HashEmbedder().embed_passages([second.text])[0], atol=1e-5)


def test_faiss_positions_follow_changes(flat, embeddings):
    store = faiss_store(embeddings)
    store.add_documents(flat, ids=[d.id for d in flat])
    adapter = LangChainStore(store)
    vector = np.asarray(embeddings.embed_query(flat[9].page_content))
    adapter.search("museum", vector, k=1)
    store.delete([flat[0].id])
    store.add_documents([Document(id="new", page_content="bridges are painted")], ids=["new"])
    for text, name in ((flat[9].page_content, flat[9].id), ("bridges are painted", "new")):
        (hit,) = adapter.search(text, np.asarray(embeddings.embed_query(text)), k=1)
        assert hit.passage.id == name
        assert hit.score == pytest.approx(1.0, abs=1e-5)


def test_faiss_finds_enough_behind_a_filter(embeddings):
    store = faiss_store(embeddings)
    store.add_documents(
        [Document(page_content=f"zoos closed {i}", metadata={"rare": False}) for i in range(60)]
        + [Document(page_content=f"bridges {i}", metadata={"rare": True}) for i in range(5)]
    )
    retriever = PerspectiveRetriever.wrap(store, judge=None, fetch_k=5, k=5)
    found = retriever.invoke("zoos closed", filter={"rare": True})
    assert len(found) == 5


def test_a_store_that_searches_by_text_only(flat, embeddings, judge, debate):
    store = TextStore(embeddings)
    store.add_documents(flat)
    assert not LangChainStore(store).takes_vector
    found = PerspectiveRetriever.wrap(store, judge=judge, k=3).invoke(debate.question)
    assert {"for", "aga"} <= {document.metadata["side"] for document in found}
    with pytest.raises(CapabilityError, match="projection"):
        PerspectiveRetriever.wrap(store, judge=judge, projection="pap")


def test_a_store_that_ignores_its_embeddings_is_not_believed(flat, embeddings, debate):
    store = CachingTextStore(SteerableEmbeddings(embeddings))
    store.add_documents(flat)
    retriever = PerspectiveRetriever.wrap(store, judge=None)
    assert len(retriever.invoke(debate.question)) == 5
    with pytest.raises(RetrievalError, match="SteerableEmbeddings"):
        retriever.invoke(debate.question)


def test_faiss_looks_further_for_what_is_rare(embeddings):
    store = faiss_store(embeddings)
    store.add_documents(
        [Document(page_content=f"zoos closed {i}", metadata={"rare": False}) for i in range(150)]
        + [Document(page_content="bridges", metadata={"rare": True})]
    )
    vector = np.asarray(embeddings.embed_query("zoos closed 3"))
    (hit,) = LangChainStore(store).search("zoos closed 3", vector, k=2, filter={"rare": True})
    assert hit.passage.text == "bridges"


class Shelf(InMemoryVectorStore):
    """A store with a name of its own for filters, and ids in the metadata."""

    seen: list

    def similarity_search_by_vector(self, embedding, k=4, *, where=None, expr=None):
        self.seen.append((where, expr))
        found = super().similarity_search_by_vector(embedding, k)
        return [Document(page_content=d.page_content, metadata={"pk": d.id}) for d in found]


async def test_a_store_with_names_of_its_own(flat, embeddings, debate):
    store = Shelf(embeddings)
    store.seen = []
    store.add_documents(flat)
    adapted = LangChainStore(store, adapter=StoreAdapter(id_key="pk"), filter_keyword="where")
    vector = np.asarray(embeddings.embed_query(debate.question))
    hits = await adapted.asearch("x", vector, k=3, filter="side")
    assert store.seen.pop() == ("side", None)
    assert {hit.passage.id for hit in hits} <= {d.id for d in flat}
    LangChainStore(store).search("x", vector, k=1, filter="side")
    assert store.seen.pop() == (None, "side"), "the first name it knows in the signature"


def test_candidates_of_a_faiss_index_that_hands_no_vectors_back_are_embedded(
    documents, embeddings, debate
):
    flat, cells = faiss_store(embeddings), faiss_store(embeddings)
    cells.index = pytest.importorskip("faiss").index_factory(64, "IVF1,Flat")
    cells.index.train(HashEmbedder().embed_passages(list(debate.texts.values())))
    found = []
    for store in (flat, cells):
        store.add_documents(documents)
        embeddings.asked.clear()
        retriever = PerspectiveRetriever.wrap(store, judge=None, lambda_mult=0.5, strict=True)
        found.append([d.id for d in retriever.invoke(debate.question)])
        assert (set(debate.texts.values()) <= set(embeddings.asked)) == (store is cells)
    assert found[0] == found[1]


class AsyncStore(UnknownStore):
    """Searches asynchronously alone, by vector."""

    async def asimilarity_search_by_vector(self, embedding, k=4, *, pre_filter=None):
        return await self.inner.asimilarity_search_by_vector(embedding, k, filter=pre_filter)


class AsyncTextOnly(UnknownStore):
    """Searches asynchronously alone, by text."""

    def similarity_search(self, query, k=4, **kwargs):
        raise NotImplementedError

    async def asimilarity_search(self, query, k=4, *, filter=None):
        return await self.inner.asimilarity_search(query, k, filter=filter)


async def test_a_store_with_async_methods_alone_is_searched_by_vector(flat, embeddings, debate):
    store = AsyncStore(embeddings)
    store.add_documents(flat)
    retriever = PerspectiveRetriever.wrap(store, judge=None, projection="pap", k=3)
    against = await retriever.aretrieve(
        debate.question,
        filter=lambda d: d.metadata["side"] == "aga",
        perspectives=[PERSPECTIVE],
        strict=True,
    )
    assert {p.metadata["side"] for p in against.passages} == {"aga"}
    expected = PerspectiveRetriever.wrap(store.inner, judge=None, projection="pap", k=3)
    found = await retriever.ainvoke(debate.question)
    assert [d.id for d in found] == [d.id for d in expected.invoke(debate.question)]


@pytest.mark.parametrize("kind", [AsyncStore, AsyncTextOnly])
async def test_sync_calls_of_a_store_with_async_methods_alone_say_what_to_do(
    flat, embeddings, debate, kind
):
    store = kind(embeddings)
    store.add_documents(flat)
    retriever = PerspectiveRetriever.wrap(store, judge=None)
    assert len(await retriever.ainvoke(debate.question)) == 5
    with pytest.raises(RetrievalError, match=f"{kind.__name__} searches asynchronously alone"):
        retriever.invoke(debate.question)
