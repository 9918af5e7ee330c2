"""One question while it is answered: its options and components, and the trace of it."""

from __future__ import annotations

import inspect
import logging
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from typing import Any, ParamSpec, Protocol, TypeVar, cast, runtime_checkable

from perspective_rag.errors import PerspectiveRAGError
from perspective_rag.flow.limiter import Limiter, Limits
from perspective_rag.flow.steps import Call, Note, Reply
from perspective_rag.options import PipelineOptions
from perspective_rag.protocols import Embedder, Judge, Projection, SecondJudge, Selector, Store
from perspective_rag.redaction import scrubbed
from perspective_rag.text import printable
from perspective_rag.types import (
    Completion,
    Degradation,
    Passage,
    Query,
    RelevanceFloor,
    Trace,
    Vector,
    passage_key,
)

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Observer(Protocol):
    """Follows one request, step by step, in the thread that runs it."""

    def calls(self, call: Call) -> Call:
        """Is told of a call before it is made.

        Args:
            call: The call.

        Returns:
            The call to make instead: the same, or one whose functions do more around it. They run
            in whatever thread makes the call.
        """

    def answered(self, call: Call, reply: Reply) -> None:
        """Is told what came of a call.

        Args:
            call: The call that ``calls`` returned.
            reply: Its reply, also where the call was given up.
        """

    def noted(self, note: Note) -> None:
        """Is told every note, those that begin and end a stage among them.

        Args:
            note: The note.
        """

    def failed(self, error: BaseException) -> None:
        """Is told that the request ends in an error, or is cancelled.

        Args:
            error: What ended it.
        """


@runtime_checkable
class Telemetry(Protocol):
    """Makes an observer for every request; one serves any number of threads and event loops.

    An observer that raises never fails a request: it is logged, recorded as a degradation and left
    out of the rest of that request.
    """

    def observe(self, question: str, options: PipelineOptions) -> Observer:
        """Begins to follow a request.

        Args:
            question: The question.
            options: The options of the request.

        Returns:
            The observer of this request.
        """


_LOGGER = logging.getLogger("perspective_rag")


