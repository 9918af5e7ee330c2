"""Real vector stores: what they find by a projected vector is what brute force finds."""

from __future__ import annotations

import asyncio
import time
from uuid import uuid4

import numpy as np
import pytest
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores import SimpleVectorStore

from llama_index.retrievers.perspective_rag import (
    LlamaIndexStore,
    PerspectiveRetriever,
    StoreAdapter,
)
from perspective_rag.maths.ranking import reciprocal_rank_fusion
from perspective_rag.testing import HashEmbedder

QUESTION = "Should zoos be closed?"
PERSPECTIVES = ["zoos should be closed because cages are cruel", "zoos keep rare species alive"]
WORDS = "zoos cages cruel species alive closed parks butter breeding freed keeper elephant law ticket".split()


def simple(tmp_path):
    return SimpleVectorStore()


def faiss_l2(tmp_path):
    faiss = pytest.importorskip("faiss")
    stores = pytest.importorskip("llama_index.vector_stores.faiss")
    return stores.FaissVectorStore(faiss_index=faiss.IndexFlatL2(64))


def faiss_ip(tmp_path):
    faiss = pytest.importorskip("faiss")
    stores = pytest.importorskip("llama_index.vector_stores.faiss")
    return stores.FaissVectorStore(faiss_index=faiss.IndexFlatIP(64))


def qdrant(tmp_path):
    client = pytest.importorskip("qdrant_client").QdrantClient(":memory:")
    stores = pytest.importorskip("llama_index.vector_stores.qdrant")
    return stores.QdrantVectorStore(collection_name="zoo", client=client)


def chroma(tmp_path):
    client = pytest.importorskip("chromadb").PersistentClient(str(tmp_path))
    stores = pytest.importorskip("llama_index.vector_stores.chroma")
    return stores.ChromaVectorStore(chroma_collection=client.create_collection("zoo"))


STORES = [simple, faiss_l2, faiss_ip, qdrant, chroma]


@pytest.fixture(params=STORES, ids=lambda make: make.__name__)
def vector_store(request, tmp_path):
    return request.param(tmp_path)


@pytest.fixture
def texts():
    random = np.random.default_rng(7)
    return {
        # Qdrant takes no other ids than UUIDs.
        f"00000000-0000-0000-0000-{number:012d}": " ".join(random.choice(WORDS, 6, replace=False))
        for number in range(40)
    }


@pytest.fixture
def index(zoo, vector_store, texts):
    nodes = [TextNode(id_=name, text=text) for name, text in texts.items()]
    return zoo.index(vector_store=vector_store, nodes=nodes)


def rank(texts, vector):
    """Ids by brute force; the rows have length one, so L2, inner product and cosine agree."""
    rows = HashEmbedder().embed_passages(list(texts.values()))
    order = np.argsort(-(rows @ vector), kind="stable")
    names = list(texts)
    return [names[i] for i in order]


def test_hits_come_best_first_whatever_the_stores_numbers_mean(index, texts):
    vector = HashEmbedder().embed_queries([QUESTION])[0]
    hits = LlamaIndexStore(index).search(QUESTION, vector, k=7)
    assert [hit.passage.id for hit in hits] == rank(texts, vector)[:7]
    cosines = [float(HashEmbedder().embed_passages([hit.passage.text])[0] @ vector) for hit in hits]
    for hit, cosine in zip(hits, cosines, strict=True):
        assert hit.score is None or hit.score == pytest.approx(cosine, abs=1e-5)


class Watched(SimpleVectorStore):
    """Counts the searches it makes at a time; each waits a little for another to begin."""

    def query(self, query, **kwargs):
        seen["now"] += 1
        seen["most"] = max(seen["most"], seen["now"])
        time.sleep(0.05)
        seen["now"] -= 1
        return super().query(query, **kwargs)


seen = {"now": 0, "most": 0}


