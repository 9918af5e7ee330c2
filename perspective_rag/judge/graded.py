"""A judge's verdicts as grades: probabilities of one scale, whatever judge they come from."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perspective_rag.flow.steps import Flow
from perspective_rag.judge.support import (
    OfInner,
    contradictions,
    judge_table,
    judge_two,
    listing_rule,
    sides_rule,
)
from perspective_rag.protocols import Judge
from perspective_rag.types import ListingRule, Matrix, Passage, Perspective, Vector

GRADES = {"clear": 0.95, "fair": 0.8, "leaning": 0.55}
"""P(support) of a grade."""
NO_SUPPORT = 0.03
CANNOT_TELL = 0.25
RULE = ListingRule(threshold=0.7, leaning=0.5, lead=0.2, silent=0.05)
"""Clear and fair support is listed, leaning is not; of ``NO_SUPPORT`` the judge is sure."""

_OF_VERDICT = {
    "clear": GRADES["fair"],
    "leaning": GRADES["leaning"],
    "mixed": GRADES["leaning"],
    "silent": NO_SUPPORT,
    "unsorted": CANNOT_TELL,
}


class GradedJudge(OfInner):
    """A judge whose verdicts, by its own listing rule, stand as grades: what it lists is "fair".

    So it can stand in for a judge that gives grades, and ``RULE`` lists what it lists.
    """

    def __init__(self, judge: Judge) -> None:
        self.inner = judge

    @property
    def threshold(self) -> float:
        """The grades'."""
        return RULE.leaning

    @property
    def listing(self) -> ListingRule:
        """``RULE``."""
        return RULE

    @property
    def sides_listing(self) -> ListingRule | None:
        """``RULE`` where the judge reads two sides together, else None."""
        return None if sides_rule(self.inner) is None else RULE

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """The grades, shape (n_passages, n_perspectives), NaN where it could not judge."""
        support = yield from judge_table(self.inner, perspectives, passages)
        return _graded(support, listing_rule(self.inner), perspectives)

    def judge_sides(
        self,
        sides: tuple[Perspective, Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
    ) -> Flow[Matrix]:
        """The grades of two contradicting sides, shape (n, 2), NaN where it could not judge."""
        rule = sides_rule(self.inner)
        assert rule is not None
        support = yield from judge_two(self.inner, sides, passages, relevance)
        return _graded(support, rule, sides, exclusive=True)


def _graded(
    support: Matrix,
    rule: ListingRule,
    perspectives: Sequence[Perspective],
    *,
    exclusive: bool = False,
) -> Matrix:
    contradicts = contradictions(perspectives, exclusive=exclusive)
    verdicts = rule.verdicts(support, contradicts)
    grades = np.array([_OF_VERDICT[each] for each in verdicts.ravel().tolist()])
    return np.where(np.isnan(support), np.nan, grades.reshape(support.shape))
