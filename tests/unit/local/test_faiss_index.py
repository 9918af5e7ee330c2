"""The vector stores: FAISS and numpy find the same."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError, MissingDependency
from perspective_rag.local.stores import FaissStore, NumpyStore
from perspective_rag.protocols import KeepsEmbeddings, Store
from perspective_rag.types import Passage

STORES = [FaissStore, NumpyStore]
every_store = pytest.mark.parametrize("kind", STORES)

EAST_NORTH = [[2.0, 0.0], [0.0, 5.0], [1.0, 1.0], [-1.0, 0.0], [0.0, 0.0]]
PASSAGES = [
    Passage("east", "", {"axis": True}),
    Passage("north", "", {"axis": True}),
    Passage("between", "", {"axis": False}),
    Passage("west", "", {"axis": True}),
    Passage("zero", ""),
]


def found(hits):
    return [(hit.passage.id, round(hit.score, 4)) for hit in hits]


def brute_force(rows, vector, kept, k):
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    scores = rows @ (vector / np.linalg.norm(vector))
    return sorted((float(scores[i]) for i in kept), reverse=True)[:k]


@every_store
def test_it_is_a_store_that_keeps_embeddings(kind):
    store = kind(PASSAGES, EAST_NORTH)
    assert isinstance(store, Store)
    assert isinstance(store, KeepsEmbeddings)
    assert store.takes_vector is True
    assert len(store) == 5


@every_store
def test_cosine_by_hand(kind):
    store = kind(PASSAGES, np.array(EAST_NORTH))
    hits = store.search("", np.array([3.0, 0.0]), k=3)
    assert found(hits)[:2] == [("east", 1.0), ("between", 0.7071)]
    assert hits[2].score == 0.0
    assert found(store.search("", np.array([3.0, 0.0]), k=100))[-1] == ("west", -1.0)
    assert hits[0].passage is PASSAGES[0]


@every_store
@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"axis": True}, ["east", "north", "west"]),
        (lambda passage: passage.id in ("west", "between"), ["between", "west"]),
        ({"axis": "no such"}, []),
        ({"missing": None}, []),
    ],
)
def test_filters(kind, filter, expected):
    store = kind(PASSAGES, EAST_NORTH)
    hits = store.search("", np.array([1.0, 0.1]), k=4, filter=filter)
    assert [hit.passage.id for hit in hits] == expected


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**31),
    st.integers(1, 60),
    st.integers(1, 70),
    st.sampled_from([None, 2, 7, 1000]),
)
@every_store
def test_equal_to_brute_force(kind, seed, count, k, every):
    rng = np.random.default_rng(seed)
    rows, vector = rng.standard_normal((count, 5)), rng.standard_normal(5)
    passages = [Passage(str(i), "", {"n": i}) for i in range(count)]
    kept = [i for i in range(count) if every is None or i % every == 0]
    filter = None if every is None else (lambda passage: passage.metadata["n"] % every == 0)
    hits = kind(passages, rows).search("", vector, k=k, filter=filter)
    assert {int(hit.passage.id) for hit in hits} <= set(kept)
    assert len({hit.passage.id for hit in hits}) == min(k, len(kept))
    np.testing.assert_allclose(
        [hit.score for hit in hits], brute_force(rows, vector, kept, k), atol=1e-5
    )


@every_store
def test_embeddings_come_back_as_unit_rows(kind):
    store = kind(PASSAGES, EAST_NORTH)
    rows = store.embeddings_of([PASSAGES[2], Passage("stranger", ""), PASSAGES[1], PASSAGES[4]])
    half = np.sqrt(0.5)
    np.testing.assert_allclose(rows, [[half, half], [np.nan, np.nan], [0, 1], [0, 0]], atol=1e-6)
    assert store.embeddings_of([]).shape == (0, 2)


@every_store
def test_a_memory_mapped_index_of_half_precision(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("perspective_rag.local.stores._CHUNK", 100)
    rng = np.random.default_rng(3)
    np.save(tmp_path / "e.npy", rng.standard_normal((950, 8)).astype(np.float16))
    rows = np.load(tmp_path / "e.npy", mmap_mode="r")
    store = kind([Passage(str(i), "") for i in range(950)], rows)
    for i in (0, 99, 100, 949):
        [hit] = store.search("", np.array(rows[i], dtype=float), k=1)
        assert hit.passage.id == str(i)
        assert hit.score == pytest.approx(1.0, abs=1e-3)


@every_store
def test_what_cannot_be_indexed_or_searched(kind):
    with pytest.raises(ConfigError, match="no passages"):
        kind([], np.zeros((0, 2)))
    with pytest.raises(ConfigError, match="distinct"):
        kind([PASSAGES[0], PASSAGES[0]], np.ones((2, 2)))
    with pytest.raises(ConfigError, match=r"\(5, d\), got shape \(4, 2\)"):
        kind(PASSAGES, EAST_NORTH[:4])
    with pytest.raises(ConfigError, match="NaN"):
        kind(PASSAGES, np.full((5, 2), np.nan))
    store = kind(PASSAGES, EAST_NORTH)
    with pytest.raises(ConfigError, match="3 dimensions where 2"):
        store.search("", np.ones(3), k=1)
    with pytest.raises(ConfigError, match="by vector"):
        store.search("", None, k=1)
    with pytest.raises(ConfigError, match="k must be"):
        store.search("", np.ones(2), k=0)


@every_store
def test_async(kind):
    store = kind(PASSAGES, EAST_NORTH)
    hits = asyncio.run(store.asearch("", np.array([0.0, 1.0]), k=1, filter={"axis": True}))
    assert found(hits) == [("north", 1.0)]


@every_store
def test_threads(kind):
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((500, 16))
    store = kind([Passage(str(i), "") for i in range(500)], rows)

    def nearest(i):
        filter = (lambda passage: int(passage.id) >= i) if i % 2 else None
        return store.search("", rows[i], k=1, filter=filter)[0].passage.id

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(nearest, range(200))) == [str(i) for i in range(200)]


def test_without_faiss(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependency, match=r"perspective-rag\[local\]"):
        FaissStore(PASSAGES, EAST_NORTH)
