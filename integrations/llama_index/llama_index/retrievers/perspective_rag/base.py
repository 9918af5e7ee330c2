"""A LlamaIndex retriever whose nodes cover every side of the question."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any, cast

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.callbacks import CallbackManager
from llama_index.core.constants import DEFAULT_SIMILARITY_TOP_K
from llama_index.core.indices.base import BaseIndex
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.tools import AsyncBaseTool
from llama_index.core.vector_stores import MetadataFilters
from typing_extensions import Self, Unpack

from llama_index.retrievers.perspective_rag.events import tell, with_span
from llama_index.retrievers.perspective_rag.models import embedder_of, llm_of
from llama_index.retrievers.perspective_rag.nodes import bundle_of, nodes_of
from llama_index.retrievers.perspective_rag.store import LlamaIndexStore
from llama_index.retrievers.perspective_rag.tool import search_tool
from perspective_rag import (
    CapabilityError,
    Perspective,
    PerspectivePipeline,
    PipelineOptions,
    RetrievalResult,
)
from perspective_rag.extend import (
    LLM,
    Options,
    StoreAdapter,
    WrapperArguments,
    WrapperParts,
    changed_options,
    wrapped_pipeline,
)

_PARAMETERS = ("adapter", "embed_model", "filters", "llm", "takes_vector")


class RequestArguments(Options, total=False):
    """What may change for one request."""

    perspectives: Sequence[Perspective | str] | None
    filters: MetadataFilters | None


class PerspectiveRetriever(BaseRetriever):
    """Retrieves nodes that cover every side of a question, from any index or retriever.

    A VectorStoreIndex is searched by vector with its own embedding model; anything else is searched
    by text, unless ``embed_model`` is given.

    Nodes are copies, in the order of the choice. Metadata keys that begin with "perspective_rag_"
    say what a node supports: see ``perspective_rag.extend.annotations_of``; ``report_in`` reads all
    of it. They are left out of what models are shown. What failed or was left out is logged, and is
    a ``DegradationEvent``.

    Args:
        source: The index or retriever.
        llm: Names the perspectives of a question and, under the default judge, reads all candidates
            in one more call (``LLMListJudge``); when it fails, rules and the packaged judge take
            over.
        embed_model: Embeds the question; None: the index's own. A source that is no
            VectorStoreIndex gets its vectors in ``QueryBundle.embedding``.
        filters: Reach the vector store with every search.
        takes_vector: False: the source does not read ``QueryBundle.embedding``, as keyword
            retrievers do not; ``embed_model`` then re-orders what it finds. None: it does where
            ``embed_model`` is given.
        adapter: Knows what is special about a vector store that is not known here.
        callback_manager: LlamaIndex's; None: the source's.
        **given: The attributes of ``perspective_rag.extend.WrapperParts`` (``judge``,
            ``perspectives``, ...) and the options of ``perspective_rag.PipelineOptions`` by name,
            with LlamaIndex's names for ``k`` (``similarity_top_k``) and ``mmr_lambda``
            (``mmr_threshold``). Where nothing says ``k``, it is the ``similarity_top_k`` that a
            given retriever was set to, other than LlamaIndex's default.

    Raises:
        ConfigError: An argument is unknown (the error suggests the right one) or cannot be used.
        CapabilityError: The source cannot do what an argument asks, or has no embedding model: pass
            ``embed_model``.
    """

    def __init__(
        self,
        source: BaseIndex[Any] | BaseRetriever,
        *,
        llm: BaseLLM | LLM | None = None,
        embed_model: BaseEmbedding | None = None,
        filters: MetadataFilters | None = None,
        takes_vector: bool | None = None,
        adapter: StoreAdapter | None = None,
        callback_manager: CallbackManager | None = None,
        **given: Unpack[WrapperArguments],
    ) -> None:
        top_k: Any = getattr(source, "similarity_top_k", DEFAULT_SIMILARITY_TOP_K)
        as_set = None if top_k == DEFAULT_SIMILARITY_TOP_K else PipelineOptions(k=top_k)
        self._parts = WrapperParts.of(given, options=as_set, parameters=_PARAMETERS)
        self._store = LlamaIndexStore(
            source, filters=filters, takes_vector=takes_vector, adapter=adapter
        )
        unknown = takes_vector is None and self._store.embed_model is None
        self._assumed = unknown and embed_model is not None
        if self._assumed:
            self._store.takes_vector = True
        self._embed_model = embed_model or self._store.embed_model
        if self._store.takes_vector and self._embed_model is None:
            raise CapabilityError(
                f"no embedding model can be found in the {type(source).__name__}: pass embed_model="
            )
        self._llm = llm_of(llm)
        _ = self.pipeline  # what these parts can never do is said now
        super().__init__(callback_manager or self._store.plain.callback_manager)

    def __repr__(self) -> str:
        """What is searched, and the options that are not the default."""
        source = type(self._store.plain).__name__
        return f"{type(self).__name__}({source}, options={self.options!r})"

    @property
    def options(self) -> PipelineOptions:
        """The options of every request."""
        return self._parts.options

    @property
    def pipeline(self) -> PerspectivePipeline:
        """The pipeline that answers; its steps can be run alone."""
        return self._pipeline(QueryBundle(""), traced=False)

    def with_options(
        self,
        *,
        perspectives: Sequence[Perspective | str] | None = None,
        filters: MetadataFilters | None = None,
        **changes: Unpack[Options],
    ) -> Self:
        """Makes a copy with other options, for a request of its own.

        Where LlamaIndex hands on the question alone, this is how a request gets options:
        ``engine.with_retriever(retriever.with_options(k=3))``, or one retriever of a
        QueryFusionRetriever. It costs next to nothing: models, store and limiter are shared.

        Args:
            perspectives: Take the place of the retriever's own.
            filters: Hold besides the retriever's own.
            **changes: Options of ``perspective_rag.PipelineOptions``.

        Returns:
            The copy.

        Raises:
            ConfigError: An option is unknown or not allowed.
            CapabilityError: The source cannot do what an option asks.
        """
        own, parameters = copy.copy(self), ("filters", "perspectives")
        options = changed_options(self.options, changes, parameters=parameters)
        own._parts = dataclasses.replace(
            self._parts,
            options=options,
            perspectives=self._parts.perspectives if perspectives is None else perspectives,
        )
        if filters is not None:
            own._store = self._store.narrowed(filters)
        _ = own.pipeline  # what these options can never do is said now
        return own

    def as_tool(self, *, name: str | None = None, description: str | None = None) -> AsyncBaseTool:
        """Makes a tool that takes ``query`` and, optionally, ``perspectives``; ``description`` is
        what the model reads about it. Its message says which sides each node supports; the nodes
        are its raw output. An empty query is answered by an error that the model can read. For a
        filter of a request: ``retriever.with_options(filters=...).as_tool()``.
        """
        return search_tool(self, name=name, description=description)

    def report(
        self, question: str | QueryBundle, **changes: Unpack[RequestArguments]
    ) -> RetrievalResult:
        """Retrieves for a question and returns the whole report.

        Args:
            question: The question.
            **changes: Arguments of ``with_options``, for this question.

        Returns:
            Passages, coverage and trace; ``passage.source`` is the node.

        Raises:
            ConfigError: An option is unknown or not allowed, or the question is empty.
            RetrievalError: Every search failed.
            CoverageError: A side stayed uncovered under ``coverage="require"``.
        """
        own, bundle = self.with_options(**changes), bundle_of(question)
        pipeline = own._pipeline(bundle)
        return pipeline.retrieve(bundle.query_str, perspectives=own._parts.perspectives)

    async def areport(
        self, question: str | QueryBundle, **changes: Unpack[RequestArguments]
    ) -> RetrievalResult:
        """The same as ``report``, without blocking the event loop."""
        own, bundle = self.with_options(**changes), bundle_of(question)
        pipeline = own._pipeline(bundle)
        return await pipeline.aretrieve(bundle.query_str, perspectives=own._parts.perspectives)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        pipeline, sides = self._pipeline(query_bundle), self._parts.perspectives
        return self._nodes(pipeline, pipeline.retrieve(query_bundle.query_str, perspectives=sides))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        pipeline, sides = self._pipeline(query_bundle), self._parts.perspectives
        result = await pipeline.aretrieve(query_bundle.query_str, perspectives=sides)
        return self._nodes(pipeline, result)

    def _nodes(self, pipeline: PerspectivePipeline, result: RetrievalResult) -> list[NodeWithScore]:
        given = cast(LlamaIndexStore, pipeline.store).given
        return nodes_of(tell(result), self._parts.score_kind, given=given)

    def _pipeline(self, bundle: QueryBundle, *, traced: bool = True) -> PerspectivePipeline:
        if self._assumed and self.options.projection != "none":
            raise CapabilityError(
                f"projection={self.options.projection!r} needs a retriever that reads "
                "QueryBundle.embedding: pass takes_vector=True if this one does"
            )
        return wrapped_pipeline(
            self._store.for_query(bundle),
            self._parts,
            embedder=embedder_of(self._embed_model, bundle),
            llm=self._llm,
            watch=with_span if traced else None,
        )
