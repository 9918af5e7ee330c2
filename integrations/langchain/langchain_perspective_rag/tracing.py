"""Calls of a request appear in its LangChain trace as children, tagged with their stage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from langchain_core.callbacks import AsyncCallbackManager, CallbackManager, Callbacks
from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig, ensure_config

# A context variable reaches the worker threads and tasks in which a request makes its calls,
# and keeps concurrent requests on one retriever apart.
_PARENT: ContextVar[Callbacks] = ContextVar("langchain_perspective_rag_parent", default=None)


@contextmanager
def children_of(callbacks: Callbacks) -> Iterator[None]:
    """Calls made inside report to ``callbacks``, which is a run manager's ``get_child()``."""
    token = _PARENT.set(callbacks)
    try:
        yield
    finally:
        _PARENT.reset(token)


def child_config(stage: str) -> RunnableConfig:
    """The config of a nested call; outside of ``children_of`` the chain around it is the parent."""
    return {"callbacks": _PARENT.get(), "tags": [f"perspective_rag:{stage}"]}


def traced_search(name: str, text: str, search: Callable[[], list[Document]]) -> list[Document]:
    """``search()`` as a retriever run of its own: vector stores do not report themselves."""
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
    config = ensure_config(child_config("search"))
    manager = AsyncCallbackManager.configure(config["callbacks"], inheritable_tags=config["tags"])
    run = await manager.on_retriever_start(None, text, name=name)
    try:
        documents = await search()
    except Exception as error:
        await run.on_retriever_error(error)
        raise
    await run.on_retriever_end(documents)
    return documents
