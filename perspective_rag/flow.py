"""Multi-step logic written once, driven synchronously or asynchronously.

A flow is a generator. It yields a batch of steps (calls to models and stores that do not depend on
each other, and degradations to record) and is sent a reply for each. The drivers run a batch
concurrently, within a limit and a time-out, and keep the books; what a flow decides is the same
under both. (httpx does this for authentication: ``httpx._auth.Auth.auth_flow``.)
"""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from perspective_rag.errors import PerspectiveRAGError
from perspective_rag.types import Completion, Degradation, Prompt, Query, Trace

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Call:
    """A call to something outside: ``function(*args, **kwargs)``, or ``afunction`` where it is
    given and awaited.

    ``counts`` are quantities added to the trace when the call is made, e.g. ``{"judged_pairs":
    20}``.
    """

    stage: str
    function: Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    afunction: Callable[..., Awaitable[Any]] | None = None
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a step: its value, or the error it ended with."""

    value: Any = None
    error: Exception | None = None


Step = Call | Degradation
Flow = Generator[Sequence[Step], Sequence[Reply], R]


def call(
    stage: str,
    function: Callable[..., Any],
    *args: Any,
    afunction: Callable[..., Awaitable[Any]] | None = None,
    counts: dict[str, int] | None = None,
    **kwargs: Any,
) -> Flow[Reply]:
    """A flow of one call: ``reply = yield from call("judge", model.score, pairs)``."""
    replies = yield [Call(stage, function, args, kwargs, afunction, counts or {})]
    return replies[0]


def ask(stage: str, llm: Any, prompts: Sequence[Prompt]) -> Flow[Sequence[Reply]]:
    """A flow that sends prompts to a language model, all at once; the replies' values are
    Completions.
    """
    replies = yield [
        Call(stage, llm.complete, (prompt,), afunction=llm.acomplete) for prompt in prompts
    ]
    return replies


def degrade(stage: str, message: str, error: Exception | None = None) -> Flow[None]:
    """A flow that records a degradation; in strict mode the driver raises it."""
    yield [Degradation(stage, message, error)]


@dataclass(slots=True)
class Recorder:
    """The books of one request; one recorder belongs to one run of one flow."""

    strict: bool = False
    queries: list[Query] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    counts: Counter[str] = field(default_factory=Counter)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    degradations: list[Degradation] = field(default_factory=list)

    def degradation(self, step: Degradation) -> Reply:
        """Keeps a degradation, or raises it in strict mode."""
        if self.strict:
            if isinstance(step.error, PerspectiveRAGError):
                raise step.error
            raise PerspectiveRAGError(f"{step.stage}: {step.message}") from step.error
        self.degradations.append(step)
        return Reply()

    def batch(self, calls: Sequence[Call], replies: Sequence[Reply], seconds: float) -> None:
        """Books a batch of calls: its seconds are shared out evenly, because the calls ran side by
        side.
        """
        for step, reply in zip(calls, replies, strict=True):
            self.calls[step.stage] += 1
            self.seconds[step.stage] += seconds / len(calls)
            self.counts.update(step.counts)
            if isinstance(reply.value, Completion):
                self.prompt_tokens += reply.value.prompt_tokens
                self.completion_tokens += reply.value.completion_tokens

    def trace(self) -> Trace:
        """The books so far."""
        return Trace(
            queries=tuple(self.queries),
            calls=dict(self.calls),
            seconds=dict(self.seconds),
            counts=dict(self.counts),
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            degradations=tuple(self.degradations),
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """``timeout``: seconds for one call (None: no limit); ``max_concurrency``: calls of one batch
    at a time.
    """

    timeout: float | None = 60.0
    max_concurrency: int = 8


def run(flow: Flow[R], recorder: Recorder | None = None, limits: Limits | None = None) -> R:
    """Drives a flow to its end in the calling thread; works inside a running event loop too."""
    recorder, limits = recorder or Recorder(), limits or Limits()
    replies: Any = None
    try:
        while True:
            steps = flow.send(replies)
            calls = [step for step in steps if isinstance(step, Call)]
            started = time.perf_counter()
            answered = _answers_from_threads(calls, limits)
            replies = _booked(steps, calls, answered, time.perf_counter() - started, recorder)
    except StopIteration as stop:
        result: R = stop.value
        return result
    finally:
        flow.close()


async def arun(flow: Flow[R], recorder: Recorder | None = None, limits: Limits | None = None) -> R:
    """Drives a flow to its end without blocking the event loop: calls without an async form run in
    threads.
    """
    recorder, limits = recorder or Recorder(), limits or Limits()
    replies: Any = None
    try:
        while True:
            steps = flow.send(replies)
            calls = [step for step in steps if isinstance(step, Call)]
            started = time.perf_counter()
            answered = await _answers_from_loop(calls, limits)
            replies = _booked(steps, calls, answered, time.perf_counter() - started, recorder)
    except StopIteration as stop:
        result: R = stop.value
        return result
    finally:
        flow.close()


def _booked(
    steps: Sequence[Step],
    calls: Sequence[Call],
    answered: Sequence[Reply],
    seconds: float,
    recorder: Recorder,
) -> list[Reply]:
    recorder.batch(calls, answered, seconds)
    answers = iter(answered)
    return [
        recorder.degradation(step) if isinstance(step, Degradation) else next(answers)
        for step in steps
    ]


def _too_late(step: Call, limits: Limits) -> Reply:
    return Reply(error=TimeoutError(f"{step.stage} did not answer within {limits.timeout:g} s"))


def _attempt(step: Call) -> Reply | BaseException:
    try:
        return Reply(step.function(*step.args, **step.kwargs))
    except Exception as error:
        return Reply(error=error)
    except BaseException as stop:  # KeyboardInterrupt and the like end the run, in its own thread
        return stop


def _reply(outcome: Reply | BaseException) -> Reply:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _answers_from_threads(calls: Sequence[Call], limits: Limits) -> list[Reply]:
    if limits.timeout is None and len(calls) == 1:
        return [_reply(_attempt(calls[0]))]
    waiting = deque(enumerate(calls))
    contexts = [contextvars.copy_context() for _ in calls]
    began: dict[int, float] = {}
    done: queue.SimpleQueue[tuple[int, Reply | BaseException]] = queue.SimpleQueue()

    def work() -> None:
        while waiting:
            try:
                index, step = waiting.popleft()
            except IndexError:  # another worker took the last one
                return
            began[index] = time.monotonic()
            done.put((index, contexts[index].run(_attempt, step)))

    def start_worker() -> None:
        # Daemon threads: a call that never returns must not keep the process alive.
        threading.Thread(target=work, daemon=True, name="perspective-rag-call").start()

    for _ in range(min(limits.max_concurrency, len(calls))):
        start_worker()
    replies: dict[int, Reply] = {}
    while len(replies) < len(calls):
        try:
            index, outcome = done.get(timeout=_patience(began, replies, limits))
            replies.setdefault(index, _reply(outcome))
        except queue.Empty:
            now = time.monotonic()
            for index, start in list(began.items()):
                if (
                    index not in replies
                    and limits.timeout is not None
                    and now - start >= limits.timeout
                ):
                    replies[index] = _too_late(calls[index], limits)
                    start_worker()  # the one that is stuck serves nobody else
    return [replies[index] for index in range(len(calls))]


def _patience(began: dict[int, float], replies: dict[int, Reply], limits: Limits) -> float | None:
    if limits.timeout is None:
        return None
    starts = [start for index, start in list(began.items()) if index not in replies]
    oldest = min(starts, default=time.monotonic())
    return max(0.0, oldest + limits.timeout - time.monotonic()) + 0.001


async def _answers_from_loop(calls: Sequence[Call], limits: Limits) -> list[Reply]:
    places = asyncio.Semaphore(limits.max_concurrency)

    async def answer(step: Call) -> Reply:
        async with places:
            try:
                if step.afunction is not None:
                    coming = step.afunction(*step.args, **step.kwargs)
                else:
                    coming = asyncio.to_thread(step.function, *step.args, **step.kwargs)
                return Reply(await asyncio.wait_for(coming, limits.timeout))
            except (TimeoutError, asyncio.TimeoutError):
                return _too_late(step, limits)
            except Exception as error:
                return Reply(error=error)

    return list(await asyncio.gather(*(answer(step) for step in calls)))
