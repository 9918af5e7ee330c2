"""A retriever of the user's own: ``module:factory`` that makes it, in whatever framework."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from perspective_rag.errors import ConfigError
from perspective_rag.local.callables import CallableStore
from perspective_rag.protocols import Embedder, Store
from perspective_rag.types import Passage

GROUP = "perspective_rag.stores"


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

    It may be a Store of this library, a pair (store, embedder), a function of (text, k), or what a
    framework's wrapper can turn into a store (see ``as_store``): a LangChain retriever or vector
    store, a LlamaIndex retriever or index. A factory with a parameter named ``passages`` is given
    the corpus. Raises ConfigError for anything else.
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
    """An object of any framework as a store, and the embedder that goes with it.

    Frameworks register under the entry point group ``perspective_rag.stores``: the name is the root
    package of their classes (``langchain_core``), the value a function of the object that returns
    (Store, Embedder or None). Raises ConfigError for an object of no registered framework that is
    no Store and no function either.
    """
    if isinstance(made, Store):
        return made, None
    registered = {each.name: each for each in entry_points(group=GROUP)}
    roots = [base.__module__.partition(".")[0] for base in type(made).__mro__]
    for root in roots:
        if root in registered:
            found: tuple[Store, Embedder | None] = registered[root].load()(made)
            return found
    if callable(made):
        return CallableStore(made), None
    raise ConfigError(
        f"{spec} returned a {type(made).__name__}; expected a Store, a function of (text, k), or a "
        f"retriever or store of a framework with a wrapper installed ({', '.join(registered)})"
    )
