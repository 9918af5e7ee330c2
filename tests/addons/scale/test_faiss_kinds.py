"""Kinds of FAISS index: which is taken, what each finds, files that are mapped."""

from __future__ import annotations

import numpy as np
import pytest

from perspective_rag.errors import ConfigError, CorpusError
from perspective_rag_scale import faiss_kinds
from perspective_rag_scale.faiss_kinds import (
    build_faiss,
    cells_for,
    choose_kind,
    free_memory,
    read_faiss,
    write_faiss,
)

GB = 1_000_000_000


@pytest.mark.parametrize(
    ("count", "memory", "kind"),
    [
        (1, GB, "flat"),
        (100_000, GB, "flat"),
        (100_000, GB // 10, "ivfpq"),
        (100_001, GB, "hnsw"),
        (1_000_000, 4 * GB, "hnsw"),
        (1_000_000, 3 * GB, "ivfpq"),
        (5_000_001, 1_000 * GB, "ivfpq"),
    ],
)
def test_the_kind_by_size_and_memory(count, memory, kind):
    choice = choose_kind(count, 384, memory=memory)
    assert choice.kind == kind
    assert f"{count:,}" in choice.reason or "GB" in choice.reason


def test_what_cannot_be_chosen_for():
    for wrong in ({"count": 0}, {"dimensions": 0}, {"memory": 0}):
        with pytest.raises(ConfigError):
            choose_kind(**{"count": 1, "dimensions": 4, "memory": GB, **wrong})
    assert free_memory() > 0


def clustered(count=600, dimensions=16):
    rng = np.random.default_rng(7)
    centres = rng.standard_normal((20, dimensions))
    noise = 0.2 * rng.standard_normal((count, dimensions))
    return (centres[np.arange(count) % 20] + noise).astype(np.float16)


@pytest.mark.parametrize(("kind", "least"), [("flat", 1.0), ("hnsw", 0.95), ("ivfpq", 0.3)])
def test_each_kind_finds_what_brute_force_finds(kind, least, tmp_path):
    rows = clustered()
    write_faiss(build_faiss(kind, rows, batch=100), tmp_path / "i.faiss")
    assert [each.name for each in tmp_path.iterdir()] == ["i.faiss"]
    index = read_faiss(tmp_path / "i.faiss")
    unit = rows.astype(np.float32)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    exact = np.argsort(-(unit[:40] @ unit.T), axis=1)[:, :10]
    _, found = index.search(unit[:40], 10)
    shared = [len(set(a) & set(b)) / 10 for a, b in zip(exact, found, strict=True)]
    assert np.mean(shared) >= least
    assert index.ntotal == 600


@pytest.mark.parametrize("count", [1, 2, 7, 300])
def test_a_compressed_index_of_few_rows(count):
    rows = clustered(count, 12)
    index = build_faiss("ivfpq", rows)
    _, found = index.search(rows[:1].astype(np.float32), 1)
    assert found[0][0] >= 0


def test_the_same_rows_give_the_same_index(tmp_path):
    for kind in ("flat", "ivfpq"):
        for name in "ab":
            write_faiss(build_faiss(kind, clustered()), tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_cells():
    assert cells_for(1) == 1
    assert cells_for(600) == 15
    assert cells_for(1_000_000) == 4_000
    assert cells_for(21_000_000) == 16_384


def test_what_cannot_be_indexed():
    with pytest.raises(ConfigError, match="kind must be"):
        build_faiss("tree", clustered())
    with pytest.raises(ConfigError, match=r"\(n, d\)"):
        build_faiss("flat", np.zeros(3))
    with pytest.raises(ConfigError, match="NaN"):
        build_faiss("flat", np.full((2, 2), np.nan))


def test_what_cannot_be_read(tmp_path):
    with pytest.raises(CorpusError, match="no index at"):
        read_faiss(tmp_path / "none")
    (tmp_path / "text").write_text("not an index at all")
    with pytest.raises(CorpusError, match="cannot be read"):
        read_faiss(tmp_path / "text")
    with pytest.raises(CorpusError, match="cannot be written"):
        write_faiss(build_faiss("flat", clustered(5)), tmp_path / "no" / "such")


class OnGpu:
    """An index "on a GPU": the same one, which counts what it is given."""

    added = trained = 0

    def __init__(self, index):
        self.index = index

    def add(self, rows):
        OnGpu.added += len(rows)
        self.index.add(rows)

    def train(self, rows):
        OnGpu.trained += 1
        self.index.train(rows)


def test_a_gpu_trains_and_fills(monkeypatch):
    import faiss

    monkeypatch.setattr(OnGpu, "added", 0)
    monkeypatch.setattr(OnGpu, "trained", 0)
    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 1)
    monkeypatch.setattr(faiss, "StandardGpuResources", object, raising=False)
    monkeypatch.setattr(
        faiss, "index_cpu_to_gpu", lambda resources, device, index: OnGpu(index), raising=False
    )
    monkeypatch.setattr(faiss, "index_gpu_to_cpu", lambda moved: moved.index, raising=False)
    index = build_faiss("ivfpq", clustered())
    assert (OnGpu.trained, OnGpu.added, index.ntotal) == (1, 600, 600)
    assert build_faiss("hnsw", clustered(50)).ntotal == 50  # a graph stays on the CPU
    assert OnGpu.added == 600
    assert build_faiss("flat", clustered(50), gpu=False).ntotal == 50
    assert OnGpu.added == 600


def test_a_gpu_without_room_is_done_without(monkeypatch, caplog):
    import faiss

    def fail(*args):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(faiss, "get_num_gpus", lambda: 1)
    monkeypatch.setattr(faiss, "StandardGpuResources", object, raising=False)
    monkeypatch.setattr(faiss, "index_cpu_to_gpu", fail, raising=False)
    assert build_faiss("flat", clustered(5)).ntotal == 5
    assert "built on the CPU" in caplog.text


def test_memory_where_the_system_says_nothing(monkeypatch):
    monkeypatch.setattr(faiss_kinds.Path, "read_text", lambda path: "nonsense")
    monkeypatch.setattr(faiss_kinds.os, "sysconf_names", {})
    assert free_memory() == GB
