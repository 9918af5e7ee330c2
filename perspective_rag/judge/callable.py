"""Your own function as a judge."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.errors import ConfigError, JudgeError
from perspective_rag.flow.functions import as_function
from perspective_rag.flow.steps import Flow, call
from perspective_rag.judge.pairs import not_judged
from perspective_rag.judge.support import in_range
from perspective_rag.types import Matrix, Passage, Perspective
from perspective_rag.validation import between

JudgeFunction = Callable[[list[Perspective], list[Passage]], ArrayLike | Awaitable[ArrayLike]]


class CallableJudge:
    """A judge from ``function(perspectives, passages) -> rows``, plain or ``async``.

    It gets lists of ``Perspective`` and ``Passage`` and returns one row for each passage with one
    number for each perspective: P(the passage supports the perspective) in [0, 1], or NaN or None
    where it cannot say. ``threshold`` is the probability from which a passage counts as supporting.
    ``name`` stands for the judge in traces and messages, and ``CachedJudge`` needs it: change it
    when the function changes.

    A function that raises leaves NaN and a recorded degradation (strict mode: JudgeError). Raises
    ConfigError for a function that does not take two arguments, and for rows of another shape or
    with numbers outside [0, 1].
    """

    def __init__(
        self, function: JudgeFunction, *, name: str | None = None, threshold: float = 0.5
    ) -> None:
        self._function = as_function("CallableJudge", function, ("perspectives", "passages"))
        self.name = name or self._function.name
        self._named = name is not None
        self.threshold = between("threshold", threshold)

    @property
    def revision(self) -> str:
        """The name that was given; without one, verdicts are kept in no cache."""
        return self.name if self._named else ""

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """P(support), shape (n_passages, n_perspectives), NaN where the function could not say."""
        shape = (len(passages), len(perspectives))
        if not passages or not perspectives:
            return np.zeros(shape)
        reply = yield from call(
            "judge",
            self._function.run,
            list(perspectives),
            list(passages),
            afunction=self._function.awaited,
            counts={"judged_pairs": len(passages) * len(perspectives)},
        )
        if reply.error is not None:
            pairs = len(passages) * len(perspectives)
            not_judged(self.name, pairs, pairs, reply.error)
            return np.full(shape, np.nan)
        return self._checked(reply.value, shape)

    def _checked(self, returned: Any, shape: tuple[int, int]) -> Matrix:
        try:
            return in_range(returned, shape, self.name)
        except (ConfigError, JudgeError) as error:
            raise ConfigError(
                f"the function of judge {self.name!r} must return one row for each passage with "
                f"one probability in [0, 1] for each perspective: {error}"
            ) from error
