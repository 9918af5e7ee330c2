"""The BM25 store."""

from __future__ import annotations

import asyncio
import math

import pytest

from perspective_rag.errors import ConfigError
from perspective_rag.local.corpus import Corpus
from perspective_rag.local.stores import BM25Store
from perspective_rag.protocols import Store
from perspective_rag.types import Passage

PASSAGES = [
    Passage("cats", "Cats purr when they are happy", {"kind": "animal", "legs": 4}),
    Passage("dogs", "Dogs bark and chase cats, cats and more cats", {"kind": "animal", "legs": 4}),
    Passage("birds", "Birds sing at dawn", {"kind": "animal", "legs": 2}),
    Passage("tax", "A tax on carbon lowers emissions", {"kind": "policy"}),
]


@pytest.fixture
def store():
    return BM25Store(PASSAGES)


def cached_store(passages, folder):
    return BM25Store.cached(passages, folder, fingerprint=Corpus(passages).fingerprint)


def ids(hits):
    return [hit.passage.id for hit in hits]


def test_it_is_a_store(store):
    assert isinstance(store, Store)
    assert store.takes_vector is False
    assert len(store) == 4


def test_the_best_comes_first_and_others_are_not_found(store):
    hits = store.search("cats", None, k=10)
    assert ids(hits) == ["dogs", "cats"]
    assert hits[0].score > hits[1].score > 0
    assert hits[0].passage is PASSAGES[1]


def test_scores_are_bm25(store):
    [hit] = store.search("emissions", None, k=10)
    lengths = [4, 7, 3, 4]  # words that are no stop words
    idf = math.log(1 + (4 - 1 + 0.5) / (1 + 0.5))
    expected = idf / (1 + 1.5 * (1 - 0.75 + 0.75 * lengths[3] / (sum(lengths) / 4)))
    assert hit.score == pytest.approx(expected, rel=1e-5)


def test_k(store):
    assert ids(store.search("cats", None, k=1)) == ["dogs"]
    assert len(store.search("cats dogs birds tax", None, k=1000)) == 4
    with pytest.raises(ConfigError, match="k must be"):
        store.search("cats", None, k=0)


@pytest.mark.parametrize("text", ["", "  ", "the and of", "zebra", "?!", "\ud800"])
def test_nothing_to_find(store, text):
    assert store.search(text, None, k=3) == []


def test_case_does_not_matter(store):
    assert ids(store.search("CARBON Tax", None, k=3)) == ["tax"]


def test_equal_scores_keep_the_order_of_the_passages():
    passages = [Passage(str(i), "same words" if i % 3 else "same") for i in range(600)]
    hits = BM25Store(passages).search("same", None, k=600)
    order = sorted(range(600), key=lambda i: i % 3 > 0)
    assert ids(hits) == [str(i) for i in order]


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        ({"legs": 4}, ["dogs", "cats"]),
        ({"legs": 2}, []),
        ({"kind": "animal", "legs": 4}, ["dogs", "cats"]),
        ({"wings": None}, []),
        ({}, ["dogs", "cats"]),
        (lambda passage: passage.id == "cats", ["cats"]),
    ],
)
def test_filters(store, filter, expected):
    assert ids(store.search("cats", None, k=3, filter=filter)) == expected


def test_a_filter_comes_before_k(store):
    assert ids(store.search("cats", None, k=1, filter=lambda p: p.id != "dogs")) == ["cats"]


def test_a_filter_of_another_kind_is_refused(store):
    with pytest.raises(ConfigError, match="got str"):
        store.search("cats", None, k=1, filter="kind = animal")


def test_passages_that_cannot_be_indexed():
    with pytest.raises(ConfigError, match="no passages"):
        BM25Store([])
    with pytest.raises(ConfigError, match="'a'"):
        BM25Store([Passage("a", "x"), Passage("a", "y")])


def test_passages_without_any_word():
    store = BM25Store([Passage("a", "the"), Passage("b", "")])
    assert store.search("the cat", None, k=2) == []


def test_async(store):
    assert ids(asyncio.run(store.asearch("cats", None, k=1, filter={"legs": 4}))) == ["dogs"]


def test_nothing_is_printed(capfd):
    BM25Store(PASSAGES).search("cats", None, k=1)
    assert capfd.readouterr() == ("", "")


def test_an_index_is_kept_by_corpus(tmp_path, monkeypatch):
    first = cached_store(PASSAGES, tmp_path).search("cats", None, k=3)
    [kept] = tmp_path.iterdir()
    other = cached_store(PASSAGES[1:], tmp_path)
    assert ids(other.search("cats", None, k=3)) == ["dogs"]
    assert len(list(tmp_path.iterdir())) == 2

    monkeypatch.setattr(BM25Store, "__init__", None)  # from here on nothing is indexed
    again = cached_store(PASSAGES, tmp_path)
    assert again.search("cats", None, k=3) == first
    assert again.search("zebra", None, k=3) == []
    assert kept.is_dir()


