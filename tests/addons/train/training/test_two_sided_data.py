"""What the two-sided judge learns from: the mix of rows."""

from __future__ import annotations

import random

from perspective_rag_train.two_sided.data import TARGETS, Source, as_row, mixed, own_texts

PAIR = {"statement": "Zoos should be closed", "opposite": "Zoos deserve to stay"}


def rows(label, count=40):
    return [
        {"statement": f"Zoo {i} should be closed", "document": f"text {i}", "label": label}
        for i in range(count)
    ]


def test_a_missing_opposite_is_the_negation():
    row = as_row(
        {"statement": "Zoos should be closed", "document": "x", "label": "S"}, random.Random(1)
    )
    assert row.second == "Zoos should not be closed"
    assert row.target == TARGETS["S"]


def test_silent_passages_stand_beside_negations_more_often():
    def share(label):
        rng = random.Random(2)
        found = [as_row({**PAIR, "document": "x", "label": label}, rng) for _ in range(1000)]
        return sum((r.first, r.second) != tuple(PAIR.values()) for r in found) / len(found)

    assert share("N") > 0.5 > 0.4 > share("S")


def test_one_passage_in_ten_stands_beside_statements_of_another_and_is_silent():
    found = mixed([Source("natural", 1.0, 1.0, rows("S"))], 3, lambda: 1.0)
    drawn = [next(found) for _ in range(2000)]
    silent = [row for row in drawn if row.target == TARGETS["N"]]
    assert 0.07 < len(silent) / len(drawn) < 0.13
    for row in silent:
        number = row.document.removeprefix("text ")
        assert f"Zoo {number} " not in f"{row.first} {row.second}"
    assert {row.target for row in drawn} <= {TARGETS["N"], TARGETS["S"], TARGETS["O"]}


def test_a_text_of_ones_own_is_a_row_for_each_of_its_questions():
    rows = own_texts("notes", held_out=False)
    by_text: dict[str, list[dict]] = {}
    for row in rows:
        by_text.setdefault(row["document"], []).append(row)
    assert all(len({row["statement"] for row in each}) == 3 for each in by_text.values())
    assert {row["label"] for row in rows} <= set("SsNoOM")
    sided = [row["label"] for row in rows if row["label"] in "So"]
    assert 0.3 < sum(label == "S" for label in sided) / len(sided) < 0.9


def test_whole_topics_are_held_out():
    for name in ("notes", "devices"):
        kept = {row["topic"] for row in own_texts(name, held_out=False)}
        out = {row["topic"] for row in own_texts(name, held_out=True)}
        assert not kept & out
        assert 0.05 < len(out) / (len(kept) + len(out)) < 0.15


def test_sides_with_names_are_sometimes_called_by_them():
    named = {**PAIR, "for": "closing zoos", "against": "keeping zoos", "document": "x"}
    rng = random.Random(5)
    found = [as_row({**named, "label": "O"}, rng) for _ in range(400)]
    share = sum((r.first, r.second) == ("closing zoos", "keeping zoos") for r in found) / 400
    assert 0.2 < share < 0.4
    assert {row.target for row in found} == {TARGETS["O"]}
