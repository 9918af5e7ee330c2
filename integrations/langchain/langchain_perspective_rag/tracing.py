"""What LangChain sees of a request: its calls, as children in the trace, and its events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
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
from langchain_core.documents import Document
from langchain_core.retrievers import LangSmithRetrieverParams
from langchain_core.runnables import RunnableConfig, ensure_config
from langchain_core.vectorstores import VectorStore

from langchain_perspective_rag.steering import SteerableEmbeddings
from perspective_rag import RetrievalResult
from perspective_rag.extend import Call, in_thread, report_of, scrubbing


@dataclass(frozen=True, slots=True)
class _Parent:
    """What nested calls report to, and whether anybody listens to it."""

    callbacks: Callbacks = None
    heard: bool = True


_OUTSIDE = _Parent()

# A context variable reaches the worker threads and tasks in which a request makes its calls,
# and keeps concurrent requests on one retriever apart.
_PARENT: ContextVar[_Parent] = ContextVar("langchain_perspective_rag_parent", default=_OUTSIDE)


@contextmanager
def children_of(callbacks: Callbacks, *, heard: bool = True) -> Iterator[None]:
    """Calls made inside report to ``callbacks``, which is a run manager's ``get_child()``.

    ``heard=False``: the run has no handlers, so that its searches and judgements need not be runs;
    models, which may have handlers of their own, are called as ever.
    """
    token = _PARENT.set(_Parent(callbacks, heard))
    try:
        yield
    finally:
        _PARENT.reset(token)


def child_config(stage: str) -> RunnableConfig:
    """The config of a nested call; outside of ``children_of`` the chain around it is the parent."""
    return {"callbacks": _PARENT.get().callbacks, "tags": [f"perspective_rag:{stage}"]}


def traced_search(name: str, text: str, search: Callable[[], list[Document]]) -> list[Document]:
    """``search()`` as a retriever run of its own: vector stores do not report themselves."""
    if not _PARENT.get().heard:
        return search()
    config = ensure_config(child_config("search"))
    manager = CallbackManager.configure(config["callbacks"], inheritable_tags=config["tags"])
    run = manager.on_retriever_start(None, text, name=name)
    try:
        documents = search()
    except Exception as error:
        run.on_retriever_error(error)
        raise
    run.on_retriever_end(documents)
    return documents


async def atraced_search(
    name: str, text: str, search: Callable[[], Awaitable[list[Document]]]
) -> list[Document]:
    """The same for an asynchronous search."""
    if not _PARENT.get().heard:
        return await search()
    config = ensure_config(child_config("search"))
    manager = AsyncCallbackManager.configure(config["callbacks"], inheritable_tags=config["tags"])
    run = await manager.on_retriever_start(None, text, name=name)
    try:
        documents = await search()
    except BaseException as error:  # a search that is given up has ended too
        await run.on_retriever_error(error)
        raise
    await run.on_retriever_end(documents)
    return documents


def described(
    params: LangSmithRetrieverParams, vectorstore: VectorStore | None, embeddings: Any
) -> LangSmithRetrieverParams:
    """The parameters of a run, with what is searched and what embeds."""
    if isinstance(embeddings, SteerableEmbeddings):
        embeddings = embeddings.embeddings
    if vectorstore is not None:
        params["ls_vector_store_provider"] = type(vectorstore).__name__
    if embeddings is not None:
        params["ls_embedding_provider"] = type(embeddings).__name__
    return params


def traced_call(step: Call, name: str, inputs: dict[str, Any]) -> Call:
    """A judge's call as a run of its own in the trace; that of a LangChain model is one already."""
    if step.afunction is not None or not _PARENT.get().heard:
        return step
    return replace(
        step,
        function=partial(_run_judge, name, inputs, step.function),
        afunction=partial(_arun_judge, name, inputs, step.function),
    )


def _run_judge(
    name: str, inputs: dict[str, Any], function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    config = ensure_config(child_config("judge"))
    manager = CallbackManager.configure(config["callbacks"], inheritable_tags=config["tags"])
    run = manager.on_chain_start(None, inputs, name=name)
    try:
        with scrubbing():
            support = function(*args, **kwargs)
    except Exception as error:
        run.on_chain_error(error)
        raise
    run.on_chain_end({"output": support})
    return support


async def _arun_judge(
    name: str, inputs: dict[str, Any], function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    # The judge works in a thread; its run is reported in the caller's event loop, to which
    # handlers may be bound.
    config = ensure_config(child_config("judge"))
    manager = AsyncCallbackManager.configure(config["callbacks"], inheritable_tags=config["tags"])
    run = await manager.on_chain_start(None, inputs, name=name)
    try:
        with scrubbing():
            support = await in_thread(function, *args, **kwargs)
    except BaseException as error:
        await run.on_chain_error(error)
        raise
    await run.on_chain_end({"output": support})
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
