"""Embeddings in a folder: built once, resumed, and refused where they do not belong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from perspective_rag import Corpus
from perspective_rag.errors import ConfigError, CorpusError
from perspective_rag.testing import HashEmbedder
from perspective_rag.types import Passage
from perspective_rag_scale import build_dense_index, dense_index, open_dense_index


def corpus_of(count):
    # Lengths go up and down, so that sorting by length moves every row.
    return Corpus([Passage(str(i), f"passage{i} " + "word " * (i * 7 % 11)) for i in range(count)])


@pytest.fixture
def small_windows(monkeypatch):
    monkeypatch.setattr(dense_index, "WINDOW", 10)


def test_rows_are_in_the_order_of_the_passages(tmp_path, small_windows):
    corpus = corpus_of(37)
    rows = build_dense_index(corpus, HashEmbedder(), tmp_path, model_name="m", batch=4)
    expected = HashEmbedder().embed_passages([p.text for p in corpus.passages])
    assert isinstance(rows, np.memmap)
    assert rows.dtype == np.float16
    assert not rows.flags.writeable
    np.testing.assert_allclose(rows, expected, atol=1e-3)


@pytest.mark.parametrize("folder", [True, False])
def test_float32_keeps_every_digit(tmp_path, folder):
    corpus = corpus_of(5)
    target = tmp_path if folder else None
    rows = build_dense_index(corpus, HashEmbedder(), target, model_name="m", dtype="float32")
    expected = HashEmbedder().embed_passages([p.text for p in corpus.passages])
    np.testing.assert_array_equal(rows, expected.astype(np.float32))


def test_without_a_folder_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    build_dense_index(corpus_of(3).passages, HashEmbedder(), None, model_name="m")
    assert list(tmp_path.iterdir()) == []


def test_a_finished_index_is_only_opened(tmp_path):
    corpus = corpus_of(20)
    first = build_dense_index(corpus, HashEmbedder(), tmp_path, model_name="m")
    embedder = HashEmbedder()
    second = build_dense_index(corpus.passages, embedder, tmp_path, model_name="m")
    third = open_dense_index(tmp_path, fingerprint=corpus.fingerprint, model_name="m")
    assert embedder.embedded == []
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, third)


@pytest.mark.parametrize("batches", [0, 1, 3, 4, 8, 10])
def test_a_build_cut_off_goes_on_where_it_was(tmp_path, small_windows, interrupted_after, batches):
    corpus = corpus_of(37)
    broken = HashEmbedder(before=interrupted_after(batches))
    with pytest.raises(KeyboardInterrupt):
        build_dense_index(corpus, broken, tmp_path, model_name="m", batch=4)
    embedder = HashEmbedder()
    rows = build_dense_index(corpus, embedder, tmp_path, model_name="m", batch=4)

    times = Counter(broken.embedded + embedder.embedded)
    kept = len(broken.embedded) // 10 * 10  # three batches of a window are ten rows
    lost = {p.text for p in corpus.passages} - set(embedder.embedded)
    assert len(lost) == kept
    assert set(times) == {p.text for p in corpus.passages}
    assert sum(times.values()) == 37 + len(broken.embedded) - kept
    assert max(Counter(embedder.embedded).values()) == 1
    expected = HashEmbedder().embed_passages([p.text for p in corpus.passages])
    np.testing.assert_allclose(rows, expected, atol=1e-3)


SCRIPT = """
import sys, time
from perspective_rag_scale import build_dense_index, dense_index
from perspective_rag.testing import HashEmbedder
from perspective_rag.types import Passage
dense_index.WINDOW = 50
passages = [Passage(str(i), f"passage{i} " + "word " * (i * 7 % 11)) for i in range(1000)]
def progress(done, total):
    print(done, flush=True)
