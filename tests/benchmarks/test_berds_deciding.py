"""From P(support) to "supports", and the thresholds that are fitted on labelled pairs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.berds.deciding import FITTED, Decision, decision_of, key_of
from benchmarks.berds.fit_decision import (
    FALSE_BOTH,
    cases_of,
    fitted,
    halves,
    main,
    recalls,
    report_of,
)
from benchmarks.berds.judges import SCORER, load_judge
from benchmarks.berds.questions import Question
from benchmarks.berds.verdicts import Verdicts
from perspective_rag import ConfigError, Passage
from perspective_rag.testing import HashEmbedder
from perspective_rag_train.append_log import AppendLog

UNIT = st.floats(0, 1)


@pytest.mark.parametrize(
    ("values", "alone", "compared"),
    [
        ([0.6, 0.5], [True, True], [True, False]),  # the lower of two needs 0.7
        ([0.5, 0.6], [True, True], [False, True]),
        ([0.8, 0.7], [True, True], [True, True]),
        ([0.6, 0.6], [True, True], [True, True]),  # the judge cannot tell them apart
        ([0.4, 0.1], [True, False], [True, False]),
        ([0.39, 0.1], [False, False], [False, False]),
        ([0.6, 0.5, 0.4], [True, True, True], [True, True, True]),  # no two sides to compare
        ([0.6], [True], [True]),
        ([], [], []),
    ],
)
def test_two_opposing_perspectives_are_compared(values, alone, compared):
    assert Decision(0.4).supported(values) == alone
    assert Decision(0.4, 0.7).supported(values) == compared


@given(st.lists(UNIT, max_size=4), UNIT, UNIT)
def test_comparing_only_ever_takes_the_lower_side_away(values, threshold, both):
    alone = Decision(threshold).supported(values)
    compared = Decision(threshold, both).supported(values)
    assert all(a or not c for a, c in zip(alone, compared, strict=True))
    assert any(compared) == any(alone)


def test_verdicts_are_decided_anew_without_judging_again(tmp_path):
    question = Question("q", "s", "Ban cars?", ("Ban.", "Keep."))
    passages = {"a": Passage("a", "x"), "b": Passage("b", "y")}

    class Silent:
        name, threshold = "silent", 0.4

        def judge(self, perspectives, passages):
            raise AssertionError("everything is known")

    with AppendLog(tmp_path, "v", {}) as ledger:
        verdicts = Verdicts(Silent(), ledger)
        values = {("a", "Ban."): 0.6, ("a", "Keep."): 0.5, ("b", "Ban."): 0.1, ("b", "Keep."): 0.4}
        ledger.add((verdicts._key(passages[i], text), p) for (i, text), p in values.items())
        assert verdicts.gold(question, passages) == {"0": {"a"}, "1": {"a", "b"}}
        verdicts.decision = Decision(0.4, 0.7)
        assert verdicts.gold(question, passages) == {"0": {"a"}, "1": {"b"}}


def test_a_decision_belongs_to_one_judge(tmp_path):
    path = tmp_path / "fitted.json"
    path.write_text(json.dumps({"f1": {"threshold": 0.3, "both": 0.9}}))
    judge = {"name": "n", "files": "f1"}
    assert decision_of("compared", 0.5, judge, fitted=path) == Decision(0.3, 0.9)
    assert decision_of("alone", 0.5, judge, fitted=path) == Decision(0.5)
    with pytest.raises(ConfigError, match=r"fit_decision.*--decision alone"):
        decision_of("compared", 0.5, {"name": "n", "files": "other"}, fitted=path)
    with pytest.raises(ConfigError, match="fit_decision"):
        decision_of("compared", 0.5, judge, fitted=tmp_path / "none.json")


def test_the_thresholds_that_come_with_the_benchmark_are_those_of_its_scorer(tmp_path):
    judge, identity = load_judge("scorer", HashEmbedder(), cache=tmp_path)
    assert identity["name"] == SCORER.name
    found = decision_of("compared", judge.threshold, identity)
    known = json.loads(FITTED.read_text())[key_of(identity)]
    assert found.both is not None
    assert found.both >= found.threshold == known["threshold"]
    held_out = known["held_out_recall"]
    assert held_out["compared"]["false both"] < held_out["own threshold"]["false both"]


def rows_of(*pairs):
    return [
        {"document": document, "statement": statement, "label": label, "topic": topic}
        for document, statement, label, topic in pairs
    ]


def test_cases_are_made_of_labelled_pairs():
    rows = rows_of(
        ("d1", "Cats are good.", "support", "cats"),
        ("d2", "Cats are good.", "oppose", "cats"),
        ("d3", "Cats are good.", "neutral", "cats"),
        ("d4", "Ban dogs.", "support", "dogs"),
        ("d4", "Dogs help.", "oppose", "dogs"),
    )
    cases = cases_of(rows, count=10, seed=1)
    by_outcome = {
        name: {(each.passage, each.statements) for each in cases if each.outcome == name}
        for name in ("first", "second", "both", "neither")
    }
    cats = ("Cats are good.", "Cats are not good.")
    assert ("d1", cats) in by_outcome["first"]
    assert ("d2", cats) in by_outcome["second"]
    assert by_outcome["neither"] == {("d3", cats)}
    assert by_outcome["both"] == {("d2 d1", cats)}
    assert ("d4", ("Dogs help.", "Ban dogs.")) in by_outcome["second"]  # as people worded them
    assert len(cases_of(rows, count=1, seed=1)) == 4


def test_fitting_finds_thresholds_that_separate_and_keeps_false_both_low():
    rows = rows_of(*[(f"d{i}", f"S{i} is so.", "support", f"t{i}") for i in range(40)])
    rows += rows_of(*[(f"n{i}", f"S{i} is so.", "neutral", f"t{i}") for i in range(40)])
    rows += rows_of(*[(f"o{i}", f"S{i} is so.", "oppose", f"t{i}") for i in range(40)])
    cases = cases_of(rows, count=50, seed=2)
    # One-sided: its side 0.8, the other 0.6; neutral below 0.3; both above 0.9.
    values = {
        "first": [0.8, 0.6],
        "second": [0.6, 0.8],
        "both": [0.95, 0.92],
        "neither": [0.25, 0.1],
    }
    found = [values[case.outcome] for case in cases]
    compared, alone = fitted(cases, found)
    assert 0.25 < compared.threshold <= 0.8
    assert 0.6 < compared.both <= 0.92
    reached = recalls(compared, cases, found)
    assert (reached["one side"], reached["both"], reached["neither"]) == (1.0, 1.0, 1.0)
    assert reached["false both"] <= FALSE_BOTH
    assert recalls(Decision(0.3), cases, found)["false both"] == 1.0
    assert 0.6 < alone.threshold <= 0.8  # for itself it must be above the other side
    one, other = halves(cases)
    assert sorted([*one, *other]) == list(range(len(cases)))
    assert not {cases[i].topic for i in one} & {cases[i].topic for i in other}
    report = report_of(cases, found, 0.3)
    assert report["held_out_recall"]["compared"]["one side"] == 1.0
    assert report["held_out_recall"]["own threshold"]["one side"] == 0.0


def test_the_command_keeps_what_was_fitted_for_others(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "words_judge.py").write_text(
        "from perspective_rag.flow.steps import call\n"
        "class Words:\n"
        "    name, threshold = 'words', 0.5\n"
        "    def judge(self, perspectives, passages):\n"
        "        reply = yield from call('judge', lambda: [[float(('not' in a.text) == ('not' in b.text))\n"
        "            for b in perspectives] for a in passages])\n"
        "        return reply.value\n"
        "def make():\n"
        "    return Words()\n"
    )
    rows = rows_of(("it is", "It is.", "support", "a"), ("it is not", "It is.", "oppose", "b"))
    dev = tmp_path / "dev.jsonl"
    dev.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "out.json"
    out.write_text(json.dumps({"another": {"threshold": 0.1, "both": 0.2}}))
    assert main([f"--dev={dev}", "--judge=words_judge:make", f"--out={out}"]) == 0
    known = json.loads(out.read_text())
    assert known["another"] == {"threshold": 0.1, "both": 0.2}
    assert known["words"]["cases"] == {"first": 1, "second": 1, "both": 1, "neither": 0}
