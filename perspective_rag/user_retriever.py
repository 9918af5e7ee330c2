"""A retriever of the user's own: ``module:factory`` that makes it, in whatever framework."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from perspective_rag.backends.callables import CallableStore
from perspective_rag.errors import ConfigError
from perspective_rag.protocols import Embedder, Store
from perspective_rag.types import Passage


def load_object(spec: str) -> Any:
    """What ``module:name`` names; the current folder is looked in first, as ``python -m`` does.

    Raises ConfigError when the module cannot be imported or lacks the name.
    """
    module_name, _, name = spec.partition(":")
    if not module_name or not name:
        raise ConfigError(f"expected module:factory, got {spec!r}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise ConfigError(f"{spec}: the module cannot be imported: {error}") from error
    if not hasattr(module, name):
        raise ConfigError(f"{spec}: {module_name} has no {name!r}")
    return getattr(module, name)


def made_store(
    spec: str, passages: Callable[[], list[Passage]] | None = None
) -> tuple[Store, Embedder | None]:
    """The retriever that ``factory()`` or ``factory(passages)`` returns, as a store with the
    embedder that goes with it.

    It may be a LangChain retriever or vector store, a LlamaIndex retriever or index, a Store of
    this library, a pair (store, embedder), or a function of (text, k). A factory with a parameter
    named ``passages`` is given the corpus. Raises ConfigError for anything else.
    """
    factory = load_object(spec)
    if not callable(factory):
        raise ConfigError(f"{spec} is a {type(factory).__name__}, expected a function")
    arguments: dict[str, Any] = {}
    if "passages" in inspect.signature(factory).parameters:
        if passages is None:
            raise ConfigError(f"{spec} asks for the passages: give --corpus")
        arguments["passages"] = passages()
    made = factory(**arguments)
    embedder = None
    if isinstance(made, tuple) and len(made) == 2:
        made, embedder = made
    store, own_embedder = as_store(made, spec)
    return store, embedder or own_embedder


def as_store(made: Any, spec: str) -> tuple[Store, Embedder | None]:
    """An object of any of the frameworks as a store, and the embedder that goes with it."""
    families = {base.__module__.partition(".")[0] for base in type(made).__mro__}
    if isinstance(made, Store):
        return made, None
    if "langchain_core" in families:
        return _langchain(made)
    if "llama_index" in families:
        return _llama_index(made)
    if callable(made):
        return CallableStore(made), None
    raise ConfigError(
        f"{spec} returned a {type(made).__name__}; expected a LangChain or LlamaIndex retriever, "
        "a Store, or a function of (text, k)"
    )


def _langchain(made: Any) -> tuple[Store, Embedder | None]:
    from langchain_core.vectorstores import VectorStore

    from langchain_perspective_rag import LangChainEmbedder, LangChainStore
    from langchain_perspective_rag.store import RetrieverStore

    if isinstance(made, VectorStore):
        store = LangChainStore(made)
        return store, LangChainEmbedder(made.embeddings) if made.embeddings else None
    return RetrieverStore(made), None


def _llama_index(made: Any) -> tuple[Store, Embedder | None]:
    from llama_index.retrievers.perspective_rag.models import LlamaIndexEmbedder
    from llama_index.retrievers.perspective_rag.store import LlamaIndexStore

    store = LlamaIndexStore(made)
    return store, LlamaIndexEmbedder(store.embed_model) if store.embed_model else None
