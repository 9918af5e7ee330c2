"""The two drivers of flows: one blocks, one awaits. What a flow decides is the same under both."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from typing import Any, TypeVar, overload

from perspective_rag.errors import PerspectiveRAGError
from perspective_rag.flow.calls import (
    Limits,
    answers_from_loop,
    answers_from_threads,
    remembered,
)
from perspective_rag.flow.recorder import Recorder
from perspective_rag.flow.steps import Call, Flow, Note, Reply, Step, Work
from perspective_rag.flow.threads import in_thread
from perspective_rag.redaction import raise_scrubbed, scrubbed

R = TypeVar("R")


@overload
def run(flow: Flow[R], recorder: Recorder | None = None, limits: Limits | None = None) -> R: ...
@overload
def run(flow: R, recorder: Recorder | None = None, limits: Limits | None = None) -> R: ...
def run(flow: Any, recorder: Recorder | None = None, limits: Limits | None = None) -> Any:
    """Drives a flow to its end in the calling thread; works inside a running event loop too.

    What is no flow is returned as it is: components may be plain functions.
    """
    if not isinstance(flow, Generator):
        return flow
    recorder, limits = recorder or Recorder(), limits or Limits()
    replies: Any = None
    try:
        while True:
            try:
                steps = flow.send(replies)
            except StopIteration as stop:
                return stop.value
            calls = recorder.watched([step for step in steps if isinstance(step, Call)])
            started = time.perf_counter()
            answered = remembered(calls, answers_from_threads(calls, limits), limits)
            seconds = time.perf_counter() - started
            done = [_done(step) for step in steps if isinstance(step, Work)]
            replies = _recorded(steps, calls, answered, done, seconds, recorder)
    except BaseException as error:
        recorder.failed(error)
        if isinstance(error, Exception) and not isinstance(error, PerspectiveRAGError):
            raise_scrubbed(error)
        raise
    finally:
        flow.close()


@overload
async def arun(
    flow: Flow[R], recorder: Recorder | None = None, limits: Limits | None = None
) -> R: ...
@overload
async def arun(flow: R, recorder: Recorder | None = None, limits: Limits | None = None) -> R: ...
async def arun(flow: Any, recorder: Recorder | None = None, limits: Limits | None = None) -> Any:
    """The same as ``run``, without blocking the event loop: calls without an async form, and
    ``Work``, run in threads.
    """
    if not isinstance(flow, Generator):
        return flow
    recorder, limits = recorder or Recorder(), limits or Limits()
    replies: Any = None
    try:
        while True:
            try:
                steps = flow.send(replies)
            except StopIteration as stop:
                return stop.value
            calls = recorder.watched([step for step in steps if isinstance(step, Call)])
            started = time.perf_counter()
            answered = remembered(calls, await answers_from_loop(calls, limits), limits)
            seconds = time.perf_counter() - started
            done = [await in_thread(_done, step) for step in steps if isinstance(step, Work)]
            replies = _recorded(steps, calls, answered, done, seconds, recorder)
    except BaseException as error:
        recorder.failed(error)
        if isinstance(error, Exception) and not isinstance(error, PerspectiveRAGError):
            raise_scrubbed(error)
        raise
    finally:
        flow.close()


def _done(work: Work) -> Reply:
    try:
        return Reply(work.function())
    except Exception as error:
        return Reply(error=error)


def _recorded(
    steps: Sequence[Step],
    calls: Sequence[Call],
    answered: Sequence[Reply],
    done: Sequence[Reply],
    seconds: float,
    recorder: Recorder,
) -> list[Reply]:
    # What a server or a store says may hold the key it was sent.
    answered = [_without_secrets(reply) for reply in answered]
    recorder.batch(calls, answered, seconds)
    answers, works = iter(answered), iter(done)
    return [
        recorder.note(step)
        if isinstance(step, Note)
        else next(works if isinstance(step, Work) else answers)
        for step in steps
    ]


def _without_secrets(reply: Reply) -> Reply:
    return reply if reply.error is None else Reply(reply.value, scrubbed(reply.error))
