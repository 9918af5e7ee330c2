"""What --to can name, and what it says when it cannot."""

from __future__ import annotations

import sys

import pytest

from perspective_rag.errors import ConfigError, MissingDependency
from perspective_rag.types import Passage
from perspective_rag_scale.sinks.documents import metadata_of, short_id, uuid_of
from perspective_rag_scale.sinks.targets import make_sink


@pytest.mark.parametrize(
    ("target", "package", "extra"),
    [
        ("qdrant:http://localhost:1#c", "qdrant_client", "qdrant"),
        ("postgresql://u:p@localhost/d#t", "psycopg", "postgres"),
        ("lancedb:folder#t", "lancedb", "lancedb"),
        ("milvus:file.db#c", "pymilvus", "milvus"),
        ("elasticsearch:http://localhost:1#i", "elasticsearch", "elasticsearch"),
        ("opensearch:http://localhost:1#i", "opensearchpy", "opensearch"),
        ("faiss:folder", "faiss", "local"),
    ],
)
def test_a_client_that_is_missing_names_the_extra(target, package, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependency, match=rf"perspective-rag\[{extra}\]"):
        make_sink(target, model_name="m")


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("qdrnt:here#c", "did you mean 'qdrant'"),
        ("folder", "known: elasticsearch, faiss"),
        ("qdrant:http://user:hunter22@host", r"qdrant:URL#COLLECTION; got .*\*\*\*@host"),
        ("qdrant:#c", "qdrant:URL#COLLECTION"),
        ("lancedb:folder#", "lancedb:FOLDER#TABLE"),
        ("faiss:", "faiss:FOLDER"),
    ],
)
def test_targets_that_are_not_written_so(target, said):
    with pytest.raises(ConfigError, match=said) as caught:
        make_sink(target, model_name="m")
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize("target", ["postgresql:user:hunter22@host/db#t", "postgres:host/db#t"])
def test_an_address_of_postgresql_without_slashes_is_refused_before_it_is_repeated(target):
    with pytest.raises(
        ConfigError, match="must be postgresql://USER@HOST/DATABASE#TABLE"
    ) as caught:
        make_sink(target, model_name="m")
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    "target", ["qdrant:http://user:hunter22@localhost:port#c", "elasticsearch:http://#c"]
)
def test_an_address_that_is_none_is_refused_without_its_password(target):
    pytest.importorskip("qdrant_client")
    pytest.importorskip("elasticsearch")
    with pytest.raises(ConfigError, match="cannot be used") as caught:
        make_sink(target, model_name="m")
    assert "hunter22" not in str(caught.value)


def test_qdrant_may_take_long_and_must_compare_by_cosine():
    qdrant = pytest.importorskip("qdrant_client")
    from perspective_rag_scale.sinks.qdrant import QdrantSink

    there = QdrantSink("http://127.0.0.1:9", "c")
    assert there._client.init_options["timeout"] >= 60, "five seconds, if nothing is said"
    there.close()
    client, models = qdrant.QdrantClient(":memory:"), qdrant.models
    for name, distance in (("far", models.Distance.MANHATTAN), ("near", models.Distance.DOT)):
        client.create_collection(
            name, vectors_config=models.VectorParams(size=4, distance=distance)
        )
    with pytest.raises(ConfigError, match="compares by Manhattan, expected Cosine"):
        QdrantSink(":memory:", "far", client=client).open(4)
    QdrantSink(":memory:", "near", client=client).open(4)


def test_a_kind_is_for_faiss():
    with pytest.raises(ConfigError, match="faiss:FOLDER alone"):
        make_sink("qdrant::memory:#c", model_name="m", kind="flat")


def test_ids():
    passage = Passage("p1", "text", {"a": 1})
    assert uuid_of(passage) == uuid_of(Passage("p1", "other"))
    assert uuid_of(passage) != uuid_of(Passage("p2", "text"))
    assert short_id(passage) == "p1"
    long = Passage("é" * 300, "text")
    assert len(short_id(long)) == 64
    assert metadata_of(passage, "p1") == {"a": 1}
    assert metadata_of(long, short_id(long)) == {"passage_id": long.id}