@pytest.mark.parametrize(("adapter", "at_a_time"), [(None, 1), (StoreAdapter(), 3)])
async def test_a_store_that_computes_in_python_is_searched_in_turn(zoo, texts, adapter, at_a_time):
    nodes = [TextNode(id_=name, text=text) for name, text in texts.items()]
    index = zoo.index(vector_store=Watched(), nodes=nodes)
    retriever = PerspectiveRetriever(index, judge=None, perspectives=PERSPECTIVES, adapter=adapter)
    seen["most"] = 0
    retriever.retrieve(QUESTION)
    assert seen["most"] == at_a_time
    seen["most"] = 0
    await retriever.aretrieve(QUESTION)
    assert seen["most"] == at_a_time


def test_which_stores_compute_in_python(index, vector_store):
    name = type(vector_store).__name__
    assert LlamaIndexStore(index).in_turn is (name in {"SimpleVectorStore", "QdrantVectorStore"})


@pytest.mark.parametrize("way", ["sync", "async"])
def test_pap_ranks_as_brute_force_does(zoo, index, texts, way):
    options = {"judge": None, "perspectives": PERSPECTIVES, "fetch_k": 40, "k": 10}
    retriever = PerspectiveRetriever(index, projection="pap", fusion="rrf", **options)
    ask = retriever.report if way == "sync" else lambda q: asyncio.run(retriever.areport(q))
    found = ask(QUESTION)
    assert found.trace.degradations == ()
    embed = HashEmbedder()
    rankings = []
    for query in found.trace.queries:
        vector = embed.embed_queries([query.text])[0]
        if query.perspective is not None:
            root = embed.embed_queries([QUESTION])[0]
            side = PERSPECTIVES[int(query.perspective[1:]) - 1]
            turn = vector - root if query.text == side else embed.embed_queries([side])[0]
            turn = turn / np.linalg.norm(turn)
            vector = vector - (vector @ turn) * turn
        rankings.append(rank(texts, vector))
    assert len(rankings) == 3
    fused = reciprocal_rank_fusion(rankings, weights=[2.0, 1.0, 1.0])
    assert [p.id for p in found.passages] == sorted(fused, key=lambda name: -fused[name])[:10]
    plain = PerspectiveRetriever(index, fusion="rrf", **options)
    assert [p.id for p in plain.report(QUESTION).passages] != [p.id for p in found.passages]


async def test_the_whole_way_over_a_real_store(zoo, index):
    retriever = PerspectiveRetriever(index, judge=zoo.judge(), k=4, mmr_lambda=0.6)
    one, other = retriever.retrieve(QUESTION), await retriever.aretrieve(QUESTION)
    assert [n.node.node_id for n in one] == [n.node.node_id for n in other]
    assert len(one) == 4
    assert retriever.report(QUESTION).trace.degradations == ()


def test_faiss_refuses_filters_with_its_own_words(zoo, texts, tmp_path):
    from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters

    from perspective_rag.errors import RetrievalError

    filters = MetadataFilters(filters=[ExactMatchFilter(key="shelf", value="odd")])
    retriever = PerspectiveRetriever(
        zoo.index(vector_store=faiss_l2(tmp_path)), judge=None, filters=filters
    )
    with pytest.raises(RetrievalError, match="not implemented for Faiss"):
        retriever.retrieve(QUESTION)


def test_vectors_kept_by_the_simple_store_come_back(zoo):
    index = zoo.index()
    vector = HashEmbedder().embed_queries([QUESTION])[0]
    for hit in LlamaIndexStore(index).search(QUESTION, vector, k=6):
        assert hit.embedding == pytest.approx(HashEmbedder().embed_passages([hit.passage.text])[0])


