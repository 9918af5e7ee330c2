"""Multi-step logic written once, driven synchronously or asynchronously.

A flow is a generator. It yields a batch of steps (calls to models and stores that do not depend on
each other, and degradations to record) and is sent a reply for each. The drivers run a batch
concurrently, within a limit and a time-out, and keep the books; what a flow decides is the same
under both. (httpx does this for authentication: ``httpx._auth.Auth.auth_flow``.)
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from perspective_rag.calls import Call as Call
from perspective_rag.calls import Limits as Limits
from perspective_rag.calls import Reply as Reply
from perspective_rag.calls import answers_from_loop, answers_from_threads
from perspective_rag.errors import PerspectiveRAGError
from perspective_rag.types import Completion, Degradation, Prompt, Query, Trace

R = TypeVar("R")


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
    decisions: list[dict[str, Any]] = field(default_factory=list)

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
            for value in reply.value if isinstance(reply.value, list) else [reply.value]:
                if isinstance(value, Completion):
                    self.prompt_tokens += value.prompt_tokens
                    self.completion_tokens += value.completion_tokens

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
            decisions=tuple(self.decisions),
        )


def run(flow: Flow[R], recorder: Recorder | None = None, limits: Limits | None = None) -> R:
    """Drives a flow to its end in the calling thread; works inside a running event loop too."""
    recorder, limits = recorder or Recorder(), limits or Limits()
    replies: Any = None
    try:
        while True:
            steps = flow.send(replies)
            calls = [step for step in steps if isinstance(step, Call)]
            started = time.perf_counter()
            answered = answers_from_threads(calls, limits)
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
            answered = await answers_from_loop(calls, limits)
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
