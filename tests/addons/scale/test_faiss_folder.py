"""A folder of FAISS: filled, searched without being loaded, refused where it is not whole."""

from __future__ import annotations

import itertools
import json
import sys

import numpy as np
import pytest

from perspective_rag.errors import ConfigError, CorpusError, MissingDependency
from perspective_rag.testing import STORE_CHECKS, HashEmbedder, StoreCase, TableJudge
from perspective_rag.types import Passage
from perspective_rag_scale.faiss_folder import FaissFolder
from perspective_rag_scale.filling import fill
from perspective_rag_scale.folder import folder_pipeline
from perspective_rag_scale.passage_file import PassageFile
from perspective_rag_scale.sinks import faiss as sinks
from perspective_rag_scale.sinks.faiss import FaissSink

NUMBERS = itertools.count()
PASSAGES = [
    Passage(
        f"p{i}", f"zoo {i} saves {i % 7} of {i % 13}", {"side": i % 2, "tags": [i, {"a": None}]}
    )
    for i in range(300)
]


def filled(folder, passages=PASSAGES, embedder=None, kind=None, **options):
    embedder = embedder or HashEmbedder(16)
    sink = FaissSink(folder, model_name="hash", kind=kind)
    options = {"model_name": "hash", "window": 70, **options}
    try:
        fill(passages, sink, embedder, sink.folder / "work", **options)
    finally:
        sink.close()
    return FaissFolder(folder)


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    def fill_folder(passages, embedder):
        return filled(tmp_path_factory.mktemp("f") / "i", passages, embedder)

    return StoreCase(fill_folder, filter={"side": "against"})


# Rows are kept in 16 bits, and a folder of no passages is not made.
@pytest.mark.parametrize("check", sorted({*STORE_CHECKS} - {"score", "vectors", "empty"}))
def test_it_is_a_store(case, check):
    STORE_CHECKS[check](case)


