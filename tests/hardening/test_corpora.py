"""Corpora and indexes that are too large, no files at all, or damaged."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from perspective_rag import Corpus, CorpusError
from perspective_rag.local.corpus import CachedEmbedder, records
from perspective_rag.local.corpus import readers as reading
from perspective_rag.storage.files import replace_file
from perspective_rag.storage.folders import folder_in_work
from perspective_rag.storage.sqlite_cache import SqliteCache
from perspective_rag.testing import HashEmbedder
from perspective_rag.types import Passage
from perspective_rag_scale import build_dense_index, open_dense_index


def loaded(path):
    corpus = Corpus.load(path)
    return [p.text for p in corpus.passages], [str(each) for each in corpus.problems]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes there")
def test_what_is_no_regular_file_is_left_out_and_never_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe.jsonl")
    os.mkfifo(tmp_path / "pipe.txt")
    (tmp_path / "good.txt").write_text("Zoos help.")
    texts, problems = loaded(tmp_path)
    assert texts == ["Zoos help."]
    assert len(problems) == 2
    assert all("no regular file" in each for each in problems)
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name in ("pipe.jsonl", "zero.csv"):
        with pytest.raises(CorpusError, match="no regular file"):
            loaded(tmp_path / name)


def test_a_document_that_is_too_large_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST_DOCUMENT", 1000)
    (tmp_path / "large.txt").write_text("word " * 400)
    (tmp_path / "good.txt").write_text("Zoos help.")
    texts, (problem,) = loaded(tmp_path)
    assert texts == ["Zoos help."]
    assert "larger than 1,000 bytes" in problem


@pytest.mark.parametrize("ending", ["a\n", "", "a\n" + json.dumps({"text": "Last one."}) + "\n"])
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_a_line_that_is_too_long_is_left_out_without_being_held(
    tmp_path, monkeypatch, name, ending
):
    monkeypatch.setattr(records, "LONGEST_LINE", 1000)
    first = json.dumps({"text": "Zoos help."}) + "\n"
    data = (first + "x" * 20_000 + ending).encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    texts, problems = loaded(tmp_path / name)
    assert texts == ["Zoos help."] + (["Last one."] if "Last" in ending else [])
    assert "2: left out: more than 1,000 characters" in problems[0]
    assert len(problems) == 1


def test_a_line_that_does_not_end_ends_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "LONGEST_LINE", 100)
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "Zoos help."}) + "\n" + "x" * 10_000 + "\n{}\n")
    texts, problems = loaded(path)
    assert texts == ["Zoos help."]
    assert "does not end" in problems[-1]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="nothing says what was held")
def test_a_huge_line_of_a_packed_file_takes_little_memory(tmp_path):
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(json.dumps({"text": "Zoos help."}).encode() + b"\n")
        for _ in range(300):
            stream.write(b"x" * (1 << 20))
    child = (
        "import pathlib, re, sys; from perspective_rag import Corpus\n"
        "corpus = Corpus.load(sys.argv[1])\n"
        "status = pathlib.Path('/proc/self/status').read_text()\n"
        "print(len(corpus), int(re.search(r'VmHWM:\\s+(\\d+)', status)[1]) // 1024)"
    )
    done = subprocess.run([sys.executable, "-c", child, str(path)], capture_output=True, text=True)
    count, megabytes = map(int, done.stdout.split())
    assert count == 1
    assert megabytes < 500


def test_ids_that_repeat_are_told_apart_in_linear_time(tmp_path):
    def seconds(count):
        path = tmp_path / f"{count}.jsonl"
        path.write_text('{"id": "same", "text": "Zoos help."}\n' * count)
        begun = time.process_time()
        corpus = Corpus.load(path)
        taken = time.process_time() - begun
        assert len({p.id for p in corpus.passages}) == count
        assert [p.id for p in corpus.passages[:3]] == ["same", "same~2", "same~3"]
        return taken

    seconds(100)
    # Sixteen times as many: 16 where it is linear, 256 where every id is held against all.
    assert seconds(64_000) < 64 * max(seconds(4_000), 0.02)


def test_an_id_that_looks_like_a_repeated_one_is_told_apart_too(tmp_path):
    path = tmp_path / "a.jsonl"
    ids = ["a", "a~2", "a", "a", "a~2", "a~3"]
    path.write_text("".join(json.dumps({"id": i, "text": "Zoos help."}) + "\n" for i in ids))
    found = [p.id for p in Corpus.load(path).passages]
    assert len(set(found)) == len(ids)
    assert found[:3] == ["a", "a~2", "a~3"]


def test_a_csv_whose_first_line_is_long_is_read(tmp_path):
    (tmp_path / "a.csv").write_text(f'id,text,"{"note " * 40_000}"\n1,Zoos help.,x\n')
    (tmp_path / "b.csv").write_text('text\n"' + "Zoos help. " * 30_000 + '"\n')
    (tmp_path / "c.txt").write_text("Close them.")
    texts, problems = loaded(tmp_path)
    assert (texts[0], texts[-1], problems) == ("Zoos help.", "Close them.", [])


def corpus_of(count):
    return Corpus([Passage(str(i), f"zoos number {i} help") for i in range(count)])


def test_a_dense_index_that_was_damaged_is_refused(tmp_path):
    corpus = corpus_of(50)
    build_dense_index(corpus, HashEmbedder(8), tmp_path, model_name="m")
    data = tmp_path / "embeddings.npy"
    good = data.read_bytes()
    for place, bytes_ in (
        (len(good) - 5, b"\x01"),
        (len(good) // 2, b"\xff\x7e\x00\x7e"),
        (140, b"9"),
    ):
        data.write_bytes(good[:place] + bytes_ + good[place + len(bytes_) :])
        with pytest.raises(CorpusError, match=r"damaged from row 0 on.*delete"):
            open_dense_index(tmp_path, fingerprint=corpus.fingerprint, model_name="m")
    data.write_bytes(good)
    open_dense_index(tmp_path, fingerprint=corpus.fingerprint, model_name="m")


def test_a_dense_index_of_an_earlier_build_is_read_unless_it_holds_nan(tmp_path):
    corpus = corpus_of(5)
    rows = build_dense_index(corpus, HashEmbedder(8), tmp_path, model_name="m")
    manifest = tmp_path / "manifest.json"
    values = json.loads(manifest.read_text())
    del values["checks"]
    manifest.write_text(json.dumps(values))
    held = np.array(rows)
    again = open_dense_index(tmp_path, fingerprint=corpus.fingerprint, model_name="m")
    np.testing.assert_array_equal(held, again)
    held[3, 2] = np.nan
    np.save(tmp_path / "embeddings.npy", held)
    with pytest.raises(CorpusError, match="damaged"):
        open_dense_index(tmp_path, fingerprint=corpus.fingerprint, model_name="m")


def test_a_finished_dense_index_is_used_without_writing(tmp_path, monkeypatch):
    corpus = corpus_of(5)
    build_dense_index(corpus, HashEmbedder(8), tmp_path, model_name="m")
    (tmp_path / "lock").unlink()
    build_dense_index(corpus, HashEmbedder(8), tmp_path, model_name="m")
    assert not (tmp_path / "lock").exists()


def test_embeddings_that_were_damaged_in_the_cache_are_made_anew(tmp_path):
    path = tmp_path / "e.sqlite"
    with CachedEmbedder(HashEmbedder(8), path, "m") as cached:
        good = cached.embed_passages(["zoos help"])
    file = SqliteCache(path, "embedded_texts")
    for bad in (np.full(8, np.nan, "<f4").tobytes(), b"", b"abc"):
        with file._file:
            change = "UPDATE embedded_texts SET value = ? WHERE key != ?"
            file._file.execute(change, [bad, b"model"])
        with CachedEmbedder(HashEmbedder(8), path, "m") as cached:
            np.testing.assert_array_equal(cached.embed_passages(["zoos help"]), good)


def test_a_folder_that_a_killed_process_left_is_removed_and_one_in_work_is_not(tmp_path):
    target = tmp_path / "index"
    child = (
        "import os, sys, pathlib; from perspective_rag.storage.folders import folder_in_work\n"
        "with folder_in_work(pathlib.Path(sys.argv[1])) as new:\n"
        "    (new / 'half').write_text('x'); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", child, str(target)])
    left = list(tmp_path.iterdir())
    assert len(left) == 2  # the folder and its lock
    with folder_in_work(target) as one:
        assert not any(each.exists() for each in left)
        with folder_in_work(target) as other:
            (other / "file").write_text("whole")
        assert one.is_dir()
    assert [each.name for each in tmp_path.iterdir()] == ["index"]
    assert [each.name for each in target.iterdir()] == ["file"]


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "deep" / "audit.json"
    replace_file(path, "old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_file(path, "new" * 1000)
    assert path.read_text() == "old"
    assert [each.name for each in path.parent.iterdir()] == ["audit.json"]
