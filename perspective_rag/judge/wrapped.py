"""Judges that stand in front of another one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import numpy as np

from perspective_rag.flow.steps import Call, Flow, complete
from perspective_rag.judge.support import (
    contradictions,
    judge_table,
    judge_two,
    list_reader,
    listing_rule,
    quick_judge,
    sides_rule,
)
from perspective_rag.protocols import Judge, Judged, JudgesLists
from perspective_rag.types import ListingRule, Matrix, Passage, Perspective, Vector

R = TypeVar("R")


class WrappedJudge:
    """A judge that asks the judge ``inner``, and has its name, threshold, rules, languages and size
    of lists.
    """

    inner: Judge

    @property
    def name(self) -> str:
        """The judge's own."""
        return self.inner.name

    @property
    def threshold(self) -> float:
        """The judge's own."""
        return self.inner.threshold

    @property
    def languages(self) -> tuple[str, ...]:
        """The judge's own; empty where it names none."""
        return tuple(getattr(self.inner, "languages", ()))

    @property
    def listing(self) -> ListingRule:
        """The judge's own, else its threshold."""
        return listing_rule(self.inner)

    @property
    def sides_listing(self) -> ListingRule | None:
        """The judge's own where it reads two sides together, else None."""
        return sides_rule(self.inner)

    @property
    def quick(self) -> Judge | None:
        """What reads single sentences: itself, or what the judge has for that."""
        own = quick_judge(self.inner)
        return cast("Judge", self) if own is self.inner else own

    @property
    def batch_size(self) -> int | None:
        """The judge's own where it reads lists, else None."""
        lists = list_reader(self.inner)
        return None if lists is None else lists.batch_size


Watch = Callable[[Call, str, dict[str, Any]], Call]
"""``watch(call, name, inputs)``: the call to make instead, given the judge's name and what it is
asked: the texts of the perspectives and the ids of the passages.
"""


class WatchedJudge(WrappedJudge):
    """A judge whose calls are replaced by those that ``watch`` makes of them: for tracing.

    It offers all that ``judge`` offers: lists, two sides, listing rules.

    Args:
        judge: The judge.
        watch: ``watch(call, name, inputs)`` returns the call to make instead. ``name`` is the
            judge's, ``inputs`` holds the texts of the perspectives and the ids of the passages.
    """

    def __init__(self, judge: Judge, watch: Watch) -> None:
        self.inner = judge
        self._watch = watch

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """Asks the judge.

        Args:
            perspectives: m statements.
            passages: n passages.

        Returns:
            P(support), shape (n, m), as the judge gives it.
        """
        flow = judge_table(self.inner, perspectives, passages)
        return self._watching(flow, perspectives, passages)

    def judge_sides(
        self,
        sides: tuple[Perspective, Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
    ) -> Flow[Matrix]:
        """Asks the judge about two opposite sides.

        Args:
            sides: The two statements.
            passages: n passages.
            relevance: Shape (n,), as for ``JudgesSides.judge_sides``.

        Returns:
            Shape (n, 2), as the judge gives it.
        """
        flow = judge_two(self.inner, sides, passages, relevance)
        return self._watching(flow, sides, passages)

    def judge_list(
        self,
        question: str,
        perspectives: Sequence[Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
        *,
        exclusive: bool = False,
    ) -> Flow[Judged]:
        """Asks the judge about a list of candidates.

        Args:
            question: The question; may be empty.
            perspectives: m sides.
            passages: n passages.
            relevance: Shape (n,), as for ``JudgesSides.judge_sides``.
            exclusive: True: the perspectives contradict each other.

        Returns:
            What the judge says.
        """
        assert isinstance(self.inner, JudgesLists)
        answer = self.inner.judge_list(
            question, perspectives, passages, relevance, exclusive=exclusive
        )
        flow = complete(answer, f"judge {self.name!r}", "a Judged")
        return self._watching(flow, perspectives, passages)

    def _watching(
        self, flow: Flow[R], perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[R]:
        inputs = {
            "perspectives": [perspective.text for perspective in perspectives],
            "passages": [passage.id for passage in passages],
        }
        replies: Any = None
        try:
            while True:
                calls = flow.send(replies)
                replies = yield [self._watch(step, self.name, inputs) for step in calls]
        except StopIteration as stop:
            found: R = stop.value
            return found
        finally:
            flow.close()


GRADES = {"clear": 0.95, "fair": 0.8, "leaning": 0.55}
"""P(support) of a grade."""
NO_SUPPORT = 0.03
RULE = ListingRule(threshold=0.7, leaning=0.5, lead=0.2, silent=0.05)
"""Clear and fair support is listed, leaning is not; of ``NO_SUPPORT`` the judge is sure."""

_OF_VERDICT = {
    "clear": GRADES["fair"],
    "leaning": GRADES["leaning"],
    "mixed": GRADES["leaning"],
    "silent": NO_SUPPORT,
    "unsorted": 0.25,
}


class GradedJudge(WrappedJudge):
    """A judge whose verdicts, by its own listing rule, stand as grades: what it lists is "fair".

    So it can stand in for a judge that gives grades, and ``RULE`` lists what it lists.
    """

    threshold = RULE.leaning
    listing = RULE

    def __init__(self, judge: Judge) -> None:
        self.inner = judge

    @property
    def sides_listing(self) -> ListingRule | None:
        """``RULE`` where the judge reads two sides together, else None."""
        return None if sides_rule(self.inner) is None else RULE

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """The grades, shape (n_passages, n_perspectives), NaN where it could not judge."""
        support = yield from judge_table(self.inner, perspectives, passages)
        return _graded(support, listing_rule(self.inner), contradictions(perspectives))

    def judge_sides(
        self,
        sides: tuple[Perspective, Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
    ) -> Flow[Matrix]:
        """The grades of two contradicting sides, shape (n, 2), NaN where it could not judge."""
        support = yield from judge_two(self.inner, sides, passages, relevance)
        rule = sides_rule(self.inner) or RULE
        return _graded(support, rule, contradictions(sides, exclusive=True))


def _graded(support: Matrix, rule: ListingRule, contradicts: Any) -> Matrix:
    grades = np.vectorize(_OF_VERDICT.__getitem__, otypes=[float])(
        rule.verdicts(support, contradicts)
    )
    return np.where(np.isnan(support), np.nan, grades)
