"""A judge whose calls somebody watches: a framework's trace, for example."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from perspective_rag.flow.steps import Call, Flow, complete
from perspective_rag.judge.support import OfListReader, judge_table, judge_two
from perspective_rag.protocols import Judge, Judged, JudgesLists
from perspective_rag.types import Matrix, Passage, Perspective, Vector

R = TypeVar("R")
Watch = Callable[[Call, str, dict[str, Any]], Call]
"""``watch(call, name, inputs)``: the call to make instead, given the judge's name and what it is
asked: the texts of the perspectives and the ids of the passages.
"""


class WatchedJudge(OfListReader):
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
