from pathlib import Path

import pytest

from benchmarks.core.results import CHECKOUT
from benchmarks.sides.trial import LABELS, MEANING, QUESTIONS, counted, main, read_labels


def test_labels_are_of_the_questions_asked() -> None:
    labels = read_labels(LABELS)
    assert {question for question, _, _ in labels} <= set(QUESTIONS)
    assert set(labels.values()) <= set(MEANING)


def test_listed_and_leaning_are_counted_by_label() -> None:
    verdicts = [("a", "clear"), ("b", "clear"), ("c", "leaning"), ("d", "silent"), ("e", "clear")]
    row = {
        "question": "Q?",
        "passages": [{"id": id, "verdicts": {"Side": verdict}} for id, verdict in verdicts],
    }
    labels = {("Q?", "Side", id): label for id, label in (("a", "s"), ("b", "O"), ("c", "N"))}
    assert counted([row], labels) == {
        "clear": {"support": 1, "oppose": 1, "not labelled": 1},
        "leaning": {"neither": 1},
    }


def test_texts_stay_outside_the_repository(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        main(["--corpus", str(tmp_path), "--out", str(CHECKOUT / "out.jsonl")])
