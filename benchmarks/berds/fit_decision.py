"""Fits the thresholds that compare two sides: python -m benchmarks berds.fit_decision --dev FILE.

A case is a passage with two opposing statements. A passage that is labelled to support one
statement and to oppose another supports the first of these two. Any labelled pair gives a case
with its statement and the negation by rule: "support" means the first, "oppose" the second,
"neutral" neither. Two passages on one statement, one for and one against, put one after the other
support both.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.berds.deciding import FITTED, Decision, key_of
from benchmarks.berds.judges import load_judge
from benchmarks.core import results
from benchmarks.core.arguments import whole
from perspective_rag import OnnxMiniLM, Passage, Perspective, run
from perspective_rag.addons import json_lines, negate
from perspective_rag.extend import Judge

OUTCOMES: Mapping[str, tuple[bool, bool]] = {
    "first": (True, False),
    "second": (False, True),
    "both": (True, True),
    "neither": (False, False),
}
_OF_LABEL = {"support": "first", "oppose": "second", "neutral": "neither"}
_GRID = [round(0.02 * step, 2) for step in range(1, 50)]
_NEVER = 1.01
FALSE_BOTH = 0.05
"""The share of one-sided passages that may be found to support both."""


@dataclass(frozen=True, slots=True)
class Case:
    """A passage, two opposing statements, and which of them it supports (one of ``OUTCOMES``)."""

    passage: str
    statements: tuple[str, str]
    outcome: str
    topic: str


def cases_of(rows: Sequence[Mapping[str, Any]], *, count: int, seed: int) -> list[Case]:
    """At most ``count`` cases of each outcome; ``rows`` have document, statement, label, topic."""
    by_outcome: dict[str, list[Case]] = {name: [] for name in OUTCOMES}
    on_statement: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    on_passage: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        on_passage.setdefault(row["document"], {}).setdefault(row["label"], row)
        statement = row["statement"]
        case = Case(
            row["document"],
            (statement, negate(statement)),
            _OF_LABEL[row["label"]],
            row["topic"] or statement,
        )
        by_outcome[case.outcome].append(case)
        on_statement.setdefault(statement, {}).setdefault(row["label"], []).append(row)
    generator = np.random.default_rng(seed)
    for statement, found in on_statement.items():
        pairs = zip(found.get("support", ()), found.get("oppose", ()), strict=False)
        for number, (one, other) in enumerate(pairs):
            parts = (one["document"], other["document"])
            joined = " ".join(parts if number % 2 else parts[::-1])
            topic = one["topic"] or statement
            by_outcome["both"].append(Case(joined, (statement, negate(statement)), "both", topic))
    chosen = []
    for outcome, found_cases in by_outcome.items():
        written = _written_opposites(on_passage, outcome)[: count // 2]
        order = generator.permutation(len(found_cases))[: count - len(written)]
        chosen += [*written, *(found_cases[i] for i in sorted(order))]
    return chosen


def _written_opposites(
    on_passage: Mapping[str, Mapping[str, Mapping[str, Any]]], outcome: str
) -> list[Case]:
    """Cases of two statements that people wrote; the passage supports them in turn the first and
    the second.
    """
    sides = [
        (each["support"], each["oppose"])
        for each in on_passage.values()
        if len(each) > 1 and "support" in each and "oppose" in each
    ]
    found = []
    for number, (one, other) in enumerate(sides):
        order = (one, other) if number % 2 else (other, one)
        if outcome == ("first" if number % 2 else "second"):
            statements = (order[0]["statement"], order[1]["statement"])
            found.append(Case(one["document"], statements, outcome, one["topic"] or statements[0]))
    return found


def recalls(
    decision: Decision, cases: Sequence[Case], values: Sequence[Sequence[float]]
) -> dict[str, float]:
    """The shares of one-sided, two-sided and neutral cases that get exactly their outcome; the
    share of one-sided ones found to support both, and of those the wrong side alone.
    """
    counts: dict[str, list[bool]] = {
        name: [] for name in ("one side", "both", "neither", "false both", "wrong side")
    }
    for case, found in zip(cases, values, strict=True):
        said = tuple(decision.supported(found))
        right = said == OUTCOMES[case.outcome]
        if case.outcome in ("both", "neither"):
            counts[case.outcome].append(right)
        else:
            counts["one side"].append(right)
            counts["false both"].append(said == OUTCOMES["both"])
            counts["wrong side"].append(said == OUTCOMES[case.outcome][::-1])
    return {name: float(np.mean(each)) if each else 0.0 for name, each in counts.items()}


def fitted(cases: Sequence[Case], values: Sequence[Sequence[float]]) -> tuple[Decision, Decision]:
    """(comparing, each perspective for itself): the thresholds with the best mean recall of
    one-sided and neutral cases; then the least ``both`` that leaves at most ``FALSE_BOTH`` of the
    one-sided cases found to support both.
    """

    def score(decision: Decision) -> float:
        found = recalls(decision, cases, values)
        return found["one side"] + found["neither"]

    alone = max((Decision(each) for each in _GRID), key=score)
    threshold = max((Decision(each, _NEVER) for each in _GRID), key=score).threshold
    compared = (Decision(threshold, both) for both in (*_GRID, _NEVER) if both >= threshold)
    for each in compared:
        if recalls(each, cases, values)["false both"] <= FALSE_BOTH:
            return each, alone
    return Decision(threshold, _NEVER), alone


def halves(cases: Sequence[Case]) -> tuple[list[int], list[int]]:
    """The places of the cases of one half of the topics, and of the other, by hash."""
    parts: tuple[list[int], list[int]] = ([], [])
    for place, case in enumerate(cases):
        parts[hashlib.sha256(case.topic.encode()).digest()[0] % 2].append(place)
    return parts


def judged(judge: Judge, cases: Sequence[Case]) -> list[list[float]]:
    """P(support) of both statements of each case."""
    found = []
    for case in cases:
        sides = [Perspective(f"p{place}", text) for place, text in enumerate(case.statements)]
        matrix = run(judge.judge(sides, [Passage("0", case.passage)]))
        found.append([float(value) for value in matrix[0]])
    return found


def report_of(
    cases: Sequence[Case], values: Sequence[Sequence[float]], own_threshold: float
) -> dict[str, Any]:
    """The decision fitted on all cases, and what fitting gains: fitted on one half of the topics
    and measured on the other, both ways, weighed by the cases.
    """
    rows: dict[str, list[tuple[int, dict[str, float]]]] = {}
    parts = halves(cases)
    for used, held in (parts, parts[::-1]):
        compared, alone = fitted([cases[i] for i in used], [values[i] for i in used])
        others = [cases[i] for i in held], [values[i] for i in held]
        for name, decision in (
            ("own threshold", Decision(own_threshold)),
            ("alone", alone),
            ("compared", compared),
        ):
            rows.setdefault(name, []).append((len(held), recalls(decision, *others)))
    best, _ = fitted(cases, values)
    return {
        "threshold": best.threshold,
        "both": best.both,
        "cases": {name: sum(each.outcome == name for each in cases) for name in OUTCOMES},
        "held_out_recall": {
            name: {
                metric: round(
                    sum(n * each[metric] for n, each in found) / sum(n for n, _ in found), 4
                )
                for metric in found[0][1]
            }
            for name, found in rows.items()
        },
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Judges the cases and writes the thresholds beside those of other judges."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks berds.fit_decision",
        description="Fits the thresholds between two opposing perspectives.",
        epilog="Data: labelled pairs of yours; see perspective_rag_train.data.",
    )
    parser.add_argument("--dev", type=Path, required=True, help="labelled pairs (.jsonl or .gz)")
    parser.add_argument("--judge", default="scorer", help="as for benchmarks.berds")
    parser.add_argument("--cases", type=whole, default=300, help="of each outcome at most")
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--out", type=Path, default=FITTED)
    options = parser.parse_args(arguments)
    judge, identity = load_judge(options.judge, OnnxMiniLM(), cache=results.CACHE / "berds")
    rows = [row for _, row in json_lines(options.dev)]
    cases = cases_of(rows, count=options.cases, seed=options.seed)
    found = report_of(cases, judged(judge, cases), judge.threshold)
    known = json.loads(options.out.read_text(encoding="utf-8")) if options.out.is_file() else {}
    known[key_of(identity)] = {"judge": identity["name"], **found}
    options.out.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    sys.stdout.write(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
