"""An embedder that remembers."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from perspective_rag.errors import ConfigError, CorpusError
from perspective_rag.local.callables import CallableEmbedder
from perspective_rag.local.corpus.embedding import CachedEmbedder, embedded
from perspective_rag.testing import HashEmbedder
from perspective_rag.types import Passage


class Counting:
    """Queries are embedded otherwise than passages and counted; one text fails."""

    def __init__(self):
        self.queries = []

    def embed_queries(self, texts):
        self.queries.extend(texts)
        return -rows_of(*texts)

    def embed_passages(self, texts):
        if "fail" in texts:
            raise ConnectionError("no model")
        return rows_of(*texts)


def rows_of(*texts):
    return HashEmbedder().embed_passages(texts)


@pytest.fixture(params=["memory", "disk"])
def path(request, tmp_path):
    return tmp_path / "deep" / "cache.sqlite" if request.param == "disk" else None


def test_each_text_is_embedded_once(path):
    inner = HashEmbedder()
    cached = CachedEmbedder(inner, path, "m")
    first = cached.embed_passages(["one", "two", "one"])
    second = cached.embed_passages(["three", "two"])
    assert inner.embedded == ["one", "two", "three"]
    np.testing.assert_allclose(first, rows_of("one", "two", "one"), atol=1e-6)
    np.testing.assert_allclose(second, rows_of("three", "two"), atol=1e-6)
    second[:] = 9.0  # a caller cannot change what is kept
    np.testing.assert_allclose(cached.embed_passages(["two"]), rows_of("two"), atol=1e-6)
    assert cached.embed_passages([]).shape == (0, 64)


def test_the_file_outlives_the_process_and_keeps_every_bit(tmp_path):
    path = tmp_path / "c.sqlite"
    with CachedEmbedder(HashEmbedder(), path, "m") as cached:
        first = cached.embed_passages(["one", "two"])
    inner = HashEmbedder()
    again = CachedEmbedder(inner, path, "m").embed_passages(["two", "one", "three"])
    assert inner.embedded == ["three"]
    np.testing.assert_array_equal(again[:2], first[::-1])


def test_queries_are_kept_apart_and_in_memory_only(path):
    inner = Counting()
    cached = CachedEmbedder(inner, path, "m")
    passage = cached.embed_passages(["one"])
    query = cached.embed_queries(["one"])
    np.testing.assert_array_equal(query, -passage)
    np.testing.assert_array_equal(cached.embed_queries(["one"]), query)
    assert inner.queries == ["one"]
    if path is not None:
        CachedEmbedder(inner, path, "m").embed_queries(["one"])
        assert inner.queries == ["one", "one"]


def test_what_was_used_longest_ago_is_forgotten_first():
    inner = Counting()
    cached = CachedEmbedder(inner, max_queries=2)
    for text in ("a", "b", "a", "c", "a", "b"):
        cached.embed_queries([text])
    assert inner.queries == ["a", "b", "c", "b"]
    assert len(cached.embed_queries(["a", "b", "c"])) == 3


def test_a_failure_is_passed_on_and_not_kept(path):
    cached = CachedEmbedder(Counting(), path, "m")
    with pytest.raises(ConnectionError):
        cached.embed_passages(["ok", "fail"])
    np.testing.assert_allclose(cached.embed_passages(["ok"]), rows_of("ok"), atol=1e-6)
    with pytest.raises(ConnectionError):
        cached.embed_passages(["fail"])


@pytest.mark.parametrize("rows", [np.full((1, 3), np.nan), np.zeros((2, 3)), "text"])
def test_unusable_rows_are_not_kept(path, rows):
    class Bad:
        result = rows

        def embed_passages(self, texts):
            return self.result

        embed_queries = embed_passages

    inner = Bad()
    cached = CachedEmbedder(inner, path, "m")
    with pytest.raises(ConfigError):
        cached.embed_passages(["one"])
    inner.result = np.ones((1, 3))
    np.testing.assert_array_equal(cached.embed_passages(["one"]), np.ones((1, 3)))


def test_a_file_of_something_else_is_refused(tmp_path):
    CachedEmbedder(HashEmbedder(), tmp_path / "c", "m").close()
    with pytest.raises(CorpusError, match="'m', not 'other'"):
        CachedEmbedder(HashEmbedder(), tmp_path / "c", "other")
    with pytest.raises(ConfigError, match="model_name"):
        CachedEmbedder(HashEmbedder(), tmp_path / "c")
    CachedEmbedder(HashEmbedder(8), tmp_path / "c", "m").embed_passages(["one"])
    with pytest.raises(CorpusError, match="dimensions"):
        CachedEmbedder(HashEmbedder(16), tmp_path / "c", "m").embed_passages(["one", "two"])
    (tmp_path / "c").write_bytes(b"not a database, but long enough to look at" * 50)
    with pytest.raises(CorpusError, match="not a cache"):
        CachedEmbedder(HashEmbedder(), tmp_path / "c", "m")


def test_a_file_that_fails_later_is_logged_and_done_without(tmp_path, caplog):
    cached = CachedEmbedder(HashEmbedder(), tmp_path / "c", "m")
    with sqlite3.connect(tmp_path / "c") as other:
        other.execute("DROP TABLE embedded_texts")
    np.testing.assert_allclose(cached.embed_passages(["one"]), rows_of("one"), atol=1e-6)
    assert "could not be read" in caplog.text
    assert "not kept" in caplog.text


def test_threads_share_a_cache(path):
    inner = HashEmbedder(delay=0.001)
    cached = CachedEmbedder(inner, path, "m", max_passages=10)
    start = threading.Barrier(8)

    def work(seed):
        start.wait()
        rng = np.random.default_rng(seed)
        for _ in range(20):
            texts = [f"text{i}" for i in rng.integers(0, 40, size=5)]
            np.testing.assert_allclose(cached.embed_passages(texts), rows_of(*texts), atol=1e-6)

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(work, seed) for seed in range(8)]:
            future.result(timeout=60)
    if path is not None:  # without a file, what fell out of memory is embedded again
        assert len(inner.embedded) < 40 * 8


def test_a_text_that_another_one_kept_meanwhile(tmp_path, caplog):
    other = CachedEmbedder(HashEmbedder(), tmp_path / "c", "m")

    class Slow(HashEmbedder):
        def embed_passages(self, texts):
            other.embed_passages(texts[:1])
            return HashEmbedder.embed_passages(self, texts)

    CachedEmbedder(Slow(), tmp_path / "c", "m").embed_passages(["one", "two"])
    inner = HashEmbedder()
    CachedEmbedder(inner, tmp_path / "c", "m").embed_passages(["one", "two"])
    assert inner.embedded == []
    assert caplog.text == ""


WRITER = """
import sys
from perspective_rag.local.corpus import CachedEmbedder
from perspective_rag.testing import HashEmbedder
cached = CachedEmbedder(HashEmbedder(), sys.argv[1], "m")
for i in range(100):
    cached.embed_passages([f"{sys.argv[2]}{i}", f"shared{i}"])
