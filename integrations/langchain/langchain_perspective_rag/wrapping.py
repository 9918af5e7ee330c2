"""LangChain's vector stores and retrievers, as stores and arguments of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from langchain_core.documents import Document
from langchain_core.runnables import Runnable
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from langchain_perspective_rag.models import LangChainEmbedder
from langchain_perspective_rag.store import LangChainStore, RetrieverStore
from perspective_rag import CapabilityError, ConfigError
from perspective_rag.extend import Embedder, Store

# By search type: the search arguments of a VectorStoreRetriever that are options here, and its
# defaults for them where ours would change what it means.
_OPTIONS_OF = {"similarity": ("k",), "mmr": ("k", "fetch_k", "lambda_mult")}
_DEFAULTS_OF = {"similarity": {}, "mmr": {"fetch_k": 20, "lambda_mult": 0.5}}


def arguments_of(source: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that put a retriever of ours in the place of ``source``; ``given`` go first.

    Of a VectorStoreRetriever the store is wrapped, with its search arguments, tags and metadata.
    """
    if not isinstance(source, VectorStoreRetriever):
        return {"retriever": source, **given}
    # A subclass may do more than search, and a score threshold is the store's to apply.
    if type(source) is not VectorStoreRetriever or source.search_type not in _OPTIONS_OF:
        kept = {"k": source.search_kwargs["k"]} if "k" in source.search_kwargs else {}
        return {"retriever": source, "options": kept, **given}
    search = {**source.search_kwargs, **given.get("search_kwargs", {})}
    names = [name for name in _OPTIONS_OF[source.search_type] if name in search]
    kept = {**_DEFAULTS_OF[source.search_type], **{name: search.pop(name) for name in names}}
    return {
        "vectorstore": source.vectorstore,
        "options": kept,
        "tags": source.tags,
        "metadata": source.metadata,
        **given,
        "search_kwargs": search,
    }


def as_store(source: Any) -> tuple[Store, Embedder | None]:
    """Makes a LangChain vector store or retriever a store of a plain pipeline.

    Args:
        source: The vector store or retriever.

    Returns:
        The store, and the embedder that goes with it; None where the source does not say its
        embeddings.

    Raises:
        ConfigError: It is neither.
    """
    if isinstance(source, VectorStore):
        embeddings = source.embeddings
        return LangChainStore(source), LangChainEmbedder(embeddings) if embeddings else None
    if isinstance(source, Runnable):
        return RetrieverStore(source), None
    raise ConfigError(
        f"expected a LangChain vector store or retriever, got a {type(source).__name__}"
    )


class Adder(Protocol):
    """What documents can be added to."""

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]: ...

    async def aadd_documents(self, documents: list[Document], **kwargs: Any) -> list[str]: ...


def adder(*sources: Any) -> Adder:
    """The first of the sources that are not None; raises CapabilityError if it only searches."""
    source: Adder = next(each for each in sources if each is not None)
    if not hasattr(source, "add_documents"):
        raise CapabilityError(
            f"{type(source).__name__} takes no documents: add them where it gets its own"
        )
    return source
