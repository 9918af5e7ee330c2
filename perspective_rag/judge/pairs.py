"""Judges of single (statement, passage) pairs, from a model or a function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.errors import ConfigError, JudgeError, MissingDependency, between
from perspective_rag.flow.request import degrade
from perspective_rag.flow.steps import Flow, Reply, as_function, call
from perspective_rag.judge.support import checked, in_range, judge_table
from perspective_rag.protocols import Judge
from perspective_rag.types import Matrix, Passage, Perspective, Vector

Pair = tuple[Passage, Perspective]


def revision_of(judge: Judge) -> str:
    """What identifies a judge's verdicts: judges of equal revisions judge alike.

    Raises ConfigError for a judge that does not say its ``revision``.
    """
    revision = getattr(judge, "revision", None)
    if not isinstance(revision, str) or not revision:
        raise ConfigError(
            f"judge {judge.name!r} has no revision, so its verdicts cannot be told from another's: "
            "give it a text attribute `revision` that changes with its model, prompt and settings"
        )
    return revision


@runtime_checkable
class JudgesPairs(Protocol):
    """A judge that can be asked about single pairs as well as about a whole table.

    ``judge_pairs`` gives shape (n,): P(passages[i] supports perspectives[i]), NaN where it could
    not judge.
    """

    def judge_pairs(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Vector]: ...


def judge_pairs(
    judge: Judge, perspectives: Sequence[Perspective], passages: Sequence[Passage]
) -> Flow[Vector]:
    """P(passages[i] supports perspectives[i]), shape (n,), from any judge.

    A judge that only fills tables is asked once where the pairs are a whole table (every passage
    with every perspective), else once for each distinct perspective. A judge that raises or returns
    nonsense is recorded, and its pairs are NaN.
    """
    support: Vector = np.full(len(passages), np.nan)
    every = [(list(range(len(passages))), perspectives)]
    pairs = judge if isinstance(judge, JudgesPairs) else None
    for rows, asked in _tables(perspectives, passages) if pairs is None else every:
        try:
            if pairs is None:
                chosen = [passages[i] for i in rows[:: len(asked)]]
                support[rows] = (yield from judge_table(judge, asked, chosen)).ravel()
            else:
                own = pairs.judge_pairs(perspectives, passages)
                support[rows] = yield from checked(judge.name, own, (len(rows),))
        except Exception as error:
            not_judged(judge.name, len(rows), len(rows), error)
    return support


def _tables(
    perspectives: Sequence[Perspective], passages: Sequence[Passage]
) -> list[tuple[list[int], Sequence[Perspective]]]:
    """The pairs as tables: their places, passage by passage, and the perspectives of each table."""
    distinct = list(dict.fromkeys(perspectives))
    m, n = len(distinct), len(passages)
    by_passage = all(passages[i] is passages[i - i % m] for i in range(n))
    if m and by_passage and list(perspectives) == distinct * (n // m):
        return [(list(range(n)), distinct)]
    return [([i for i in range(n) if perspectives[i] == each], [each]) for each in distinct]


class TableOfPairs:
    """The table of a judge that judges pairs."""

    def judge(
        self: JudgesPairs, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """Judges every passage beside every perspective.

        Args:
            perspectives: The perspectives of a question.
            passages: The passages to judge.

        Returns:
            P(support), shape (n_passages, n_perspectives); NaN where it could not be judged.
        """
        shape = (len(passages), len(perspectives))
        if not passages or not perspectives:
            return np.zeros(shape)
        pairs = [(each, passage) for passage in passages for each in perspectives]
        values = yield from self.judge_pairs([p for p, _ in pairs], [d for _, d in pairs])
        return np.asarray(values, dtype=float).reshape(shape)


def judge_at_once(
    table: Callable[[Sequence[Perspective], Sequence[Passage]], Matrix],
    perspectives: Sequence[Perspective],
    passages: Sequence[Passage],
) -> Flow[Matrix]:
    """What ``table`` gives, shape (n_passages, n_perspectives), as one call that counts its pairs;
    raises what it raises.
    """
    pairs = len(passages) * len(perspectives)
    reply = yield from call("judge", table, perspectives, passages, counts={"judged_pairs": pairs})
    if reply.error is not None:
        raise reply.error
    found: Matrix = reply.value
    return found


def in_batches(
    stage: str,
    read: Callable[[Sequence[Any]], Matrix],
    asked: Sequence[Any],
    size: int,
    pairs: int = 1,
) -> Flow[Reply]:
    """What ``read`` says of what is asked, ``size`` at a time: shape (n, 2), and the first error.

    A batch that fails, or runs into its time limit, is NaN and takes no other with it; two in a row
    end it. Each of what is asked counts as so many ``pairs``.
    """
    found: Matrix = np.full((len(asked), 2), np.nan)
    first, failures = None, 0
    for start in range(0, len(asked), size):
        batch = asked[start : start + size]
        reply = yield from call(stage, read, batch, counts={"judged_pairs": pairs * len(batch)})
        if reply.error is None:
            found[start : start + size], failures = reply.value, 0
            continue
        first, failures = first or reply.error, failures + 1
        if failures == 2:
            break
    return Reply(found, first)


def not_judged(name: str, failed: int, asked: int, error: Exception | None = None) -> None:
    """Records that pairs could not be judged; in strict mode raises a JudgeError.

    Raises ConfigError and MissingDependency as they are: the same would fail again every time.
    """
    if isinstance(error, (ConfigError, MissingDependency)):
        raise error
    problem = JudgeError(f"judge {name!r} could not judge {failed} of {asked} pairs: {error!r}")
    problem.__cause__ = error
    degrade("judge", f"{failed} of {asked} pairs could not be judged", problem)


JudgeFunction = Callable[[list[Perspective], list[Passage]], ArrayLike | Awaitable[ArrayLike]]


class CallableJudge:
    """A judge from a function of your own, plain or ``async``.

    A function that raises leaves NaN and a recorded degradation (strict mode: JudgeError).

    Args:
        function: Given a list of ``Perspective`` and a list of ``Passage``, it returns one row for
            each passage with one number for each perspective: P(the passage supports the
            perspective) in [0, 1], or NaN or None where it cannot say.
        name: Stands for the judge in traces and messages. ``CachedJudge`` needs it: change it when
            the function changes. None: the function's own name.
        threshold: In [0, 1]: probability from which a passage counts as supporting. Higher: fewer
            do.

    Raises:
        ConfigError: The function does not take two arguments, or the threshold is out of range.
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
        """Asks the function once about all passages and perspectives.

        Args:
            perspectives: The perspectives of a question.
            passages: The passages to judge.

        Returns:
            P(support), shape (n_passages, n_perspectives); NaN where the function could not say.

        Raises:
            ConfigError: The rows have another shape, or hold numbers outside [0, 1].
        """
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
        try:
            return in_range(reply.value, shape, self.name)
        except (ConfigError, JudgeError) as error:
            raise ConfigError(
                f"the function of judge {self.name!r} must return one row for each passage with "
                f"one probability in [0, 1] for each perspective: {error}"
            ) from error
