"""A corpus that was read once and is opened from a cache."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from perspective_rag import Corpus, CorpusError, local_pipeline
from perspective_rag.local.corpus import loading
from perspective_rag.local.stores import NumpyStore
from perspective_rag.storage import folders
from perspective_rag.storage.stored_passages import StoredPassages
from perspective_rag.testing import HashEmbedder, RuleJudge


@pytest.fixture(autouse=True)
def every_size_and_age(monkeypatch):
    monkeypatch.setattr(loading, "WORTH_KEEPING", 1)
    monkeypatch.setattr(loading, "_SETTLED_NS", -(10**12))


@pytest.fixture
def reads(monkeypatch):
    """The paths that are really read."""
    found, real = [], loading.read_corpus
    monkeypatch.setattr(loading, "read_corpus", lambda p, **how: found.append(p) or real(p, **how))
    return found


def write(path, count=50, word="zoos"):
    rows = [
        {"id": f"n{i}", "title": f"T{i}", "text": f"{word} number {i} help é", "year": i}
        for i in range(count)
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in rows) + "{broken\n")
    return path


def load(path, cache, **how):
    told = []
    corpus = Corpus.load(path, cache=cache, on_problem=told.append, **how)
    assert told == corpus.problems
    return corpus


def test_what_is_kept_is_what_was_read(tmp_path, reads):
    path = write(tmp_path / "a.jsonl")
    plain = Corpus.load(path)
    for corpus in (load(path, tmp_path / "cache"), load(path, tmp_path / "cache")):
        assert list(corpus.passages) == plain.passages
        assert (corpus.fingerprint, corpus.problems) == (plain.fingerprint, plain.problems)
    assert len(reads) == 2  # the plain one, and the first
    assert isinstance(corpus.passages, StoredPassages)
    assert (len(corpus), corpus.passages[-1]) == (50, plain.passages[-1])
    assert corpus.passages[3:5] == plain.passages[3:5]
    with pytest.raises(IndexError):
        corpus.passages[50]
    assert list(pickle.loads(pickle.dumps(corpus)).passages) == plain.passages


def test_a_pickled_corpus_is_not_opened_as_another(tmp_path):
    path, cache = write(tmp_path / "a.jsonl"), tmp_path / "cache"
    load(path, cache)
    pickled = pickle.dumps(load(path, cache))
    path.touch()
    load(path, cache)  # kept anew, the same passages
    assert pickle.loads(pickled).passages[0].text.startswith("zoos")
    load(write(path, word="cats"), cache)
    with pytest.raises(CorpusError, match="holds other passages by now"):
        pickle.loads(pickled)


def test_a_store_of_vectors_reads_no_passage_when_it_is_made(tmp_path, monkeypatch):
    path, cache = write(tmp_path / "a.jsonl"), tmp_path / "cache"
    load(path, cache)
    passages = load(path, cache).passages
    with monkeypatch.context() as patched:
        patched.setattr(StoredPassages, "__getitem__", None)
        store = NumpyStore(passages, np.eye(50))
    np.testing.assert_array_equal(store.embeddings_of(passages[3:5]), np.eye(50)[3:5])


def test_files_that_changed_came_or_went_are_read_again(tmp_path):
    folder, cache = tmp_path / "in", tmp_path / "cache"
    folder.mkdir()
    write(folder / "a.jsonl")
    assert len(load(folder, cache)) == 50
    write(folder / "a.jsonl", word="cats")
    assert load(folder, cache).passages[0].text.startswith("cats")
    write(folder / "b.jsonl", count=2)
    assert len(load(folder, cache)) == 52
    (folder / "a.jsonl").unlink()
    assert [each.path.name for each in load(folder, cache).problems] == ["b.jsonl"]
    assert len(list(cache.iterdir())) == 1  # of the folder as it was nothing is left
    assert load(folder, cache, columns={"text": "title"}).passages[0].text == "T0"


def test_what_is_small_or_was_just_written_is_not_kept(tmp_path, monkeypatch):
    path, cache = write(tmp_path / "a.jsonl"), tmp_path / "cache"
    monkeypatch.setattr(loading, "_SETTLED_NS", 10**12)
    load(path, cache)
    monkeypatch.setattr(loading, "_SETTLED_NS", -(10**12))
    monkeypatch.setattr(loading, "WORTH_KEEPING", 1_000_000)
    load(path, cache)
    assert not cache.exists()


def test_one_wrong_byte_in_any_file_is_seen(tmp_path, caplog):
    path, cache = write(tmp_path / "a.jsonl"), tmp_path / "cache"
    plain = load(path, cache).passages
    [folder] = cache.iterdir()
    names = sorted(each.name for each in folder.iterdir())
    assert len(names) == 4
    for name in names:
        whole = (folder / name).read_bytes()
        middle = len(whole) // 2
        flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
        (folder / name).write_bytes(flipped)
        caplog.clear()
        assert list(load(path, cache).passages) == plain
        assert "made anew" in caplog.text, name


def test_a_disk_that_cannot_be_written_is_done_without(tmp_path, monkeypatch, caplog):
    path = write(tmp_path / "a.jsonl")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folders.os, "fsync", full)
    assert load(path, tmp_path / "cache").passages == Corpus.load(path).passages
    assert "is not kept: [Errno 28]" in caplog.text
    assert list((tmp_path / "cache").iterdir()) == []


def test_what_a_killed_process_left_is_removed(tmp_path):
    path, cache = write(tmp_path / "a.jsonl"), tmp_path / "cache"
    load(path, cache)
    [folder] = cache.iterdir()
    left = folder.with_name(f"{folder.name}.new-0123")
    left.mkdir()
    left.with_name(left.name + folders._LOCK).touch()
    load(path, cache)
    assert [each.name for each in cache.iterdir()] == [folder.name]


def test_a_corpus_without_passages_is_refused_and_not_kept(tmp_path):
    (tmp_path / "a.jsonl").write_text("{broken\n")
    with pytest.raises(CorpusError, match="holds no passages"):
        load(tmp_path / "a.jsonl", tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("dense", [False, True])
def test_a_question_finds_the_same_in_what_was_kept(tmp_path, dense):
    path, cache = write(tmp_path / "a.jsonl"), tmp_path / "cache"
    judge, embedder = RuleJudge(lambda passage, perspective: 0.5), HashEmbedder(16)
    query = embedder.embed_queries(["zoos number 7"])[0] if dense else None

    def found(corpus, **kept):
        given = {"embedder": embedder, "judge": judge, "k": 5, **kept}
        store = local_pipeline(corpus, dense=dense, **given).store
        filters = (None, {"year": 7}, lambda passage: passage.metadata["year"] % 9 == 4)
        return [store.search("zoos number 7", query, k=5, filter=each) for each in filters]

    plain = found(Corpus.load(path))
    for _ in range(3):
        assert found(load(path, cache), cache=cache) == plain
    assert len(embedder.embedded) == (101 if dense else 0)  # once plainly, once for the cache


def test_a_passage_that_cannot_be_read_says_what_to_do(tmp_path):
    path, cache = write(tmp_path / "a.jsonl"), tmp_path / "cache"
    load(path, cache)
    folder = load(path, cache).passages.folder
    (folder / "passages.jsonl").write_bytes(b"x" * (folder / "passages.jsonl").stat().st_size)
    with pytest.raises(CorpusError, match=r"passage 0 .* delete that folder"):
        StoredPassages(folder)[0]
    (folder / "offsets.npy").unlink()
    with pytest.raises(CorpusError, match="holds no passages"):
        StoredPassages(folder)