build_dense_index(passages, HashEmbedder(delay=0.01), sys.argv[1], model_name="m", batch=5,
                  on_progress=progress)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_process_loses_no_more_than_a_window(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    done = 0
    for line in process.stdout:
        done = int(line)
        if done >= 230:
            os.kill(process.pid, signal.SIGKILL)
            break
    process.wait(timeout=30)
    process.stdout.close()
    assert process.returncode == -signal.SIGKILL

    corpus = corpus_of(1000)
    with pytest.raises(CorpusError, match="of 1,000 rows"):
        open_dense_index(tmp_path, fingerprint=corpus.fingerprint, model_name="m")
    embedder = HashEmbedder()
    rows = build_dense_index(corpus, embedder, tmp_path, model_name="m")
    assert len(embedder.embedded) <= 1000 - 200
    assert len(embedder.embedded) % 50 == 0
    expected = HashEmbedder().embed_passages([p.text for p in corpus.passages])
    np.testing.assert_allclose(rows, expected, atol=1e-3)


@pytest.mark.skipif(sys.platform == "win32", reason="no lock there")
def test_a_second_builder_is_kept_out(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline()
        with pytest.raises(CorpusError, match="another process"):
            build_dense_index(corpus_of(1000), HashEmbedder(), tmp_path, model_name="m")
    finally:
        process.kill()
        process.wait(timeout=30)
        process.stdout.close()


def test_progress(tmp_path, small_windows):
    seen = []
    build_dense_index(
        corpus_of(23),
        HashEmbedder(),
        tmp_path,
        model_name="m",
        batch=8,
        on_progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(8, 23), (10, 23), (18, 23), (20, 23), (23, 23)]


def test_another_model_or_corpus_is_refused(tmp_path):
    corpus = corpus_of(5)
    build_dense_index(corpus, HashEmbedder(), tmp_path, model_name="m")
    with pytest.raises(CorpusError, match=r"another model \('m', not 'other'\).*delete"):
        build_dense_index(corpus, HashEmbedder(), tmp_path, model_name="other")
    with pytest.raises(CorpusError, match="another corpus"):
        build_dense_index(corpus_of(6), HashEmbedder(), tmp_path, model_name="m")
    with pytest.raises(CorpusError, match="another corpus"):
        open_dense_index(tmp_path, fingerprint="0" * 32, model_name="m")


def test_a_damaged_index_is_refused(tmp_path):
    corpus = corpus_of(5)
    build_dense_index(corpus, HashEmbedder(), tmp_path, model_name="m")
    data, manifest = tmp_path / "embeddings.npy", tmp_path / "manifest.json"
    whole = data.read_bytes()
    for damaged in (whole[:-10], b"", None):
        data.unlink()
        if damaged is not None:
            data.write_bytes(damaged)
        with pytest.raises(CorpusError, match=r"embeddings\.npy.*delete"):
            build_dense_index(corpus, HashEmbedder(), tmp_path, model_name="m")
    data.write_bytes(whole)
    values = json.loads(manifest.read_text())
    for text in (
        "{",
        "[]",
        "{}",
        json.dumps({**values, "rows": 6, "done": 6}),
        json.dumps({**values, "format": 9}),
    ):
        manifest.write_text(text)
        with pytest.raises(CorpusError, match="delete"):
            build_dense_index(corpus, HashEmbedder(), tmp_path, model_name="m")


def test_the_manifest_says_what_it_is(tmp_path):
    corpus = corpus_of(5)
    build_dense_index(corpus, HashEmbedder(8), tmp_path, model_name="m")
    values = json.loads((tmp_path / "manifest.json").read_text())
    assert values.pop("library_version")
    ((start, stop, _),) = values.pop("checks")
    assert (start, stop) == (0, 5)
    assert values == {
        "fingerprint": corpus.fingerprint,
        "model_name": "m",
        "rows": 5,
        "dimensions": 8,
        "dtype": "float16",
        "done": 5,
        "format": 2,
    }


@pytest.mark.parametrize(
    ("embed", "message"),
    [
        (lambda texts: np.full((len(texts), 2), np.nan), "NaN"),
        (lambda texts: np.ones((1, 2)), "1 rows for 5 texts"),
        (lambda texts: np.full((len(texts), 2), 1e6), "float32"),
    ],
)
def test_embeddings_that_cannot_be_used(tmp_path, embed, message):
    class Bad:
        embed_passages = embed_queries = staticmethod(embed)

    with pytest.raises(ConfigError, match=message):
        build_dense_index(corpus_of(5), Bad(), tmp_path, model_name="m")


def test_bad_arguments(tmp_path):
    with pytest.raises(CorpusError, match="no passages"):
        build_dense_index([], HashEmbedder(), tmp_path, model_name="m")
    with pytest.raises(ConfigError, match="batch"):
        build_dense_index(corpus_of(1), HashEmbedder(), tmp_path, model_name="m", batch=0)
    with pytest.raises(ConfigError, match="dtype"):
        build_dense_index(corpus_of(1), HashEmbedder(), tmp_path, model_name="m", dtype="int8")
    with pytest.raises(CorpusError, match="holds no index"):
        open_dense_index(tmp_path / "no", fingerprint="x", model_name="m")
