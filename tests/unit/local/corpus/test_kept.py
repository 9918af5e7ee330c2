"""A corpus that was read once and is opened from a cache."""

from __future__ import annotations

import json
import os
import pickle
import time

import pytest

from perspective_rag import Corpus, CorpusError, local_pipeline
from perspective_rag.local.corpus import kept, loading
from perspective_rag.storage import folders as folder_in_work
from perspective_rag.storage import folders as sealed_folder
from perspective_rag.storage.stored_passages import StoredPassages
from perspective_rag.testing import HashEmbedder, RuleJudge
from perspective_rag.types import Passage

OLD = time.time() - 1000


@pytest.fixture(autouse=True)
def every_size(monkeypatch):
    monkeypatch.setattr(kept, "WORTH_KEEPING", 1)


def write(path, count=50, word="zoos", at=OLD):
    rows = [
        {"id": f"n{i}", "title": f"T{i}", "text": f"{word} number {i} help é", "year": i}
        for i in range(count)
    ]
    path.write_text("".join(json.dumps(each) + "\n" for each in rows) + "{broken\n")
    os.utime(path, (at, at))
    return path


@pytest.fixture
def settled(monkeypatch):
    """As if files had been written long ago: of the dates that tests cannot set, too."""
    monkeypatch.setattr(kept, "_SETTLED_NS", -(10**12))


@pytest.fixture
def unread(monkeypatch):
    def refuse():
        def fail(*args, **kwargs):
            pytest.fail("it is read again")

        monkeypatch.setattr(kept, "read_corpus", fail)
        monkeypatch.setattr(loading, "read_corpus", fail)

    return refuse


def load(path, cache, **how):
    told = []
    corpus = Corpus.load(path, cache=cache, on_problem=told.append, **how)
    assert told == corpus.problems
    return corpus


def test_what_is_kept_is_what_was_read(tmp_path, settled, unread):
    path = write(tmp_path / "a.jsonl")
    plain = Corpus.load(path)
    first = load(path, tmp_path / "cache")
    unread()
    second = load(path, tmp_path / "cache")
    for corpus in (first, second):
        assert list(corpus.passages) == plain.passages
        assert corpus.fingerprint == plain.fingerprint
        assert corpus.problems == plain.problems
        assert len(corpus) == 50
        assert corpus.passages[-1] == plain.passages[-1]
        assert corpus.passages[3:5] == plain.passages[3:5]
        assert plain.passages[7] in corpus.passages
        with pytest.raises(IndexError):
            corpus.passages[50]
    again = pickle.loads(pickle.dumps(second))
    assert list(again.passages) == plain.passages


def test_a_file_that_changed_is_read_again(tmp_path, settled):
    path, cache = write(tmp_path / "a.jsonl"), tmp_path / "cache"
    load(path, cache)
    write(path, word="cats")
    assert load(path, cache).passages[0].text.startswith("cats")
    assert len(list(cache.iterdir())) == 1  # of the file as it was nothing is left
    other = load(path, cache, columns={"text": "title"})
    assert other.passages[0].text == "T0"


def test_a_folder_in_which_a_file_came_or_went_is_read_again(tmp_path, settled):
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "a.jsonl")
    assert len(load(tmp_path / "in", tmp_path / "cache")) == 50
    write(tmp_path / "in" / "b.jsonl", count=2, word="cats")
    assert len(load(tmp_path / "in", tmp_path / "cache")) == 52
    (tmp_path / "in" / "a.jsonl").unlink()
    corpus = load(tmp_path / "in", tmp_path / "cache")
    assert len(corpus) == 2
    assert [each.path.name for each in corpus.problems] == ["b.jsonl"]


def test_a_file_that_was_just_written_is_read_again(tmp_path, monkeypatch):
    path, cache = write(tmp_path / "a.jsonl"), tmp_path / "cache"
    load(path, cache)
    reads = []
    real = kept.read_corpus
    monkeypatch.setattr(kept, "read_corpus", lambda *a, **k: reads.append(a) or real(*a, **k))
    load(path, cache)
    assert len(reads) == 1


def test_a_small_corpus_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "WORTH_KEEPING", 1_000_000)
    assert isinstance(load(write(tmp_path / "a.jsonl"), tmp_path / "cache").passages, list)
    assert not (tmp_path / "cache").exists()


