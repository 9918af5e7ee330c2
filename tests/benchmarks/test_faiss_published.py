"""Indexes that others built and published."""

from __future__ import annotations

import asyncio
import json
import pickle

import numpy as np
import pytest

from benchmarks.berds.faiss_published import PublishedFaissStore
from benchmarks.berds.published_ids import read_ids
from perspective_rag import ConfigError, CorpusError, Passage

faiss = pytest.importorskip("faiss")
PASSAGES = [Passage(f"p{i}", f"text {i}", {"even": i % 2 == 0}) for i in range(60)]
ORDER = [f"p{i}" for i in reversed(range(60))]  # the rows are not in the order of the corpus
ROWS = np.random.default_rng(7).standard_normal((60, 8)).astype(np.float32)
QUERY = ROWS[11] * 2


def made(kind):
    if kind == "flat":
        index = faiss.IndexFlatIP(8)
    elif kind == "distances":
        index = faiss.IndexFlatL2(8)
    elif kind == "graph":
        index = faiss.IndexHNSWFlat(8, 16, faiss.METRIC_INNER_PRODUCT)
    else:
        index = faiss.IndexIVFFlat(faiss.IndexFlatIP(8), 8, 2, faiss.METRIC_INNER_PRODUCT)
        index.train(ROWS)
        index.nprobe = 2
    index.add(ROWS)
    return index


@pytest.fixture
def file(tmp_path):
    faiss.write_index(made("flat"), str(tmp_path / "index.faiss"))
    return tmp_path / "index.faiss"


@pytest.mark.parametrize("kind", ["flat", "distances", "graph", "cells"])
def test_hits_are_those_of_the_index(tmp_path, kind):
    path = tmp_path / "index.faiss"
    faiss.write_index(made(kind), str(path))
    store = PublishedFaissStore(path, ORDER, PASSAGES, dimensions=8)
    scores = -((ROWS - QUERY) ** 2).sum(axis=1) if kind == "distances" else ROWS @ QUERY
    best = np.argsort(-scores)[:5]
    hits = store.search("", QUERY, k=5)
    assert [hit.passage.id for hit in hits] == [ORDER[i] for i in best]
    np.testing.assert_allclose([hit.score for hit in hits], scores[best], rtol=1e-4, atol=1e-4)
    assert len(store) == 60
    assert asyncio.run(store.asearch("", QUERY, k=5)) == hits


def test_filters(file):
    store = PublishedFaissStore(file, ORDER, PASSAGES)
    scores = ROWS @ QUERY
    even = [ORDER[i] for i in np.argsort(-scores) if int(ORDER[i][1:]) % 2 == 0]
    found = store.search("", QUERY, k=7, filter={"even": True})
    assert [hit.passage.id for hit in found] == even[:7]
    one = store.search("", QUERY, k=7, filter=lambda passage: passage.id == "p3")
    assert [hit.passage.id for hit in one] == ["p3"]
    assert store.search("", QUERY, k=7, filter={"absent": 1}) == []


def test_what_does_not_belong_together_is_refused(file, tmp_path):
    with pytest.raises(CorpusError, match="holds 60 rows, and there are 59 ids"):
        PublishedFaissStore(file, ORDER[1:], PASSAGES)
    with pytest.raises(CorpusError, match="vectors of 8 numbers, and the embedder gives 384"):
        PublishedFaissStore(file, ORDER, PASSAGES, dimensions=384)
    with pytest.raises(CorpusError, match=r"lacks 2 of the 60 passages .* as 'p59', 'p58'"):
        PublishedFaissStore(file, ORDER, PASSAGES[:-2])
    with pytest.raises(CorpusError, match="there is no index"):
        PublishedFaissStore(tmp_path / "absent", ORDER, PASSAGES)
    store = PublishedFaissStore(file, ORDER, PASSAGES)
    with pytest.raises(ConfigError, match="pass an embedder"):
        store.search("", None, k=1)
    with pytest.raises(ConfigError, match="query vector"):
        store.search("", QUERY[:5], k=1)


def test_a_damaged_index_is_refused(file):
    whole = file.read_bytes()
    for data in (whole[: len(whole) // 2], b"", b"IxFIgarbage"):
        file.write_bytes(data)
        with pytest.raises(CorpusError, match="cannot be read as a FAISS index"):
            PublishedFaissStore(file, ORDER, PASSAGES)


def test_ids_of_files(tmp_path, file):
    (tmp_path / "ids.json").write_text(json.dumps(ORDER))
    (tmp_path / "ids.txt").write_text("\n".join(ORDER) + "\n")
    np.save(tmp_path / "ids.npy", np.array(ORDER))
    for name in ("ids.json", "ids.txt", "ids.npy"):
        assert read_ids(tmp_path / name) == ORDER
        assert len(PublishedFaissStore(file, tmp_path / name, PASSAGES)) == 60
    np.save(tmp_path / "numbers.npy", np.arange(3))
    assert read_ids(tmp_path / "numbers.npy") == ["0", "1", "2"]


class Harm:
    def __reduce__(self):
        return (pytest.fail, ("the pickle ran",))


def test_pickles_are_read_on_request_and_run_nothing(tmp_path):
    path = tmp_path / "index_meta.dpr"
    path.write_bytes(pickle.dumps(ORDER))
    with pytest.raises(ConfigError, match="unpickle=True"):
        read_ids(path)
    assert read_ids(path, unpickle=True) == ORDER
    path.write_bytes(pickle.dumps([(id, "title", "text") for id in ORDER]))
    assert read_ids(path, unpickle=True) == ORDER
    for data in (pickle.dumps([Harm()]), pickle.dumps({"a": 1}), b"no pickle", b""):
        path.write_bytes(data)
        with pytest.raises(CorpusError, match="cannot be read"):
            read_ids(path, unpickle=True)


@pytest.mark.parametrize("text", ['{"a": 1}', "[1, null]", '[""]', "[[]]", "no json"])
def test_what_is_no_list_of_ids_is_refused(tmp_path, text):
    (tmp_path / "ids.json").write_text(text)
    with pytest.raises(CorpusError):
        read_ids(tmp_path / "ids.json")
    np.save(tmp_path / "ids.npy", np.zeros((2, 2)))
    with pytest.raises(CorpusError, match="one dimension"):
        read_ids(tmp_path / "ids.npy")


@pytest.mark.parametrize("wrapped", [False, True], ids=["cells", "rotated cells"])
def test_an_index_of_cells_is_searched_in_more_than_one_of_them(tmp_path, wrapped):
    index = made("cells")
    index.nprobe = 1  # what FAISS writes where its builder set nothing
    inner = index
    if wrapped:
        turn = faiss.RandomRotationMatrix(8, 8)
        turn.init(3)
        index = faiss.IndexPreTransform(turn, faiss.IndexIVFFlat(faiss.IndexFlatIP(8), 8, 8, 0))
        index.train(ROWS)
        index.add(ROWS)
        inner = faiss.extract_index_ivf(index)
    assert inner.nprobe == 1
    faiss.write_index(index, str(tmp_path / "index.faiss"))
    store = PublishedFaissStore(tmp_path / "index.faiss", ORDER, PASSAGES)
    best = np.argsort(-(ROWS @ QUERY))[:20]
    assert [hit.passage.id for hit in store.search("", QUERY, k=20)] == [ORDER[i] for i in best]
