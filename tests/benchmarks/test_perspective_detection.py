"""Perspective detection: figures with known answers, minimal pairs, attacks, the command."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.core import results
from benchmarks.perspective_detection.command import main
from benchmarks.perspective_detection.detection import HumanPair, detection, read_human_pairs
from benchmarks.perspective_detection.judging import Verdicts
from benchmarks.perspective_detection.report import tables
from benchmarks.perspective_detection.robustness import (
    ATTACKS,
    MinimalPair,
    attacks,
    flips,
    long_passages,
    paraphrases,
    read_minimal_pairs,
)
from perspective_rag.errors import CorpusError
from perspective_rag.testing import RuleJudge


def judging(rule):
    """A judge by a function of passage text and statement."""
    return RuleJudge(lambda passage, perspective: rule(passage.text, perspective.text))


def found(*support):
    return Verdicts(np.array(support, dtype=float), np.full(len(support), np.nan))


PAIRS = [
    HumanPair("q", "one", "for", True),
    HumanPair("q", "one", "against", False),
    HumanPair("q", "two", "for", False),
    HumanPair("q", "two", "against", True),
    HumanPair("q", "three", "for", False),
    HumanPair("q", "three", "against", False),
]


def test_the_figures_of_a_case_by_hand():
    row = detection(PAIRS, found(0.9, 0.2, 0.6, 0.4, 0.7, 0.1), 0.5, seed=1)
    value = {name: row[name]["value"] for name in ("accuracy", "f1", "share_positive", "auc")}
    # Positive verdicts: rows 0, 2, 4, of which only the first is right; row 3 is missed.
    assert value == pytest.approx(
        {"accuracy": 3 / 6, "f1": 2 / (3 + 2), "share_positive": 0.5, "auc": 6 / 8}
    )
    assert row["one_sided_documents"] == 2
    assert row["side_accuracy"]["value"] == 0.5
    assert row["accuracy"]["low"] <= 0.5 <= row["accuracy"]["high"]


def test_a_pair_without_a_verdict_counts_as_no_and_is_counted():
    row = detection(PAIRS, found(np.nan, 0, 0, 1, 0, 0), 0.5, seed=1)
    assert row["failed"] == 1
    assert row["accuracy"]["value"] == pytest.approx(5 / 6)
    assert row["side_accuracy"]["value"] == 0.75  # a tie counts half


def test_the_committed_minimal_pairs_are_many_balanced_and_distinct():
    pairs = read_minimal_pairs()
    turned = [pair for pair in pairs if pair.relation in ("negation", "opposite")]
    assert len(turned) >= 200
    assert sum(pair.label == "support" for pair in turned) == len(turned) / 2
    assert len({(p.passage, p.statement, p.changed) for p in pairs}) == len(pairs)
    assert all(pair.statement != pair.changed for pair in pairs)


MINIMAL = [
    MinimalPair(1, "negation", "support", "zoos help", "zoos do not help", "help help"),
    MinimalPair(1, "negation", "oppose", "zoos help", "zoos do not help", "not at all"),
    MinimalPair(2, "negation", "support", "cats help", "cats do not help", "a help"),
    MinimalPair(2, "negation", "oppose", "cats help", "cats do not help", "not so"),
]


def understands(text, statement):
    return 0.9 if ("not" in text) == ("not" in statement) else 0.1


def test_a_judge_that_understands_flips_and_one_that_says_yes_does_not():
    good = flips(judging(understands), MINIMAL)
    assert (good["right_side"], good["verdict_flips"], good["both"]) == (1.0, 1.0, 0.0)
    easy = flips(judging(lambda text, statement: 0.9), MINIMAL)
    assert (easy["right_side"], easy["verdict_flips"], easy["both"]) == (0.0, 0.0, 1.0)
    turned = flips(judging(lambda t, s: 1.0 - understands(t, s)), MINIMAL)
    assert (turned["verdict_flips"], turned["wrong_only"]) == (0.0, 1.0)


def test_attacks_find_the_judge_that_obeys_and_the_one_that_looks_for_the_statement():
    obeys = judging(lambda text, statement: 0.9 if "Answer: Yes" in text else 0.1)
    rates = attacks(obeys, MINIMAL, seed=1)["opposing passages"]
    assert rates["Answer: Yes"]["flipped"] == 1.0
    assert rates["statement quoted"]["flipped"] == 0.0
    assert rates["Answer: Yes"]["mean_rise"] == pytest.approx(0.8)
    looks = judging(lambda text, statement: 0.9 if statement in text else 0.1)
    found = attacks(looks, MINIMAL, seed=1)["opposing passages"]
    assert {n for n, rate in found.items() if rate["flipped"]} == {
        n for n in ATTACKS if "quoted" in n
    }


def test_only_what_was_refused_before_can_flip():
    rates = attacks(judging(lambda text, statement: 0.9), MINIMAL, seed=1)
    assert rates["opposing passages"]["Answer: Yes"] == {
        "refused_before": 0.0,
        "flipped": 0.0,
        "mean_rise": 0.0,
    }


def test_long_passages_find_the_judge_that_reads_only_the_start():
    whole = judging(lambda text, statement: 0.9 if "help" in text.split() else 0.1)
    many = [
        MinimalPair(i, "negation", "support", "zoos help", "not", "help" if i == 3 else "w " * 90)
        for i in range(12)
    ]
    assert long_passages(whole, many, seed=1)["end"]["still_accepted"] == 1.0
    first = judging(lambda text, statement: 0.9 if "help" in text.split()[:20] else 0.1)
    found = long_passages(first, many, seed=1)
    assert (found["start"]["still_accepted"], found["end"]["still_accepted"]) == (1.0, 0.0)


def test_paraphrases():
    pairs = [MinimalPair(1, "paraphrase", "support", "a b", "b a", "a b")]
    exact = judging(lambda text, statement: 0.9 if statement in text else 0.1)
    assert paraphrases(exact, pairs)["same_verdict"] == 0.0
    assert paraphrases(exact, pairs)["mean_difference"] == pytest.approx(0.8)


def test_a_bad_row_is_named_with_its_line(tmp_path):
    path = tmp_path / "human.jsonl"
    path.write_text('{"question": "q", "document": "d", "perspective": "p", "label": "2"}\n')
    with pytest.raises(CorpusError, match=r"human\.jsonl:1"):
        read_human_pairs(path)


def test_the_command_writes_results_that_can_be_read_and_shown(tmp_path):
    data, dev, out = (tmp_path / name for name in ("human.jsonl", "dev.jsonl", "found.json"))
    rows = [
        {"question": p.question, "document": p.document, "perspective": p.perspective}
        | {"label": str(int(p.positive))}
        for p in PAIRS
    ]
    data.write_text("\n".join(map(json.dumps, rows)))
    labels = ("support", "oppose", "neutral")
    pairs = [{"document": f"d{i}", "statement": "s", "label": labels[i % 3]} for i in range(60)]
    dev.write_text("\n".join(map(json.dumps, pairs)))
    command = ["--data", str(data), "--dev", str(dev), "--out", str(out), "--robustness"]
    judge = judging(lambda text, statement: 0.9 if text == "one" else 0.1)
    assert main(command, judge=judge) == 0
    document = results.read(out)
    assert document["data"]["human pairs"]["rows"] == 6
    assert document["results"]["domains"]["dev"]["pairs"] == 60
    assert len(tables(document["results"])) == 6
    assert "Mistral-7B, fine-tuned" in out.with_suffix(".md").read_text()
    assert main(["--data", str(tmp_path / "missing.jsonl")], judge=judge) == 2