def test_an_adapter_of_ones_own_reads_vectors_back(zoo):
    asked = []

    class Cupboard(SimpleVectorStore):
        pass

    def vectors(store, names):
        asked.append(list(names))
        return {name: store.data.embedding_dict[name] for name in names if name != "f"}

    index = zoo.index(vector_store=Cupboard())
    store = LlamaIndexStore(index, adapter=StoreAdapter(vectors=vectors))
    hits = store.search(QUESTION, HashEmbedder().embed_queries([QUESTION])[0], k=6)
    assert all(hit.score is None for hit in hits)
    rows = store.embeddings_of([hit.passage for hit in hits])
    assert len(asked) == 1
    known = {hit.passage.id for hit, row in zip(hits, rows, strict=True) if np.isfinite(row).all()}
    assert known == set("abcde")


def test_a_retriever_takes_an_adapter_of_ones_own(zoo):
    class Cupboard(SimpleVectorStore):
        pass

    def vectors(store, names):
        return {name: store.data.embedding_dict[name] for name in names}

    model = zoo.HashEmbedding()
    index = zoo.index(embed_model=model, vector_store=Cupboard())
    plain = PerspectiveRetriever(index, judge=None, mmr_lambda=0.5, adapter=StoreAdapter())
    adapted = PerspectiveRetriever(
        index, judge=None, mmr_lambda=0.5, adapter=StoreAdapter(vectors=vectors)
    )
    model.texts.clear()
    found = adapted.report(QUESTION)
    assert not set(model.texts) & set(zoo.texts.values())
    assert found.trace.calls["vectors"] == 1
    again = plain.report(QUESTION)  # the candidates are embedded where nothing reads them back
    assert set(zoo.texts.values()) <= set(model.texts)
    assert [p.id for p in again.passages] == [p.id for p in found.passages]


def test_candidates_of_a_faiss_index_that_hands_no_vectors_back_are_embedded(zoo, tmp_path):
    flat, cells = faiss_l2(tmp_path), faiss_l2(tmp_path)
    cells._faiss_index = pytest.importorskip("faiss").index_factory(64, "IVF1,Flat")
    cells.client.train(HashEmbedder().embed_passages(list(zoo.texts.values())))
    found = []
    for store in (flat, cells):
        model = zoo.HashEmbedding()
        index = zoo.index(embed_model=model, vector_store=store)
        model.texts.clear()
        retriever = PerspectiveRetriever(index, judge=None, mmr_lambda=0.5, strict=True)
        found.append([item.node.node_id for item in retriever.retrieve(QUESTION)])
        assert (set(zoo.texts.values()) <= set(model.texts)) == (store is cells)
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("mode", "by_vector"),
    [("default", True), ("mmr", True), ("hybrid", True), ("text_search", False), ("sparse", False)],
)
def test_a_mode_that_searches_words_gets_no_vector(zoo, mode, by_vector):
    source = zoo.index().as_retriever(vector_store_query_mode=mode)
    assert LlamaIndexStore(source).takes_vector == by_vector


async def test_a_local_async_client_does_not_hold_up_the_event_loop(heart, monkeypatch):
    """It computes where it is awaited, on data of its own, which the sync client does not have."""
    clients = pytest.importorskip("qdrant_client")
    stores = pytest.importorskip("llama_index.vector_stores.qdrant")
    client = clients.AsyncQdrantClient(":memory:")
    store = stores.QdrantVectorStore(
        collection_name="zoo", aclient=client, client=clients.QdrantClient(":memory:")
    )
    ids = [str(uuid4()) for _ in WORDS]
    rows = HashEmbedder().embed_passages(WORDS)
    await store.async_add(
        [
            TextNode(id_=name, text=text, embedding=row.tolist())
            for name, text, row in zip(ids, WORDS, rows, strict=True)
        ]
    )
    search, pause = client._client.query_points, heart.pause("search")

    async def slow(*args, **kwargs):
        pause()
        return await search(*args, **kwargs)

    monkeypatch.setattr(client._client, "query_points", slow)
    index = VectorStoreIndex.from_vector_store(store, embed_model=MockEmbedding(64))
    hits = await LlamaIndexStore(index).asearch("cages", rows[1], k=3)
    assert hits[0].passage.text == "cages"
    assert heart.pauses == ["search"]