def flipped(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def test_one_wrong_byte_in_any_file_is_seen(tmp_path, settled, caplog):
    path, cache = write(tmp_path / "a.jsonl"), tmp_path / "cache"
    plain = load(path, cache).passages.in_memory()
    [folder] = cache.iterdir()
    names = sorted(each.name for each in folder.iterdir())
    assert len(names) == 6
    for name in names:
        (folder / name).write_bytes(flipped((folder / name).read_bytes()))
        caplog.clear()
        assert list(load(path, cache).passages) == plain
        assert "made anew" in caplog.text, name


def test_bytes_that_changed_under_the_same_date_are_seen_on_request(tmp_path, settled, caplog):
    path, cache = write(tmp_path / "a.jsonl"), tmp_path / "cache"
    load(path, cache)
    [folder] = cache.iterdir()
    lines = folder / "passages.jsonl"
    dates = lines.stat()
    lines.write_bytes(lines.read_bytes().replace(b"zoos number 3 ", b"cats number 3 "))
    os.utime(lines, ns=(dates.st_atime_ns, dates.st_mtime_ns))
    assert load(path, cache).passages[3].text.startswith("cats")
    assert load(path, cache, whole=True).passages[3].text.startswith("zoos")
    assert "damaged: passages.jsonl" in caplog.text


def test_a_disk_that_cannot_be_written_is_done_without(tmp_path, settled, monkeypatch, caplog):
    path, plain = write(tmp_path / "a.jsonl"), Corpus.load(write(tmp_path / "a.jsonl"))

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(kept, "seal", full)
    corpus = load(path, tmp_path / "cache")
    assert corpus.passages == plain.passages
    assert "the corpus is not kept: [Errno 28]" in caplog.text
    assert list((tmp_path / "cache").iterdir()) == []


def test_what_a_killed_process_left_is_removed(tmp_path, settled, monkeypatch):
    path, cache = write(tmp_path / "a.jsonl"), tmp_path / "cache"
    load(path, cache)
    [folder] = cache.iterdir()
    left = folder.with_name(f"{folder.name}.new-0123")
    left.mkdir()
    left.with_name(left.name + folder_in_work._LOCK).touch()
    load(path, cache)
    assert [each.name for each in cache.iterdir()] == [folder.name]


def test_a_corpus_without_passages_is_refused_and_not_kept(tmp_path, settled):
    (tmp_path / "a.jsonl").write_text("{broken\n")
    with pytest.raises(CorpusError, match="holds no passages"):
        load(tmp_path / "a.jsonl", tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
    with pytest.raises(CorpusError, match="does not exist"):
        load(tmp_path / "absent", tmp_path / "cache")


def test_passages_are_found_by_id(tmp_path, settled):
    passages = load(write(tmp_path / "a.jsonl"), tmp_path / "cache").passages
    assert isinstance(passages, StoredPassages)
    assert [passages.position(each) for each in ("n0", "n49", "absent")] == [0, 49, None]
    assert passages.rows(["n7", "absent", "n0"]).tolist() == [7, -1, 0]


@pytest.mark.parametrize("dense", [False, True])
def test_a_question_finds_the_same_in_what_was_kept(tmp_path, settled, dense):
    path, cache = write(tmp_path / "a.jsonl"), tmp_path / "cache"
    judge = RuleJudge(lambda passage, perspective: 0.5)

    def found(corpus, **kept):
        pipeline = local_pipeline(
            corpus, dense=dense, embedder=HashEmbedder(16), judge=judge, k=5, **kept
        )
        store = pipeline.store
        for filter in (None, {"year": 7}, lambda passage: passage.metadata["year"] % 9 == 4):
            query = HashEmbedder(16).embed_queries(["zoos number 7"])[0] if dense else None
            hits = store.search("zoos number 7", query, k=5, filter=filter)
            yield [(hit.passage, hit.score) for hit in hits]

    plain = list(found(Corpus.load(path)))
    for _ in range(3):
        assert list(found(load(path, cache), cache=cache)) == plain


def test_dates_tell_whether_a_sealed_file_was_written(tmp_path):
    (tmp_path / "a").write_text("one")
    sealed_folder.seal(tmp_path)
    sealed_folder.check_sealed(tmp_path)
    before = (tmp_path / "a").stat().st_mtime_ns
    (tmp_path / "a").write_text("one")  # the same again, as a copy is
    assert (tmp_path / "a").stat().st_mtime_ns != before
    sealed_folder.check_sealed(tmp_path)
    assert (tmp_path / "a").stat().st_mtime_ns == before
    (tmp_path / "a").write_text("two")
    with pytest.raises(ValueError, match="damaged: a"):
        sealed_folder.check_sealed(tmp_path)


def test_a_passage_that_cannot_be_read_says_what_to_do(tmp_path, settled):
    passages = load(write(tmp_path / "a.jsonl"), tmp_path / "cache").passages
    lines = passages.folder / "passages.jsonl"
    lines.write_bytes(b"x" * lines.stat().st_size)
    with pytest.raises(CorpusError, match=r"passage 0 .* delete that folder"):
        StoredPassages(passages.folder)[0]
    (passages.folder / "offsets.npy").unlink()
    with pytest.raises(CorpusError, match="holds no passages"):
        StoredPassages(passages.folder)
    assert Passage("a", "b") not in [passages.position("a")]
