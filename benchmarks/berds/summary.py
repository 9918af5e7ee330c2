"""All figures of a run, JSON-ready: the papers' tables, its two analyses, the standard metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.berds.approaches import Found
from benchmarks.berds.questions import Question, datasets_of
from benchmarks.berds.scoring import (
    AVERAGE,
    CUTS,
    covers_all,
    intervals,
    lean,
    outcome_of_two,
    set_size,
    standard_values,
    values_of,
)
from benchmarks.core.bootstrap import interval, paired_difference
from benchmarks.core.metrics import Gold, mrecall_at_k
from perspective_rag import Passage

OUTCOMES = ("supporting", "opposing", "both", "neither")
COMPARED = ("mrecall@5", "precision@5", "mrecall@10", "precision@10")

Runs = Mapping[tuple[str, str], Mapping[str, Found]]
"""What was found, by (retriever, approach) and question id."""

Places = Mapping[str, tuple[int, int] | None]
"""Supporting and opposing place among a question's perspectives, by its id; None: not two."""


@dataclass(frozen=True, slots=True)
class Asking:
    """The questions put with the words of one side: the passages by question id."""

    retriever: str
    asked_as: str
    rankings: Mapping[str, Sequence[Passage]]
    approach: str = "default"


def summary(
    questions: Sequence[Question],
    found: Runs,
    golds: Mapping[str, Gold],
    *,
    stances: Places,
    askings: Sequence[Asking],
    weights: Mapping[str, Any],
    depth: int,
    expansions: Mapping[str, Sequence[str]],
    seed: int,
) -> dict[str, Any]:
    """The figures of all rows; every mean comes with its bootstrap interval."""
    values = {key: _values(questions, runs, golds) for key, runs in found.items()}
    rows = []
    for (retriever, approach), by_metric in values.items():
        base = values[retriever, "default"]
        runs = found[retriever, approach]
        rows.append(
            {
                "retriever": retriever,
                "approach": approach,
                "metrics": {
                    metric: _intervals(questions, of_questions, seed)
                    for metric, of_questions in by_metric.items()
                },
                "against_default": {
                    metric: paired_difference(
                        [by_metric[metric][each.id] for each in questions],
                        [base[metric][each.id] for each in questions],
                        seed=seed,
                    ).to_dict()
                    for metric in COMPARED
                    if approach != "default"
                },
                "outcomes": _outcomes(questions, runs, golds, stances),
                "cost": _cost(questions, runs),
            }
        )
    plain = {name: runs for (name, approach), runs in found.items() if approach == "default"}
    return {
        "questions": {
            name: sum(each.dataset == name for each in questions) for name in datasets_of(questions)
        },
        "perspectives": sum(len(each.perspectives) for each in questions),
        "with_expansion": sum(bool(expansions.get(each.id)) for each in questions),
        "depth": depth,
        "rows": rows,
        "mmr_weights": dict(weights),
        "sizes": {
            name: _sizes(questions, runs, golds, depth, seed) for name, runs in plain.items()
        },
        "judged_for_both": _judged_for_both(golds, stances),
        "union": _union(questions, plain, golds, depth, seed),
        "lean": _leans(questions, plain, golds, stances, askings, seed),
    }


def _values(
    questions: Sequence[Question], runs: Mapping[str, Found], golds: Mapping[str, Gold]
) -> dict[str, dict[str, float]]:
    """For each metric, the value of each question by its id."""
    result: dict[str, dict[str, float]] = {}
    for k in CUTS:
        rankings = {each.id: [p.id for p in runs[each.id].ranking(k)] for each in questions}
        standard = standard_values(rankings, golds, k)
        for each in questions:
            one = values_of(rankings[each.id], golds[each.id], k) | standard[each.id]
            for metric, value in one.items():
                result.setdefault(metric, {})[each.id] = value
    return result


def _intervals(
    questions: Sequence[Question], of_questions: Mapping[str, float], seed: int
) -> dict[str, dict[str, float]]:
    by_set: dict[str, list[float]] = {name: [] for name in datasets_of(questions)}
    for each in questions:
        if each.id in of_questions:
            by_set[each.dataset].append(of_questions[each.id])
    return {name: found.to_dict() for name, found in intervals(by_set, seed=seed).items()}


