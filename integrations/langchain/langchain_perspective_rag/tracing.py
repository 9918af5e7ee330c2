"""What LangChain sees of a request: its calls, as children in the trace, and its events."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import partial
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManager,
    BaseCallbackManager,
    CallbackManager,
    Callbacks,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.runnables import RunnableConfig, ensure_config

from perspective_rag import RetrievalResult
from perspective_rag.extend import Call, in_thread, report_of, scrubbing

# What nested calls report to, and whether anybody listens to it. A context variable reaches the
# worker threads and tasks in which a request makes its calls, and keeps concurrent requests apart.
_PARENT: ContextVar[tuple[Callbacks, bool]] = ContextVar(
    "langchain_perspective_rag_parent", default=(None, True)
)


@contextmanager
def children_of(callbacks: Callbacks, *, heard: bool = True) -> Iterator[None]:
    """Calls made inside report to ``callbacks``, which is a run manager's ``get_child()``.

    ``heard=False``: the run has no handlers, so that its searches and judgements need not be runs;
    models, which may have handlers of their own, are called as ever.
    """
    token = _PARENT.set((callbacks, heard))
    try:
        yield
    finally:
        _PARENT.reset(token)


def child_config(stage: str) -> RunnableConfig:
    """The config of a nested call; outside of ``children_of`` the chain around it is the parent."""
    return {"callbacks": _PARENT.get()[0], "tags": [f"perspective_rag:{stage}"]}


@contextmanager
def child_run(stage: str, kind: str, name: str, asked: Any) -> Iterator[Callable[[Any], None]]:
    """A run of its own for what does not report itself, as long as somebody listens. ``kind`` is
    what LangChain calls it ("retriever" or "chain"); what is yielded takes the run's output.
    """
    if not _PARENT.get()[1]:
        yield lambda output: None
        return
    config = ensure_config(child_config(stage))
    manager = CallbackManager.configure(config["callbacks"], inheritable_tags=config["tags"])
    run = getattr(manager, f"on_{kind}_start")(None, asked, name=name)
    outputs: list[Any] = []
    try:
        yield outputs.append
    except Exception as error:
        getattr(run, f"on_{kind}_error")(error)
        raise
    getattr(run, f"on_{kind}_end")(*outputs)


@asynccontextmanager
async def achild_run(
    stage: str, kind: str, name: str, asked: Any
) -> AsyncIterator[Callable[[Any], None]]:
    """The same for an asynchronous call; handlers may be bound to the caller's event loop."""
    if not _PARENT.get()[1]:
        yield lambda output: None
        return
    config = ensure_config(child_config(stage))
    manager = AsyncCallbackManager.configure(config["callbacks"], inheritable_tags=config["tags"])
    run = await getattr(manager, f"on_{kind}_start")(None, asked, name=name)
    outputs: list[Any] = []
    try:
        yield outputs.append
    except BaseException as error:  # a call that is given up has ended too
        await getattr(run, f"on_{kind}_error")(error)
        raise
    await getattr(run, f"on_{kind}_end")(*outputs)


def traced_call(step: Call, name: str, inputs: dict[str, Any]) -> Call:
    """A judge's call as a run of its own in the trace; that of a LangChain model is one already."""
    if step.afunction is not None or not _PARENT.get()[1]:
        return step
    return replace(
        step,
        function=partial(_judge, name, inputs, step.function),
        afunction=partial(_ajudge, name, inputs, step.function),
    )


def _judge(
    name: str, inputs: dict[str, Any], function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    with child_run("judge", "chain", name, inputs) as end, scrubbing():
        support = function(*args, **kwargs)
        end({"output": support})
    return support


async def _ajudge(
    name: str, inputs: dict[str, Any], function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    async with achild_run("judge", "chain", name, inputs) as end:
        with scrubbing():
            support = await in_thread(function, *args, **kwargs)
        end({"output": support})
    return support


EVENT = "perspective_rag"
"""The event that carries the whole report of a request."""
DEGRADED = "perspective_rag.degradation"
"""The event for each thing that failed or was left out: its stage, message and error."""


def tell(result: RetrievalResult, callbacks: Callbacks) -> None:
    """Sends the events of a result, where a run is under way and somebody listens."""
    config = RunnableConfig(callbacks=callbacks)
    for name, data in _events(result, callbacks):
        dispatch_custom_event(name, data, config=config)


async def atell(result: RetrievalResult, callbacks: Callbacks) -> None:
    """The same in an event loop."""
    config = RunnableConfig(callbacks=callbacks)
    for name, data in _events(result, callbacks):
        await adispatch_custom_event(name, data, config=config)


def _events(result: RetrievalResult, callbacks: Callbacks) -> list[tuple[str, dict[str, Any]]]:
    in_a_run = isinstance(callbacks, BaseCallbackManager) and callbacks.parent_run_id is not None
    if not in_a_run or not callbacks.handlers:  # type: ignore[union-attr]
        return []
    degradations = result.trace.degradations
    return [(EVENT, report_of(result)), *((DEGRADED, each.to_dict()) for each in degradations)]