@pytest.mark.parametrize("name", ["vocab.index.json", "data.csc.index.npy", "params.index.json"])
def test_a_damaged_index_is_made_anew(tmp_path, caplog, name):
    expected = cached_store(PASSAGES, tmp_path).search("cats", None, k=3)
    [kept] = tmp_path.iterdir()
    (kept / name).write_bytes(b"")
    assert cached_store(PASSAGES, tmp_path).search("cats", None, k=3) == expected
    assert "made anew" in caplog.text
    caplog.clear()
    assert cached_store(PASSAGES, tmp_path).search("cats", None, k=3) == expected
    assert caplog.text == ""


def damaged(data, how):
    if how == "flipped":
        middle = len(data) // 2
        return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    return data[:-1] if how == "cut" else data + b"\0"


@pytest.mark.parametrize("how", ["flipped", "cut", "longer"])
def test_one_wrong_byte_in_any_file_of_an_index_is_seen(tmp_path, caplog, how):
    expected = cached_store(PASSAGES, tmp_path).search("cats", None, k=3)
    [kept] = tmp_path.iterdir()
    names = sorted(path.name for path in kept.iterdir())
    assert len(names) > 4
    for name in names:
        whole = (kept / name).read_bytes()
        (kept / name).write_bytes(damaged(whole, how))
        caplog.clear()
        assert cached_store(PASSAGES, tmp_path).search("cats", None, k=3) == expected
        assert "made anew" in caplog.text, name
        assert (kept / name).read_bytes() == whole


def test_files_that_are_missing_or_too_many_are_seen(tmp_path, caplog):
    cached_store(PASSAGES, tmp_path)
    [kept] = tmp_path.iterdir()
    (kept / "vocab.index.json").unlink()
    (kept / "corpus.jsonl").write_text("{}")
    cached_store(PASSAGES, tmp_path)
    assert "damaged: corpus.jsonl, vocab.index.json" in caplog.text


def test_an_index_of_an_earlier_build_has_no_checksums_and_is_made_anew(tmp_path, caplog):
    expected = cached_store(PASSAGES, tmp_path).search("cats", None, k=3)
    [kept] = tmp_path.iterdir()
    (kept / "checksums.json").unlink()
    assert cached_store(PASSAGES, tmp_path).search("cats", None, k=3) == expected
    assert "no checksums" in caplog.text
    assert (kept / "checksums.json").is_file()


def test_nothing_is_left_behind_when_keeping_fails(tmp_path, monkeypatch, caplog):
    import bm25s

    def fail(*args, **kwargs):
        raise OSError("no space left")

    monkeypatch.setattr(bm25s.BM25, "save", fail)
    assert len(cached_store(PASSAGES, tmp_path)) == len(PASSAGES)  # it is used all the same
    assert "no space left" in caplog.text
    assert list(tmp_path.iterdir()) == []


ZOOS = [
    Passage("arks", "They breed rare animals and let them go.", {"title": "What zoos are for"}),
    Passage("bars", "Abolishing it would free the lion.", {"title": "A life in a cage"}),
    Passage("wind", "Turbines at sea were built in a year.", {"title": "Wind"}),
]


def test_titles_and_stems_are_found():
    store = BM25Store(ZOOS)
    assert ids(store.search("a zoo", None, k=3)) == ["arks"]
    assert ids(store.search("abolished cages", None, k=3)) == ["bars"]
    assert ids(store.search("breeding", None, k=3)) == ["arks"]


def test_a_plain_store_reads_whole_words_of_the_text_alone():
    store = BM25Store(ZOOS, plain=True)
    assert store.search("a zoo", None, k=3) == []
    assert store.search("abolished", None, k=3) == []
    assert ids(store.search("abolishing", None, k=3)) == ["bars"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("tubrines", ["wind"]),  # two letters exchanged
        ("turbnes", ["wind"]),  # one missing
        ("abolishd", ["bars"]),
        ("kind", []),  # an English word is never taken for another
        ("zo", []),  # too short to say what was meant
        ("urbines", []),  # the first letter must be there
        ("tubrnes", []),  # two letters wrong in a short word
    ],
)
def test_a_misspelt_word_finds_its_neighbour_in_the_index(query, found):
    assert ids(BM25Store(ZOOS).search(query, None, k=3)) == found


def test_of_equally_near_words_the_most_frequent_is_meant():
    from perspective_rag.local.stores import nearest_word

    vocabulary = {"tarbine": 0, "turbine": 1, "tirbine": 2}
    assert nearest_word("trbine", vocabulary, [1, 5, 2]) == ["turbine"]
    assert nearest_word("trbine", vocabulary, [2, 2, 2]) == ["tarbine"]


def test_a_kept_index_is_of_its_own_kind(tmp_path):
    kept = BM25Store.cached(ZOOS, tmp_path, fingerprint="f")
    plain = BM25Store.cached(ZOOS, tmp_path, fingerprint="f", plain=True)
    again = BM25Store.cached(ZOOS, tmp_path, fingerprint="f")
    for store in (kept, again):
        assert ids(store.search("zoo tubrines", None, k=3)) == ["wind", "arks"]
    assert plain.search("zoo", None, k=3) == []
