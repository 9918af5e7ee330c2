"""What a request tells LangChain's callback handlers, as custom events."""

from __future__ import annotations

from typing import Any

from langchain_core.callbacks import (
    BaseCallbackManager,
    Callbacks,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.runnables import RunnableConfig

from langchain_perspective_rag.documents import report_of
from perspective_rag import RetrievalResult

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
