"""The stores in memory: BM25, and vectors with FAISS and NumPy, which find the same."""

from __future__ import annotations

import asyncio
import math
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError, MissingDependency
from perspective_rag.local import stores
from perspective_rag.local.stores import BM25Store, FaissStore, NumpyStore, nearest_word
from perspective_rag.protocols import KeepsEmbeddings, Store
from perspective_rag.types import Passage

every_vector_store = pytest.mark.parametrize("kind", [FaissStore, NumpyStore])

PASSAGES = [
    Passage("cats", "Cats purr when they are happy", {"kind": "animal", "legs": 4}),
    Passage("dogs", "Dogs bark and chase cats, cats and more cats", {"kind": "animal", "legs": 4}),
    Passage("birds", "Birds sing at dawn", {"kind": "animal", "legs": 2}),
    Passage("tax", "A tax on carbon lowers emissions", {"kind": "policy"}),
]
ROWS = [[1.0, 1.0], [2.0, 0.0], [0.0, 5.0], [-1.0, 0.0]]
EAST = np.array([3.0, 0.0])


def ids(hits):
    return [hit.passage.id for hit in hits]


STORES = {
    "words": (lambda: BM25Store(PASSAGES), ("cats", None)),
    "faiss": (lambda: FaissStore(PASSAGES, ROWS), ("", EAST)),
    "numpy": (lambda: NumpyStore(PASSAGES, np.array(ROWS)), ("", EAST)),
}


@pytest.fixture(params=STORES)
def asked(request):
    """A store that finds dogs before cats, and what to ask it."""
    make, query = STORES[request.param]
    return make(), query


def test_the_best_comes_first(asked):
    store, query = asked
    assert isinstance(store, Store)
    assert isinstance(store, KeepsEmbeddings) == store.takes_vector
    assert len(store) == 4
    hits = store.search(*query, k=2)
    assert ids(hits) == ["dogs", "cats"]
    assert hits[0].score > hits[1].score > 0
    assert hits[0].passage is PASSAGES[1]
    assert ids(store.search(*query, k=1000))[:2] == ["dogs", "cats"]
    with pytest.raises(ConfigError, match="k must be"):
        store.search(*query, k=0)


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"kind": "animal", "legs": 4}, ["dogs", "cats"]),
        ({"legs": "no such"}, []),
        ({"wings": None}, []),
        (lambda passage: passage.id == "cats", ["cats"]),
    ],
)
def test_a_filter_comes_before_k(asked, filter, expected):
    store, query = asked
    assert ids(store.search(*query, k=2, filter=filter)) == expected
    assert ids(asyncio.run(store.asearch(*query, k=1, filter=filter))) == expected[:1]


def test_a_filter_of_another_kind_is_refused(asked):
    store, query = asked
    with pytest.raises(ConfigError, match="got str"):
        store.search(*query, k=1, filter="kind = animal")


@pytest.mark.parametrize("kind", [BM25Store, lambda p: FaissStore(p, np.ones((len(p), 2)))])
def test_passages_that_cannot_be_indexed(kind):
    with pytest.raises(ConfigError, match="no passages"):
        kind([])
    with pytest.raises(ConfigError, match="'a'"):
        kind([Passage("a", "x"), Passage("a", "y")])


# Vectors


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 60), st.integers(1, 70), st.sampled_from([1, 2, 1000]))
@every_vector_store
def test_equal_to_brute_force(kind, seed, size, k, every):
    rng = np.random.default_rng(seed)
    rows, vector = rng.standard_normal((size, 5)), rng.standard_normal(5)
    store = kind([Passage(str(i), "", {"n": i}) for i in range(size)], rows)
    filter = None if every == 1 else (lambda passage: passage.metadata["n"] % every == 0)
    hits = store.search("", vector, k=k, filter=filter)
    cosines = rows @ vector / np.linalg.norm(rows, axis=1) / np.linalg.norm(vector)
    best = sorted(cosines[::every], reverse=True)[:k]
    assert len({hit.passage.id for hit in hits}) == len(best)
    np.testing.assert_allclose([hit.score for hit in hits], best, atol=1e-5)


@every_vector_store
def test_embeddings_come_back_as_unit_rows(kind):
    store = kind(PASSAGES, [*ROWS[:3], [0.0, 0.0]])
    rows = store.embeddings_of([PASSAGES[0], Passage("stranger", ""), PASSAGES[2], PASSAGES[3]])
    half = np.sqrt(0.5)
    np.testing.assert_allclose(rows, [[half, half], [np.nan, np.nan], [0, 1], [0, 0]], atol=1e-6)
    assert store.embeddings_of([]).shape == (0, 2)


@every_vector_store
def test_a_memory_mapped_index_of_half_precision_serves_threads(kind, tmp_path, monkeypatch):
    monkeypatch.setattr("perspective_rag.local.stores._CHUNK", 100)
    rng = np.random.default_rng(3)
    np.save(tmp_path / "e.npy", rng.standard_normal((950, 16)).astype(np.float16))
    rows = np.load(tmp_path / "e.npy", mmap_mode="r")
    store = kind([Passage(str(i), "") for i in range(950)], rows)

    def nearest(i):
        filter = (lambda passage: int(passage.id) >= i) if i % 2 else None
        return store.search("", np.array(rows[i], dtype=float), k=1, filter=filter)[0].passage.id

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(nearest, range(0, 950, 7))) == [str(i) for i in range(0, 950, 7)]