@dataclass(slots=True)
class Recorder:
    """Gathers the trace of one request, tells the observer, and logs what went wrong.

    ``refused`` is the error with which strict mode ends the request, also where a component caught
    it.
    """

    strict: bool = False
    observer: Observer | None = None
    queries: list[Query] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    counts: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    degradations: list[Degradation] = field(default_factory=list)
    decisions: list[dict[str, Any]] = field(default_factory=list)
    refused: PerspectiveRAGError | None = None
    _stages: int = 0

    def note(self, step: Note) -> None:
        """Keeps a note; in strict mode raises the error of a degradation."""
        self._tell(lambda observer: observer.noted(step), None)
        self.counts.update(step.counts)
        self.queries.extend(step.queries)
        if step.decision is not None:
            self.decisions.append(dict(step.decision))
        if step.warning:
            _LOGGER.warning("%s", step.warning, extra={"perspective_rag": step.decision or {}})
        found = step.degradation
        if found is None:
            return
        if not self.strict:
            self._keep(found)
            return
        if self.refused is None and isinstance(found.error, PerspectiveRAGError):
            self.refused = found.error
        elif self.refused is None:
            self.refused = PerspectiveRAGError(f"{found.stage}: {found.message}")
            self.refused.__cause__ = found.error
        raise self.refused

    def degrade(self, stage: str, message: str, error: Exception | None = None) -> None:
        """Records a degradation, without secrets; in strict mode raises it."""
        self.note(Note(degradation=Degradation(stage, message, error)))

    def _keep(self, found: Degradation) -> None:
        """Keeps a degradation and logs it, once in a request, with ``Degradation.to_dict()`` as the
        log record's attribute ``perspective_rag``.
        """
        if found not in self.degradations:
            cause = "" if found.error is None else f": {found.error!r}"
            said = printable(f"degraded, {found.stage}: {found.message}{cause}")
            _LOGGER.warning("%s", said, extra={"perspective_rag": found.to_dict()})
        self.degradations.append(found)

    @contextmanager
    def stage(self, name: str, *, whole: bool) -> Iterator[list[Any]]:
        """Tells the observer that the ``whole`` request or a stage of it begins and, with the
        outcome put into the list, that it ends; of one that raises no end is told. A stage within
        a stage is part of that, and one run alone is none.
        """
        told = whole if self._stages == 0 else self._stages == 1
        self._stages += told or self._stages > 0
        outcome: list[Any] = []
        try:
            if told:
                self.note(Note(begins=name))
            yield outcome
            if told:
                self.note(Note(ends=name, outcome=outcome[0]))
        finally:
            self._stages = max(0, self._stages - 1)

    def batch(self, calls: Sequence[Call], replies: Sequence[Reply], seconds: float) -> None:
        """Adds a batch of calls: its seconds are shared out evenly, because the calls ran side by
        side.
        """
        for step, reply in zip(calls, replies, strict=True):
            self._told_of(step, reply)
            self.calls[step.stage] += 1
            self.seconds[step.stage] += seconds / len(calls)
            self.counts.update(step.counts)
            for value in reply.value if isinstance(reply.value, list) else [reply.value]:
                if isinstance(value, Completion):
                    self.prompt_tokens += _tokens(value.prompt_tokens)
                    self.completion_tokens += _tokens(value.completion_tokens)

    def _told_of(self, step: Call, reply: Reply) -> None:
        self._tell(lambda observer: observer.answered(step, reply), None)

    def watched(self, calls: Sequence[Call]) -> list[Call]:
        """The calls to make: those that are asked for, or what the observer makes of them."""
        return [self._watched(step) for step in calls]

    def _watched(self, step: Call) -> Call:
        return self._tell(lambda observer: observer.calls(step), step)

    def failed(self, error: BaseException) -> None:
        """Tells the observer that the request ends in an error."""
        self._tell(lambda observer: observer.failed(error), None)

    def observed_by(self, telemetry: Telemetry, question: str, options: PipelineOptions) -> None:
        """Tells an observer of this telemetry all that comes."""
        try:
            self.observer = telemetry.observe(question, options)
        except Exception as error:
            self._lose_observer(error)

    def _tell(self, tell: Callable[[Observer], T], otherwise: T) -> T:
        """What the observer says; one that fails is recorded and told nothing more."""
        if self.observer is None:
            return otherwise
        try:
            return tell(self.observer)
        except Exception as error:
            self._lose_observer(error)
            return otherwise

    def _lose_observer(self, error: Exception) -> None:
        self.observer = None
        said = "it failed and is told nothing more of this request"
        self._keep(Degradation("telemetry", said, scrubbed(error)))

    def trace(self) -> Trace:
        """The trace so far."""
        return Trace(
            queries=tuple(self.queries),
            calls=dict(self.calls),
            seconds=dict(self.seconds),
            counts=dict(self.counts),
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            degradations=tuple(self.degradations),
            decisions=tuple(self.decisions),
        )


def _tokens(count: Any) -> int:
    return count if isinstance(count, int) and count > 0 else 0


RECORDER: ContextVar[Recorder | None] = ContextVar("perspective_rag_recorder", default=None)
"""The recorder of the request that is under way."""


def recorder() -> Recorder:
    """That of the request to which this code belongs; outside of any, one that only logs."""
    return RECORDER.get() or Recorder()


def note(
    *,
    counts: Mapping[str, int] | None = None,
    queries: Sequence[Query] = (),
    decision: Mapping[str, Any] | None = None,
    warning: str = "",
) -> None:
    """Adds to the trace of the request that is under way.

    Args:
        counts: Quantities, added up by name.
        queries: Queries that are searched.
        decision: What was chosen and why.
        warning: A line for the log.
    """
    recorder().note(Note(counts or {}, queries, decision, warning=warning))


def degrade(stage: str, message: str, error: Exception | None = None) -> None:
    """Records in the trace that something failed, without the secrets in it; the request goes on.

    Args:
        stage: Where it happened.
        message: What failed, and what is done instead.
        error: What was raised, if anything.

    Raises:
        PerspectiveRAGError: In strict mode.
    """
    recorder().degrade(stage, message, error)


def stage(step: Callable[P, R]) -> Callable[P, R]:
    """A step of a request, a flow or a plain function, as a stage of the name it has: who observes
    the request is told when it begins and what it gave.
    """
    return _observe(step, whole=False)


