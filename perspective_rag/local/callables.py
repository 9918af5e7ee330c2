"""Your own functions as an embedder, a store or a language model."""

from __future__ import annotations

import inspect
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.errors import CapabilityError, ConfigError, LLMReplyError
from perspective_rag.flow.driver import in_thread
from perspective_rag.maths.vectors import as_matrix
from perspective_rag.prompts.replies import llm_errors
from perspective_rag.redaction import scrubbing
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag.types import Completion, Hit, Matrix, Passage, Prompt, Vector


class CallableEmbedder:
    """An embedder from a function of your own.

    Args:
        function: Given a list of texts, it returns one row of numbers for each, all of one length.
        query_function: Embeds queries, where they are treated differently. None: ``function`` does.
        name: Tells caches which model it is: change it when the model changes.
    """

    def __init__(
        self,
        function: Callable[[list[str]], ArrayLike],
        query_function: Callable[[list[str]], ArrayLike] | None = None,
        *,
        name: str = "callable",
    ) -> None:
        self.name = name
        self._passages = function
        self._queries = query_function or function

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """The same as ``embed_passages``, of queries."""
        return _rows(self._queries, texts)

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embeds passages.

        Args:
            texts: The texts of the passages.

        Returns:
            One row for each, shape (n, d).

        Raises:
            ConfigError: The function's rows do not fit the texts.
        """
        return _rows(self._passages, texts)


class CallableStore:
    """A store from a function of your own.

    Args:
        function: Called as ``function(text, k)``, or ``function(vector, k)`` with ``takes_vector``.
            It returns, best first, Hits, Passages, texts, or (passage or text, score) pairs with
            higher scores better. A text's id is derived from it, so the same text is the same
            passage. A filter is handed on as the keyword ``filter``.
        afunction: Awaited instead in asynchronous use. None: ``function`` runs in a thread.
        takes_vector: True for a function that searches by vector, shape (d,).
    """

    def __init__(
        self,
        function: Callable[..., Iterable[Any]],
        afunction: Callable[..., Awaitable[Iterable[Any]]] | None = None,
        *,
        takes_vector: bool = False,
    ) -> None:
        self.takes_vector = takes_vector
        self._function = function
        self._afunction = afunction

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> list[Hit]:
        """What the function finds.

        Args:
            text: What is searched for.
            vector: Its vector, shape (d,); None for a store that searches by text.
            k: Maximum number of hits.
            filter: Handed to the function. None: no filter.

        Returns:
            At most k hits, best first.

        Raises:
            CapabilityError: There is a filter, and the function takes none.
            ConfigError: The function returns something else than hits, or the vector is missing.
        """
        options = _filter_option(self._function, filter)
        query = self._query(text, vector)
        with scrubbing():
            return _hits(self._function(query, k, **options), k)

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> list[Hit]:
        """The same as ``search``, from ``afunction``, or from the function in a thread."""
        if self._afunction is None:
            return await in_thread(self.search, text, vector, k=k, filter=filter)
        options = _filter_option(self._afunction, filter)
        query = self._query(text, vector)
        with scrubbing():
            return _hits(await self._afunction(query, k, **options), k)

    def _query(self, text: str, vector: Vector | None) -> Any:
        if self.takes_vector and vector is None:
            raise ConfigError("the store searches by vector: pass an embedder")
        return vector if self.takes_vector else text


class CallableLLM:
    """A language model from a function of your own.

    Args:
        function: Given a prompt, it returns the reply, both strings. System and user part are
            joined by a blank line; schema, choices and sampling options are not handed on.
        afunction: Awaited instead in asynchronous use. None: ``function`` runs in a thread.
        name: Tells caches which model it is: change it when the model changes.
    """

    def __init__(
        self,
        function: Callable[[str], str],
        afunction: Callable[[str], Awaitable[str]] | None = None,
        *,
        name: str = "callable",
    ) -> None:
        self.name = name
        self._function = function
        self._afunction = afunction

    def complete(self, prompt: Prompt) -> Completion:
        """The function's reply.

        Args:
            prompt: What is asked.

        Returns:
            The reply.

        Raises:
            LLMError: The function failed; the cause is kept.
            LLMReplyError: The reply is no string.
        """
        with llm_errors(self.name, prompt):
            reply = self._function(_as_text(prompt))
        return _completion(reply, prompt)

    async def acomplete(self, prompt: Prompt) -> Completion:
        """The same as ``complete``, from ``afunction``, or from the function in a thread."""
        if self._afunction is None:
            return await in_thread(self.complete, prompt)
        with llm_errors(self.name, prompt):
            reply = await self._afunction(_as_text(prompt))
        return _completion(reply, prompt)


def _rows(function: Callable[[list[str]], ArrayLike], texts: Sequence[str]) -> Matrix:
    if not texts:
        return np.zeros((0, 0))
    with scrubbing():
        found = function(list(texts))
    _refuse_coroutine(found, "the embedding function is asynchronous; pass a plain function")
    rows = as_matrix(found, "the embedding function's result")
    if len(rows) != len(texts):
        raise ConfigError(f"the embedding function gave {len(rows)} rows for {len(texts)} texts")
    return rows


def _filter_option(function: Callable[..., Any], filter: Any) -> dict[str, Any]:
    if filter is None:
        return {}
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some builtins have no signature: let them try
        return {"filter": filter}
    if any(p.name == "filter" or p.kind is p.VAR_KEYWORD for p in parameters):
        return {"filter": filter}
    raise CapabilityError(
        "the store's function takes no filter; give it a keyword argument named filter"
    )


def _hits(found: Any, k: int) -> list[Hit]:
    _refuse_coroutine(found, "the store's function is asynchronous; pass it as afunction")
    if isinstance(found, (str, bytes, Mapping)) or not isinstance(found, Iterable):
        raise _unusable(found)
    return [_hit(each) for each in found][:k]


def _hit(found: Any) -> Hit:
    if isinstance(found, Hit):
        return found
    pair = isinstance(found, (tuple, list)) and len(found) == 2
    passage, score = found if pair else (found, None)
    if isinstance(passage, str):
        passage = Passage(f"text-{fingerprint(passage)}", passage)
    if not isinstance(passage, Passage):
        raise _unusable(found)
    if not pair:
        return Hit(passage)
    if not isinstance(score, Real) or math.isnan(score):
        raise _unusable(found)
    return Hit(passage, float(score))


def _unusable(found: Any) -> ConfigError:
    return ConfigError(
        "the store's function must return a sequence of Hits, Passages, texts or (text, score)"
        f" pairs; got {type(found).__name__} {str(found)[:80]!r}"
    )


def _as_text(prompt: Prompt) -> str:
    return f"{prompt.system}\n\n{prompt.user}" if prompt.system else prompt.user


def _completion(reply: Any, prompt: Prompt) -> Completion:
    _refuse_coroutine(reply, "the model's function is asynchronous; pass it as afunction")
    if not isinstance(reply, str):
        raise LLMReplyError(
            f"the model's function must return a text, got {type(reply).__name__}",
            reply=repr(reply),
            prompt=prompt.name,
        )
    return Completion(reply)


def _refuse_coroutine(value: Any, message: str) -> None:
    if inspect.iscoroutine(value):
        value.close()
        raise ConfigError(message)