def _outcomes(
    questions: Sequence[Question],
    runs: Mapping[str, Found],
    golds: Mapping[str, Gold],
    stances: Places,
) -> dict[str, int]:
    counts = Counter(
        outcome_of_two([p.id for p in runs[each.id].ranking(5)], golds[each.id], places, 5)
        for each in questions
        if (places := stances[each.id]) is not None
    )
    return {name: counts[name] for name in OUTCOMES}


def _cost(questions: Sequence[Question], runs: Mapping[str, Found]) -> dict[str, Any]:
    count = len(questions)
    return {
        "seconds": round(sum(runs[each.id].seconds for each in questions) / count, 6),
        "judged_pairs": round(sum(runs[each.id].judged_pairs for each in questions) / count, 3),
        "searches": round(sum(runs[each.id].searches for each in questions) / count, 3),
        "degradations": sum(len(runs[each.id].degradations) for each in questions),
    }


def _sizes(
    questions: Sequence[Question],
    runs: Mapping[str, Found],
    golds: Mapping[str, Gold],
    depth: int,
    seed: int,
) -> dict[str, Any]:
    """Tables 5/17: the size of the set that takes all, where the top ``depth`` does."""
    rankings = {each.id: [p.id for p in runs[each.id].ranking(depth)] for each in questions}
    sizes = [
        size
        for each in questions
        if (size := set_size(rankings[each.id], golds[each.id])) is not None
    ]
    reached = {
        identity: mrecall_at_k(ranking, golds[identity], depth)
        for identity, ranking in rankings.items()
    }
    return {
        "size": interval(sizes, seed=seed).to_dict() if sizes else None,
        "questions": len(sizes),
        f"mrecall@{depth}": _intervals(questions, reached, seed),
    }


def _union(
    questions: Sequence[Question],
    plain: Mapping[str, Mapping[str, Found]],
    golds: Mapping[str, Gold],
    depth: int,
    seed: int,
) -> dict[str, Any]:
    """Table 6: whether the retrievers' top ``depth`` together take all perspectives."""
    covered = {}
    for each in questions:
        together = [p.id for runs in plain.values() for p in runs[each.id].ranking(depth)]
        covered[each.id] = covers_all(together, golds[each.id])
    return {"retrievers": list(plain), "coverage": _intervals(questions, covered, seed)}


def _leans(
    questions: Sequence[Question],
    plain: Mapping[str, Mapping[str, Found]],
    golds: Mapping[str, Gold],
    stances: Places,
    askings: Sequence[Asking],
    seed: int,
) -> list[dict[str, Any]]:
    """Figure 3: for each retriever and wording, Delta with p and n of the top 5."""
    asked = [
        Asking(name, "question", {each.id: runs[each.id].ranking(5) for each in questions})
        for name, runs in plain.items()
    ]
    result = []
    for asking in (*asked, *askings):
        cases = [
            ([p.id for p in asking.rankings[each.id]], golds[each.id], places)
            for each in questions
            if (places := stances[each.id]) is not None and each.id in asking.rankings
        ]
        figures = lean(cases, 5, seed=seed)
        result.append({"retriever": asking.retriever, "asked_as": asking.asked_as, **figures})
    return sorted(result, key=lambda row: str(row["retriever"]))


def _judged_for_both(golds: Mapping[str, Gold], stances: Places) -> float | None:
    """How far the judge tells two sides apart: of the passages it finds to support one of two
    opposing perspectives, the share it finds to support both. None without such passages.
    """
    either = both = 0
    for identity, places in stances.items():
        if places is not None:
            one, other = (golds[identity][str(place)] for place in places)
            either, both = either + len(one | other), both + len(one & other)
    return round(both / either, 6) if either else None


def average(row: Mapping[str, Any], metric: str) -> Mapping[str, float]:
    """The macro-average of a row's metric, with its interval."""
    found: Mapping[str, float] = row["metrics"][metric][AVERAGE]
    return found