@pytest.mark.parametrize("kind", ["flat", "hnsw", "ivfpq"])
def test_each_kind_finds_the_nearest_with_exact_scores(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(sinks, "PART", 120)
    store = filled(tmp_path / "i", kind=kind)
    assert len(store) == 300
    assert (store.manifest.kind, store.manifest.reason) == (kind, "as asked for")
    assert store.manifest.parts == (3 if kind == "ivfpq" else 1)
    rows = HashEmbedder(16).embed_passages([each.titled for each in PASSAGES])
    for i in (0, 119, 120, 299):
        hits = store.search("", rows[i], k=5)
        best = np.sort(rows @ rows[i])[::-1][:5]
        assert hits[0].passage in (PASSAGES[i], *(h.passage for h in hits if h.score > 0.999))
        np.testing.assert_allclose([hit.score for hit in hits], best, atol=2e-3)
    assert hits[0].passage.metadata == {"side": 1, "tags": [299, {"a": None}]}
    only = store.search("", rows[0], k=7, filter={"side": 1})
    assert [hit.passage.metadata["side"] for hit in only] == [1] * 7
    assert len(store.search("", rows[0], k=300)) == 300
    assert len(store.search("", rows[0], k=200, filter=lambda p: p.metadata["side"])) == 150
    assert store.search("", rows[0], k=2, filter={"side": "no"}) == []
    np.testing.assert_allclose(store.embeddings_of(PASSAGES[:9]), rows[:9], atol=1e-3)
    assert np.isnan(store.embeddings_of([Passage("stranger", "")])).all()


def test_another_kind_is_built_without_embedding_again(tmp_path):
    filled(tmp_path / "i", kind="flat")
    embedder = HashEmbedder(16)
    assert filled(tmp_path / "i", embedder=embedder, kind="ivfpq").manifest.kind == "ivfpq"
    assert len(embedder.embedded) == 1
    assert filled(tmp_path / "i").manifest.kind == "ivfpq", "what is there is kept"


def test_parts_of_another_kind_are_not_taken_for_these(tmp_path, monkeypatch):
    monkeypatch.setattr(sinks, "PART", 120)
    filled(tmp_path / "i", kind="ivfpq")
    (tmp_path / "i" / "manifest.json").unlink()
    assert filled(tmp_path / "i", kind="flat").manifest.parts == 1
    assert [each.name for each in (tmp_path / "i").glob("index-*")] == ["index-0.faiss"]


def test_a_restart_with_fewer_passages_leaves_none_of_the_others(tmp_path):
    filled(tmp_path / "i")
    store = filled(tmp_path / "i", PASSAGES[:10], restart=True)
    assert len(store) == 10
    assert len(store.search("", np.ones(16), k=50)) == 10


def test_what_is_refused(tmp_path):
    filled(tmp_path / "i")
    with pytest.raises(ConfigError, match="another vector length"):
        filled(tmp_path / "i", embedder=HashEmbedder(8))
    with pytest.raises(ConfigError, match="one corpus alone"):
        filled(tmp_path / "i", append=True)
    with pytest.raises(CorpusError, match="'p0'"):
        filled(tmp_path / "twice", [PASSAGES[0], PASSAGES[0]])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(ConfigError, match=r"notes\.txt"):
        FaissSink(tmp_path / "mine", model_name="hash")
    with pytest.raises(ConfigError, match="is a file"):
        FaissSink(tmp_path / "mine" / "notes.txt", model_name="hash")


def test_two_judges_are_refused_before_the_folder_is_opened(tmp_path):
    judge = TableJudge({})
    with pytest.raises(ConfigError, match="CascadeJudge"):
        folder_pipeline(tmp_path, judge=judge, llm_judge=judge)


def test_a_folder_that_is_not_whole(tmp_path):
    store = filled(tmp_path / "i")
    with pytest.raises(ConfigError, match="by vector"):
        store.search("a", None, k=1)
    with pytest.raises(ConfigError, match="16"):
        store.search("a", np.ones(3), k=1)
    manifest = tmp_path / "i" / "manifest.json"
    whole = json.loads(manifest.read_text())
    for change, said in (
        ({"rows": 200}, "bytes"),
        ({"format": 9}, "format 9"),
        ({"unknown": 1}, "cannot be read"),
        ({"parts": 2}, "no index at"),
    ):
        manifest.write_text(json.dumps({**whole, **change}))
        with pytest.raises(CorpusError, match=said):
            FaissFolder(tmp_path / "i")
    manifest.unlink()
    with pytest.raises(CorpusError, match="no finished index"):
        FaissFolder(tmp_path / "i")


def test_a_file_of_passages_that_is_damaged(tmp_path):
    (tmp_path / "p").write_text("not a database, however long this text may be" * 50)
    with pytest.raises(CorpusError, match="cannot be used"):
        len(PassageFile(tmp_path / "p"))
    with pytest.raises(CorpusError, match="cannot be used"):
        PassageFile(tmp_path / "none" / "p")


def test_without_faiss(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependency, match=r"perspective-rag\[local\]"):
        FaissSink(tmp_path, model_name="hash")


def test_a_folder_that_was_filled_anew_since_it_was_opened_gives_no_other_passages(tmp_path):
    store = filled(tmp_path / "i")
    query = HashEmbedder(16).embed_queries(["zoo 3 saves 3 of 3"])[0]
    assert store.search("", query, k=1)[0].passage.id == "p3"
    others = [Passage(f"q{i}", f"about cars {i}") for i in range(300)]
    again = filled(tmp_path / "i", others, restart=True)
    assert np.asarray(store._rows[:1]).shape == (1, 16), "the old rows are still there to be read"
    with pytest.raises(CorpusError, match="was built anew since it was opened: open it again"):
        store.search("", query, k=1)
    with pytest.raises(CorpusError, match="open it again"):
        store.search("", query, k=1, filter=lambda passage: True)
    with pytest.raises(CorpusError, match="open it again"):
        store.embeddings_of([others[0]])
    assert again.search("", query, k=1)[0].passage.id.startswith("q")


def test_rows_that_were_lost_are_no_zeros(tmp_path):
    sink = FaissSink(tmp_path / "i", model_name="hash")
    sink.open(16)
    rows = HashEmbedder(16).embed_passages([p.titled for p in PASSAGES])
    sink.write(PASSAGES[:100], rows[:100], 0)
    (tmp_path / "i" / "rows.f16").unlink()
    with pytest.raises(CorpusError, match=r"rows\.f16 has 0 bytes, expected 3,200: .*--restart"):
        sink.write(PASSAGES[100:], rows[100:], 100)
    assert sink.count() == 100
    sink.close()
