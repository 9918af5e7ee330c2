"""When ``benchmarks.question_forms`` counts a reading as right."""

from __future__ import annotations

import json

import pytest

from benchmarks.core import results
from benchmarks.question_forms.__main__ import main
from benchmarks.question_forms.scoring import passes, question_of
from perspective_rag.perspectives.reading import extract_by_rule

ROW = {
    "id": "x1",
    "form": "yesno:should",
    "question": "Should kites be licensed?",
    "expect": "sides",
    "sides": [["kites should be licensed."], ["Kites should not be licensed"]],
}


def right(**changes):
    question = question_of({**ROW, **changes})
    return passes(question, extract_by_rule(question.text))


def test_each_side_is_matched_and_nothing_is_added():
    assert right()
    assert not right(sides=ROW["sides"][:1])
    assert not right(sides=[*ROW["sides"], ["Kites are toys"]])
    assert right(form="one_side", sides=ROW["sides"][:1])
    assert right(question="Who invented the kite?", expect="none", sides=[])
    assert right(question="thoughts on kites?", expect="open", sides=[])
    assert not right(question="Who invented the kite?", expect="open", sides=[])


@pytest.mark.parametrize("changes", [{"expect": "perhaps"}, {"sides": None}])
def test_a_line_of_another_shape_is_refused(changes):
    with pytest.raises(ValueError):
        question_of({**ROW, **changes})


def test_results_hold_counts_and_ids_but_no_texts(tmp_path):
    data, out = tmp_path / "forms.jsonl", tmp_path / "out.json"
    wrong = {**ROW, "id": "x2", "sides": [["a"], ["b"]]}
    data.write_text("\n".join(map(json.dumps, [ROW, wrong])), encoding="utf-8")
    assert main(["--data", str(data), "--out", str(out)]) == 0
    document = results.read(out)
    assert document["results"]["passed"] == 1
    assert document["results"]["failed"] == ["x2"]
    assert "kites" not in out.read_text(encoding="utf-8").lower()
    assert main(["--data", str(tmp_path / "none.jsonl")]) == 2
