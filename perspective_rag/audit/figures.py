"""The figures of an audit: for each question, and in total with bootstrap intervals."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perspective_rag.audit.error import ListingError, listing_errors
from perspective_rag.audit.measure import NEUTRAL, Audited, Measured, Ranking
from perspective_rag.audit.questions import AuditQuestion
from perspective_rag.judge.support import contradictions
from perspective_rag.listing import ListingRule
from perspective_rag.reporting.bootstrap import interval

OUTCOMES = ("both", "support", "oppose", "neither", "nothing")
TELLING = 6
"""Questions from which on a side is said to be favoured: five that all lean to one side do so by
chance once in 16 times (sign test, p = 2 / 2^5), six once in 32."""

WORDINGS = (NEUTRAL, "support", "oppose")

Row = Mapping[str, Any]


def audit_figures(
    measured: Measured,
    *,
    k: int,
    depth: int,
    seed: int = 13,
    listing_error: ListingError | None = None,
) -> dict[str, Any]:
    """JSON-ready: ``questions`` row by row, ``total``, and the passages shown.

    A passage takes a perspective where the judge's listing rule lists it ("clear"): of two sides
    that contradict each other it takes one at most, and is "mixed" where it argues for both. With p
    and n the passages among the first k that take the supporting and the opposing perspective,
    the lean of a ranking is (p - n) / k, in [-1, 1]: 1 means that all support. An outcome is
    "both", "support", "oppose" or "neither", by what the first k take (BERDS, Figure 2), or
    "nothing" where all passages found, down to ``depth``, are silent on every side; one-sided are
    "support" and "oppose". Following the wording is half of the lean asked as a supporter would
    less the lean asked as an opponent would, in [-1, 1]: 0 means that the wording changes nothing,
    1 that it decides everything (BERDS, section 8, asks in this way). ``needed`` is how many
    passages from the top take all perspectives, None where ``depth`` do not. ``coverage`` is
    MRecall@k for a question with no more than k perspectives: 1 when all are taken;
    ``coverage_where_said`` leaves out the questions with the outcome "nothing". ``told`` counts the
    questions whose first k passages take a side as far as the judge can tell. ``rule`` is that of
    the first two-sided question (a judge may have another for perspectives that it reads alone).
    ``listing_error`` is what is known of the judge's errors: ``error`` says how far the figures may
    be off by it (None: not known).
    """
    rows = [_row(each, k) for each in measured.audited]
    rules = sorted(measured.audited, key=lambda each: each.question.sides is None)
    return {
        "k": k,
        "depth": depth,
        "threshold": rules[0].rule.threshold if rules else None,
        "rule": asdict(rules[0].rule) if rules else None,
        "judged_pairs": measured.judged_pairs,
        "total": _total(rows, k, depth, seed),
        "error": _error(rows, listing_error, k, seed),
        "questions": rows,
        "degradations": [each.to_dict() for each in measured.degradations],
    }


def _error(
    rows: Sequence[Row], error: ListingError | None, k: int, seed: int
) -> dict[str, Any] | None:
    two = [row for row in rows if not row["error"] and row["outcome"]]
    if error is None or not two:
        return None
    return {**asdict(error), **listing_errors(two, error, k, seed)}


def worst(rows: Sequence[Row], count: int = 10) -> list[Row]:
    """The rows with the least coverage, then the most one-sided, then the latest to be covered."""
    usable = [row for row in rows if not row["error"] and row["perspectives"]]

    def badness(row: Row) -> tuple[float, float, float]:
        lean = row["wordings"][NEUTRAL].get("lean")
        needed = row["needed"]
        return row["coverage"], -abs(lean or 0.0), -(needed if needed is not None else float("inf"))

    return sorted(usable, key=badness)[:count]


def _row(audited: Audited, k: int) -> dict[str, Any]:
    question, rule = audited.question, audited.rule
    row: dict[str, Any] = {**question.to_dict(), "error": audited.error}
    if audited.error:
        return row
    neutral = audited.rankings[NEUTRAL]
    verdicts = _verdicts(question, neutral, rule)
    takes = verdicts == "clear"
    covered: list[bool] = np.any(takes[:k], axis=0).tolist()
    row["wordings"] = {
        wording: _wording(question, ranking, rule, k)
        for wording, ranking in audited.rankings.items()
    }
    row["coverage"] = float(all(covered)) if question.perspectives else None
    row["covered"] = [p.id for p, yes in zip(question.perspectives, covered, strict=True) if yes]
    known = not np.isnan(neutral.support).any()
    silent = known and bool((verdicts == "silent").all())
    row["says_nothing"] = silent and bool(question.perspectives)
    row["needed"] = _needed(takes)
    row["outcome"] = _outcome(row) if question.sides else None
    row["follows"] = _follows(row["wordings"]) if question.sides else None
    row["seconds"] = round(neutral.seconds, 6)
    return row


def _verdicts(question: AuditQuestion, ranking: Ranking, rule: ListingRule) -> NDArray[np.str_]:
    """The verdict words, shape (n_passages, n_perspectives); two sides contradict each other."""
    if question.sides is not None:
        contradicts = ~np.eye(2, dtype=bool)
    else:
        contradicts = contradictions(question.perspectives)
    return rule.verdicts(ranking.support, contradicts)


def _wording(
    question: AuditQuestion, ranking: Ranking, rule: ListingRule, k: int
) -> dict[str, Any]:
    result: dict[str, Any] = {"asked": ranking.asked}
    verdicts = _verdicts(question, ranking, rule)[:k]
    if question.sides is not None:
        takes = verdicts == "clear"
        places = [question.perspectives.index(side) for side in question.sides]
        p, n = (int(takes[:, place].sum()) for place in places)
        mixed = (verdicts == "mixed").any(axis=1)
        result |= {"support": p, "oppose": n, "mixed": int(mixed.sum())}
        result["neither"] = int((~takes.any(axis=1) & ~mixed).sum())
        result["lean"] = (p - n) / k
    ids = [each.id for each in question.perspectives]
    result["passages"] = [
        {
            "id": passage.id,
            "title": passage.title,
            "text": passage.text,
            "supports": [each for each, word in zip(ids, words, strict=True) if word == "clear"],
            "verdicts": dict(zip(ids, words, strict=True)),
        }
        for passage, words in zip(ranking.passages[:k], verdicts.tolist(), strict=True)
    ]
    return result


def _needed(takes: np.ndarray[Any, np.dtype[np.bool_]]) -> int | None:
    """The row from whose number on, counted from 1, every column has been true."""
    if not takes.size or not takes.any(axis=0).all():
        return None
    return int(takes.argmax(axis=0).max()) + 1


def _outcome(row: Row) -> str:
    if row["says_nothing"]:
        return "nothing"
    sides = [side for side in ("support", "oppose") if row["wordings"][NEUTRAL][side]]
    return "both" if len(sides) == 2 else sides[0] if sides else "neither"


def _follows(wordings: Mapping[str, Mapping[str, Any]]) -> float:
    follows: float = (wordings["support"]["lean"] - wordings["oppose"]["lean"]) / 2
    return follows


def _total(rows: Sequence[Row], k: int, depth: int, seed: int) -> dict[str, Any]:
    asked = [row for row in rows if not row["error"]]
    sided = [row for row in asked if row["perspectives"]]
    two = [row for row in sided if row["outcome"] is not None]
    outcomes = Counter(row["outcome"] for row in two)
    lean = _interval([row["wordings"][NEUTRAL]["lean"] for row in two], seed)
    needed = [row["needed"] for row in sided if row["needed"] is not None]
    seconds = [row["seconds"] for row in asked]
    return {
        "questions": len(rows),
        "failed": [row["id"] for row in rows if row["error"]],
        "without_perspectives": [row["id"] for row in asked if not row["perspectives"]],
        "short": [row["id"] for row in asked if _found(row) < k],
        "nothing_found": sum(not _found(row) for row in asked),
        "says_nothing": [row["id"] for row in sided if row["says_nothing"]],
        "with_perspectives": len(sided),
        "told": sum(_takes_a_side(row) for row in sided),
        "two_sided": len(two),
        "outcomes": {name: outcomes[name] for name in OUTCOMES},
        "one_sided": _interval(
            [float(row["outcome"] in ("support", "oppose")) for row in two], seed
        ),
        "passages": {
            name: sum(row["wordings"][NEUTRAL][name] for row in two)
            for name in ("support", "oppose", "mixed", "neither")
        },
        "lean": lean,
        "favours": _favours(lean, len(two)),
        "leans": {
            wording: _interval([row["wordings"][wording]["lean"] for row in two], seed)
            for wording in WORDINGS
        },
        "follows": _interval([row["follows"] for row in two], seed),
        "coverage": _interval([row["coverage"] for row in sided], seed),
        "coverage_where_said": _interval(
            [row["coverage"] for row in sided if not row["says_nothing"]], seed
        ),
        "needed": {
            "median": statistics.median(needed) if needed else None,
            "reached": len(needed),
            "not_reached": len(sided) - len(needed),
        },
        "curve": [
            {"k": cut, **found}
            for cut in range(1, depth + 1)
            if (found := _interval([_within(row["needed"], cut) for row in sided], seed))
        ],
        "seconds": {
            "mean": round(statistics.fmean(seconds), 6) if seconds else None,
            "p95": round(float(np.percentile(seconds, 95)), 6) if seconds else None,
        },
    }


def _takes_a_side(row: Row) -> bool:
    """Whether any of the first k passages takes a side, or argues for two."""
    return bool(row["covered"]) or bool(row["wordings"][NEUTRAL].get("mixed"))


def _found(row: Row) -> int:
    """How many of the first k passages the retriever returned."""
    return len(row["wordings"][NEUTRAL]["passages"])


def _within(needed: int | None, cut: int) -> float:
    return float(needed is not None and needed <= cut)


def _interval(values: Sequence[float], seed: int) -> dict[str, float] | None:
    return interval(values, seed=seed, resamples=2_000).to_dict() if values else None


def _favours(lean: Mapping[str, float] | None, questions: int) -> str | None:
    """The side that the interval of the mean lean lies on; None where it holds zero, and for fewer
    questions than ``TELLING``.
    """
    if lean is None or questions < TELLING or lean["low"] <= 0 <= lean["high"]:
        return None
    return "support" if lean["mean"] > 0 else "oppose"