"""


def test_processes_share_a_file(tmp_path):
    path = tmp_path / "c.sqlite"
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stderr=subprocess.PIPE)
        for name in ("left", "right")
    ]
    for writer in writers:
        assert writer.communicate(timeout=60)[1] == b""
        assert writer.returncode == 0
    inner = HashEmbedder()
    texts = [f"{name}{i}" for name in ("left", "right", "shared") for i in range(100)]
    CachedEmbedder(inner, path, "m").embed_passages(texts)
    assert inner.embedded == []


def test_passages_are_embedded_with_their_titles_and_their_like():
    seen, told = [], []

    def embed(texts):
        seen.append(list(texts))
        return [[len(text), 1.0] for text in texts]

    passages = [Passage("a", "long text", {"title": "T"}), Passage("b", "b"), Passage("c", "cc")]
    rows = embedded(passages, CallableEmbedder(embed), batch=2, on_batch=told.append)
    assert seen == [["b", "cc"], [passages[0].titled]]
    assert rows[:, 0].tolist() == [len(passages[0].titled), 1, 2]
    assert told == [2, 3]
    with pytest.raises(ConfigError, match="3 are expected"):
        embedded(passages, CallableEmbedder(embed), dimensions=3)
    with pytest.raises(CorpusError, match="no passages"):
        embedded([], CallableEmbedder(embed))
