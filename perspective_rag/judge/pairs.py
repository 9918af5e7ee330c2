"""Judges of single (statement, passage) pairs, from a model or a function."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.errors import ConfigError, JudgeError, MissingDependency, between
from perspective_rag.flow.request import degrade
from perspective_rag.flow.steps import Flow, Reply, as_function, call, complete
from perspective_rag.judge.support import in_range, judge_table
from perspective_rag.protocols import Judge
from perspective_rag.types import Matrix, Passage, Perspective, Vector


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
    every = list(range(len(passages)))
    at_once = isinstance(judge, JudgesPairs)
    for rows, asked in [(every, perspectives)] if at_once else _tables(perspectives, passages):
        try:
            if isinstance(judge, JudgesPairs):
                own = judge.judge_pairs(perspectives, passages)
                returns = f"an array of shape {(len(rows),)}"
                values = yield from complete(own, f"judge {judge.name!r}", returns)
                support[rows] = in_range(values, (len(rows),), judge.name)
            else:
                chosen = [passages[i] for i in rows[:: len(asked)]]
                table = yield from judge_table(judge, asked, chosen)
                support[rows] = table.ravel()
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


M = TypeVar("M")


class LoadedOnce(Generic[M]):
    """What a judge reads with: a model that was given, else what ``_load`` gives at the first
    judgement, once. All but a loaded model is sent to another process.
    """

    _load: Callable[[], M]

    def __init__(self, given: M | None) -> None:
        self._classifier = self._given = given
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_lock": None, "_classifier": self._given}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    def _model(self) -> M:
        with self._lock:
            if self._classifier is None:
                self._classifier = self._load()
            return self._classifier


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
    rows: Sequence[int],
    size: int,
    ask: Callable[[list[int]], Flow[Reply]],
    keep: Callable[[list[int], Any], None],
) -> Flow[Exception | None]:
    """Asks about the rows, ``size`` at a time, and hands what each batch gave to ``keep``.

    A batch that fails, or runs into its time limit, takes no other with it; two in a row end it.
    Returns the first error.
    """
    first, failures = None, 0
    for start in range(0, len(rows), size):
        batch = list(rows[start : start + size])
        reply = yield from ask(batch)
        if reply.value is not None:
            keep(batch, reply.value)
        first = first or reply.error
        failures = failures + 1 if reply.value is None else 0
        if failures == 2:
            break
    return first


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
        return self._check(reply.value, shape)

    def _check(self, returned: Any, shape: tuple[int, int]) -> Matrix:
        try:
            return in_range(returned, shape, self.name)
        except (ConfigError, JudgeError) as error:
            raise ConfigError(
                f"the function of judge {self.name!r} must return one row for each passage with "
                f"one probability in [0, 1] for each perspective: {error}"
            ) from error
