"""The GPU benchmark's rehearsal: every figure says that it was not measured."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

pytest.importorskip("torch")

from benchmarks.gpu import command


def run(*arguments):
    screen = io.StringIO()
    status = command.main([*map(str, arguments)], console=Console(file=screen, width=160))
    return status, screen.getvalue()


def test_a_rehearsal_runs_and_shows_no_figure(tmp_path):
    out = tmp_path / "gpu.json"
    status, text = run("--rehearse", "--only", "faiss", "--out", out)
    assert status == 0
    assert "a rehearsal on CPU tensors, GPU not measured" in text
    parts = json.loads(out.read_text("utf-8"))["results"]["parts"]
    assert set(parts) == {"faiss"}
    table = out.with_suffix(".md").read_text("utf-8")
    assert "queries/s" not in table
    assert "not measured" in table


def test_a_part_that_fails_leaves_the_others(tmp_path, monkeypatch):
    def broken(device, limits):
        raise RuntimeError("out of memory")

    monkeypatch.setitem(command.PARTS, "embed", broken)
    out = tmp_path / "gpu.json"
    status, text = run("--rehearse", "--only", "embed", "faiss", "--out", out)
    assert status == 1
    assert "out of memory" in text
    assert "rows" in json.loads(out.read_text("utf-8"))["results"]["parts"]["faiss"]


def test_without_time_left_nothing_is_begun(tmp_path):
    status, text = run("--rehearse", "--seconds", "0", "--out", tmp_path / "gpu.json")
    assert status == 0
    assert text.count("no time left") == 3
