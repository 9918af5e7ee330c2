"""What an outcome is worth by the labels, and the figures of a row with their intervals."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.core.bootstrap import interval, paired_difference, ratio_interval
from benchmarks.core.metrics import mrecall_at_k
from benchmarks.sides.data import SIDES, TRUE, PoolQuestion, verdict
from benchmarks.sides.reading import ORIGINS, OTHER, Outcome


@dataclass(frozen=True, slots=True)
class Listing:
    """Counts of one outcome, each of pairs of a passage and a side.

    ``listed`` = ``true`` + ``opposing`` + ``silent``; ``other`` were listed under a perspective
    that is neither side, so that labels say nothing of them; ``present`` are the true supports
    among the k, listed or not; ``twice`` are the passages listed under both sides.
    """

    listed: int
    true: int
    opposing: int
    silent: int
    other: int
    present: int
    twice: int


def both_sides(outcome: Outcome, question: PoolQuestion) -> bool:
    """Whether the passages returned truly support both sides."""
    return bool(mrecall_at_k(outcome.ranking, question.gold, max(len(outcome.ranking), 2)))


def listing(outcome: Outcome, question: PoolQuestion) -> Listing:
    """The counts of an outcome."""
    own = [each for each in outcome.listed if each.side != OTHER]
    found = [verdict(question.labels[each.passage], each.side) for each in own]
    present = sum(question.labels[name] in TRUE[side] for side in SIDES for name in outcome.ranking)
    return Listing(
        listed=len(own),
        true=found.count("true"),
        opposing=found.count("opposing"),
        silent=found.count("silent"),
        other=len(outcome.listed) - len(own),
        present=present,
        twice=len(own) - len({each.passage for each in own}),
    )


def proved(outcome: Outcome, question: PoolQuestion) -> bool:
    """Whether each side has a listed passage that truly supports it."""
    true = {
        each.side
        for each in outcome.listed
        if each.side != OTHER and question.labels[each.passage] in TRUE[each.side]
    }
    return true == set(SIDES)


def figures(
    outcomes: Sequence[Outcome],
    questions: Sequence[PoolQuestion],
    base: Sequence[Outcome],
    *,
    seed: int,
) -> dict[str, Any]:
    """All figures of a row at one k, JSON-ready; ``base`` are the outcomes compared with.

    What only a row that lists supports can have is None in the others. A claim of coverage is true
    when the passages returned truly support both sides.
    """
    both = [float(both_sides(o, q)) for o, q in zip(outcomes, questions, strict=True)]
    base_both = [float(both_sides(o, q)) for o, q in zip(base, questions, strict=True)]
    found: dict[str, Any] = {
        "both_sides": interval(both, seed=seed).to_dict(),
        "against_top_k": paired_difference(both, base_both, seed=seed).to_dict(),
        "worse": sum(own < plain for own, plain in zip(both, base_both, strict=True)),
        "better": sum(own > plain for own, plain in zip(both, base_both, strict=True)),
        "brought": brought_figures(outcomes, base_both),
        "listed": None,
        "claims": None,
        "abstained": None,
        "pairs": statistics.fmean(each.pairs for each in outcomes),
        "searches": statistics.fmean(each.searches for each in outcomes),
        "degradations": sum(len(each.degradations) for each in outcomes),
    }
    if any(each.lists for each in outcomes):
        counts = [listing(o, q) for o, q in zip(outcomes, questions, strict=True)]
        found["listed"] = listed_figures(counts, seed=seed)
        found["claims"] = claim_figures(outcomes, questions, seed=seed)
        found["abstained"] = sum(each.abstained for each in outcomes)
    return found


def brought_figures(outcomes: Sequence[Outcome], base_both: Sequence[float]) -> dict[str, Any]:
    """By whose query the passages returned came in: all of them, and those of the questions whose
    top k lacks a side.
    """
    lacking = [o for o, both in zip(outcomes, base_both, strict=True) if not both]
    return {
        name: {by: sum(each.brought.get(by, 0) for each in some) for by in ORIGINS}
        for name, some in (("all", outcomes), ("top-k lacks a side", lacking))
    }


def listed_figures(counts: Sequence[Listing], *, seed: int) -> dict[str, Any]:
    """Shares of what is listed, and the share of the supports present that is listed."""
    listed = [each.listed for each in counts]
    shares: Mapping[str, tuple[list[int], list[int]]] = {
        "true": ([each.true for each in counts], listed),
        "opposing": ([each.opposing for each in counts], listed),
        "silent": ([each.silent for each in counts], listed),
        "of_present": ([each.true for each in counts], [each.present for each in counts]),
    }
    return {
        "count": sum(listed),
        "other": sum(each.other for each in counts),
        "present": sum(each.present for each in counts),
        "under_both": sum(each.twice for each in counts),
        **{name: share(parts, wholes, seed=seed) for name, (parts, wholes) in shares.items()},
    }


def claim_figures(
    outcomes: Sequence[Outcome], questions: Sequence[PoolQuestion], *, seed: int
) -> dict[str, Any]:
    """How often coverage was claimed, and how often truly."""
    claimed = [int(each.claimed) for each in outcomes]
    pairs = list(zip(outcomes, questions, strict=True))
    true = [int(o.claimed and both_sides(o, q)) for o, q in pairs]
    shown = [int(o.claimed and proved(o, q)) for o, q in pairs]
    return {
        "count": sum(claimed),
        "true": share(true, claimed, seed=seed),
        "proved": share(shown, claimed, seed=seed),
    }


def share(parts: Sequence[int], wholes: Sequence[int], *, seed: int) -> dict[str, float] | None:
    """Sum over sum with its interval over questions; None of nothing."""
    return ratio_interval(parts, wholes, seed=seed).to_dict() if sum(wholes) else None