@every_vector_store
def test_vectors_that_do_not_fit(kind):
    with pytest.raises(ConfigError, match=r"\(4, d\), got shape \(3, 2\)"):
        kind(PASSAGES, ROWS[:3])
    with pytest.raises(ConfigError, match="NaN"):
        kind(PASSAGES, np.full((4, 2), np.nan))
    store = kind(PASSAGES, ROWS)
    with pytest.raises(ConfigError, match="3 dimensions where 2"):
        store.search("", np.ones(3), k=1)
    with pytest.raises(ConfigError, match="by vector"):
        store.search("", None, k=1)


def test_without_faiss(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingDependency, match=r"perspective-rag\[local\]"):
        FaissStore(PASSAGES, ROWS)


# Words


def test_scores_are_bm25():
    [hit] = BM25Store(PASSAGES).search("emissions", None, k=10)
    lengths = [4, 7, 3, 4]  # words that are no stop words
    idf = math.log(1 + (4 - 1 + 0.5) / (1 + 0.5))
    expected = idf / (1 + 1.5 * (1 - 0.75 + 0.75 * lengths[3] / (sum(lengths) / 4)))
    assert hit.score == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("text", ["", "  ", "the and of", "zebra", "?!", "\ud800"])
def test_nothing_to_find(text, capfd):
    assert BM25Store(PASSAGES).search(text, None, k=3) == []
    assert BM25Store([Passage("a", "the"), Passage("b", "")]).search(text, None, k=2) == []
    assert capfd.readouterr() == ("", "")


def test_equal_scores_keep_the_order_of_the_passages():
    passages = [Passage(str(i), "same words" if i % 3 else "same") for i in range(600)]
    order = sorted(range(600), key=lambda i: i % 3 > 0)
    assert ids(BM25Store(passages).search("SAME", None, k=600)) == [str(i) for i in order]


ZOOS = [
    Passage("arks", "They breed rare animals and let them go.", {"title": "What zoos are for"}),
    Passage("bars", "Abolishing it would free the lion.", {"title": "A life in a cage"}),
    Passage("wind", "Turbines at sea were built in a year.", {"title": "Wind"}),
]


@pytest.mark.parametrize(
    ("query", "found", "plainly"),
    [
        ("a zoo", ["arks"], []),  # of a title, by its stem
        ("abolished cages", ["bars"], []),
        ("abolishing", ["bars"], ["bars"]),
        ("tubrines", ["wind"], []),  # two letters exchanged
        ("turbnes", ["wind"], []),  # one missing
        ("kind", [], []),  # an English word is never taken for another
        ("zo", [], []),  # too short to say what was meant
        ("urbines", [], []),  # the first letter must be there
        ("tubrnes", [], []),  # two letters wrong in a short word
    ],
)
def test_titles_stems_and_misspelt_words_are_found_unless_plain(query, found, plainly):
    assert ids(BM25Store(ZOOS).search(query, None, k=3)) == found
    assert ids(BM25Store(ZOOS, plain=True).search(query, None, k=3)) == plainly


def test_of_equally_near_words_the_most_frequent_is_meant():
    vocabulary = {"tarbine": 0, "turbine": 1, "tirbine": 2}
    assert nearest_word("trbine", vocabulary, [1, 5, 2]) == ["turbine"]
    assert nearest_word("trbine", vocabulary, [2, 2, 2]) == ["tarbine"]


# An index that is kept


def cached(folder, passages=ZOOS, fingerprint="f", **how):
    return BM25Store.cached(passages, folder, fingerprint=fingerprint, **how)


def test_an_index_is_kept_by_corpus_and_kind(tmp_path, monkeypatch):
    first = cached(tmp_path).search("zoo tubrines", None, k=3)
    assert ids(cached(tmp_path, PASSAGES, "g").search("cats", None, k=1)) == ["dogs"]
    assert cached(tmp_path, plain=True).search("zoo", None, k=3) == []
    assert len(list(tmp_path.iterdir())) == 3
    monkeypatch.setattr(BM25Store, "__init__", None)  # from here on nothing is indexed
    assert cached(tmp_path).search("zoo tubrines", None, k=3) == first


def test_whatever_is_wrong_in_any_file_of_an_index_is_seen(tmp_path, caplog):
    expected = cached(tmp_path).search("zoo", None, k=3)
    [kept] = tmp_path.iterdir()
    files = {path.name: path.read_bytes() for path in kept.iterdir()}
    assert len(files) > 4
    for name, whole in files.items():
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        for data in (flipped, whole[:-1], whole + b"\0", None):
            (kept / name).unlink()
            if data is not None:
                (kept / name).write_bytes(data)
            caplog.clear()
            assert cached(tmp_path).search("zoo", None, k=3) == expected
            assert "made anew" in caplog.text, name
            assert (kept / name).read_bytes() == whole
    (kept / "one more").write_text("{}")
    cached(tmp_path)
    assert "damaged: one more" in caplog.text


@pytest.mark.parametrize(
    "error", [MissingDependency("local", "it"), ConfigError("no"), MemoryError()]
)
def test_an_index_that_is_not_damaged_stays(tmp_path, monkeypatch, error):
    cached(tmp_path)
    [kept] = tmp_path.iterdir()

    def fail(*args, **kwargs):
        raise error

    monkeypatch.setattr(stores, "_Words", fail)
    with pytest.raises(type(error)):
        cached(tmp_path)
    assert kept.is_dir()


def test_nothing_is_left_behind_when_keeping_fails(tmp_path, monkeypatch, caplog):
    import bm25s

    def fail(*args, **kwargs):
        raise OSError("no space left")

    monkeypatch.setattr(bm25s.BM25, "save", fail)
    assert len(cached(tmp_path)) == len(ZOOS)  # it is used all the same
    assert "no space left" in caplog.text
    assert list(tmp_path.iterdir()) == []
