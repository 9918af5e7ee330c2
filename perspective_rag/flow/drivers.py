"""The driver of flows: it blocks the thread that runs it, and an event loop has a thread do so."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from typing import Any, TypeVar, cast, overload

from perspective_rag.errors import PerspectiveRAGError
from perspective_rag.flow.calls import Caller, Limits, remembered, replies_to
from perspective_rag.flow.recorder import Recorder
from perspective_rag.flow.recording import RECORDER
from perspective_rag.flow.steps import Flow, Reply
from perspective_rag.flow.threads import outcome_in_thread
from perspective_rag.redaction import raise_scrubbed, scrubbed

R = TypeVar("R")

# Seconds that who cancels a flow waits for its end; a plain function cannot be interrupted.
_GRACE = 1.0


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
    return _drive(flow, recorder or Recorder(), limits or Limits(), None)


@overload
async def arun(
    flow: Flow[R], recorder: Recorder | None = None, limits: Limits | None = None
) -> R: ...
@overload
async def arun(flow: R, recorder: Recorder | None = None, limits: Limits | None = None) -> R: ...
async def arun(flow: Any, recorder: Recorder | None = None, limits: Limits | None = None) -> Any:
    """The same as ``run``, in a thread of its own; calls that have an async form, or are bound to
    the caller's thread, are made on the running event loop.

    A flow that is cancelled ends at its next step, and its calls are cancelled or given up.
    """
    if not isinstance(flow, Generator):
        return flow
    caller = Caller(asyncio.get_running_loop())
    coming = outcome_in_thread(_drive, flow, recorder or Recorder(), limits or Limits(), caller)
    try:
        await asyncio.wait([coming])
    except asyncio.CancelledError:
        caller.cancel()
        await asyncio.wait([coming], timeout=_GRACE)
        raise
    finally:
        caller.cancel()
    value, error = coming.result()
    if error is not None:
        raise error
    return value


def _drive(flow: Flow[R], recorder: Recorder, limits: Limits, caller: Caller | None) -> R:
    token, replies = RECORDER.set(recorder), cast(Any, None)
    try:
        while True:
            try:
                asked = flow.send(replies)
            except StopIteration as stop:
                if recorder.refused is None:
                    result: R = stop.value
                    return result
            if recorder.refused is not None:  # a component caught it
                raise recorder.refused
            calls = recorder.watched(asked)
            started = time.perf_counter()
            answered = remembered(calls, replies_to(calls, limits, caller), limits)
            seconds = time.perf_counter() - started
            # What a server or a store says may hold the key it was sent.
            replies = [
                reply if reply.error is None else Reply(reply.value, scrubbed(reply.error))
                for reply in answered
            ]
            recorder.batch(calls, replies, seconds)
    except BaseException as raised:
        error = raised
        if recorder.refused is not None and isinstance(raised, Exception):
            error = recorder.refused
        recorder.failed(error)
        if isinstance(error, Exception) and not isinstance(error, PerspectiveRAGError):
            raise_scrubbed(error)
        raise error from error.__cause__
    finally:
        RECORDER.reset(token)
        flow.close()