def whole_request(step: Callable[P, R]) -> Callable[P, R]:
    """The same of all the stages together."""
    return _observe(step, whole=True)


def _observe(step: Callable[P, R], *, whole: bool) -> Callable[P, R]:
    name = step.__name__.lstrip("_")

    @wraps(step)
    def plain(*args: P.args, **kwargs: P.kwargs) -> Any:
        with recorder().stage(name, whole=whole) as outcome:
            outcome.append(step(*args, **kwargs))
        return outcome[0]

    @wraps(step)
    def flow(*args: P.args, **kwargs: P.kwargs) -> Any:
        with recorder().stage(name, whole=whole) as outcome:
            outcome.append((yield from cast(Any, step(*args, **kwargs))))
        return outcome[0]

    return flow if inspect.isgeneratorfunction(step) else plain


@dataclass(slots=True)
class Request:
    """One question with its options, the components that answer it, and what is known so far.

    ``pipeline.request(question)`` makes one.

    Attributes:
        question: The question.
        options: The options of this request.
        store: What is searched.
        projection: Changes the vectors of queries.
        embedder: Embeds texts; None: a store that searches by text.
        judge: Says what supports what; None: nothing is judged.
        second_judge: Reads again what is about to be listed; None: nothing is.
        selector: Chooses the k passages; None: ``PlainFirst``.
        filter: The store's filter for every search; None: no filter.
        floor: From which relevance a passage is about the question; None: all are.
        scale: What the embedder's cosines mean to a judge that counts them; None: unknown.
        limiter: What all requests together may do; None: no limit.
        telemetry: Makes the observer of this request; None: nobody observes.
        identity: The key of a passage; passages with equal keys are one.
        recorder: Gathers the trace.
        limits: The limits of calls: time-out, concurrency, limiter.
        vectors: Vector by text, so that no text is embedded twice.
        found: The keys of all passages that were found.
        read_in_lists: The Python ids of the passages that a judge of lists was asked about, with or
            without an answer.
        started: When the request began, by ``time.monotonic``.
    """

    question: str
    options: PipelineOptions
    store: Store
    projection: Projection
    embedder: Embedder | None = None
    judge: Judge | None = None
    second_judge: SecondJudge | None = None
    selector: Selector | None = None
    filter: Any = None
    floor: RelevanceFloor | None = None
    scale: RelevanceFloor | None = None
    limiter: Limiter | None = None
    telemetry: Telemetry | None = None
    identity: Callable[[Passage], str] = passage_key
    recorder: Recorder = field(init=False)
    limits: Limits = field(init=False)
    vectors: dict[str, Vector] = field(default_factory=dict)
    found: set[str] = field(default_factory=set)
    read_in_lists: set[int] = field(default_factory=set)
    started: float = field(default_factory=time.monotonic)
    _keys: dict[int, tuple[Passage, str]] = field(default_factory=dict)
    _identity_failed: bool = False

    def __post_init__(self) -> None:
        options = self.options
        self.recorder = Recorder(options.strict)
        if self.telemetry is not None:
            self.recorder.observed_by(self.telemetry, self.question, options)
        self.limits = Limits(options.timeout, options.max_concurrency, self.limiter)

    def keys(self, passages: Sequence[Passage]) -> list[str]:
        """Identifies passages.

        A passage is asked about once, and keeps its key. Where ``identity`` fails, the passage's
        own id takes its place, and the trace records that once.

        Args:
            passages: n passages.

        Returns:
            n keys, in their order.
        """
        failed = None
        for passage in passages:
            if id(passage) in self._keys:
                continue
            try:
                key = self.identity(passage)
            except Exception as error:
                key, failed = passage_key(passage), failed or error
            self._keys[id(passage)] = passage, key  # held, so that no other gets its id
        if failed is not None and not self._identity_failed:
            self._identity_failed = True
            problem = "dedup_key failed: passages are told apart by their ids"
            self.recorder.degrade("merge", problem, failed)
        return [self._keys[id(passage)][1] for passage in passages]

    @property
    def elapsed(self) -> float:
        """Seconds since the request began."""
        return time.monotonic() - self.started
