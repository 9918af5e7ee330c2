"""A LlamaIndex retriever whose nodes cover every side of the question."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.callbacks import CallbackManager
from llama_index.core.indices.base import BaseIndex
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores import MetadataFilters

from llama_index.retrievers.perspective_rag.adapters import StoreAdapter
from llama_index.retrievers.perspective_rag.models import LlamaIndexEmbedder
from llama_index.retrievers.perspective_rag.nodes import DedupKey, nodes_of, passage_dedup_key
from llama_index.retrievers.perspective_rag.parts import (
    JudgeChoice,
    bundle_of,
    extractor_of,
    judge_of,
    options_of,
)
from llama_index.retrievers.perspective_rag.store import LlamaIndexStore
from perspective_rag.errors import CapabilityError
from perspective_rag.extract.rules import as_perspectives
from perspective_rag.gate import Gate
from perspective_rag.options import PipelineOptions
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.protocols import LLM, Expander, Extractor
from perspective_rag.types import Perspective, RetrievalResult

_PARAMETERS = (
    *"adapter dedup_key embed_model expander extractor filters gate judge llm".split(),
    *"perspectives skip_if takes_vector".split(),
)


class PerspectiveRetriever(BaseRetriever):
    """Retrieves nodes that cover every perspective of a question, from any index or retriever.

    ``source``: a VectorStoreIndex is searched by vector with its own embedding model. Any other
    index or retriever is searched by text, unless ``embed_model`` is given: it then gets the
    vectors in ``QueryBundle.embedding``. ``takes_vector=False`` says that it does not read them, as
    keyword retrievers do not; ``embed_model`` then re-orders what they find.
    ``adapter`` knows what is special about a vector store that is not known here.
    ``filters`` reach the vector store with every search.
    ``judge``: "default" is the judge that comes with perspective_rag, None turns judging off.
    ``llm`` names the perspectives of a question, with rules to fall back on; without it the rules
    do, or ``extractor``. ``perspectives`` names them once for all questions.
    ``skip_if(question)``: where it is true, a follow-up such as "thanks" perhaps, the question is
    searched as it is, without perspectives and judge.
    ``dedup_key``: a metadata key, or a function of a node; nodes for which it gives the same are
    one. By default a node is known by its id.
    ``gate`` limits the calls of all requests together; by default each retriever has its own.

    ``options`` and every further keyword are those of ``PipelineOptions``: ``k`` (also
    ``similarity_top_k``), ``fetch_k``, ``relevance_weight`` (1.0 = relevance alone; also
    ``mmr_threshold``), ``projection``, ``coverage`` and so on.

    Nodes are copies. A node's score is higher-is-better, and ``node.metadata["perspective_rag"]``
    holds "scores", "support", "supports" and "found_by", left out of what models are shown.
    """

    def __init__(
        self,
        source: BaseIndex[Any] | BaseRetriever,
        *,
        judge: JudgeChoice = "default",
        llm: BaseLLM | LLM | None = None,
        embed_model: BaseEmbedding | None = None,
        filters: MetadataFilters | None = None,
        perspectives: Sequence[Perspective | str] | None = None,
        extractor: Extractor | None = None,
        expander: Expander | None = None,
        skip_if: Callable[[str], Any] | None = None,
        dedup_key: DedupKey | None = None,
        takes_vector: bool | None = None,
        adapter: StoreAdapter | None = None,
        callback_manager: CallbackManager | None = None,
        gate: Gate | None = None,
        options: PipelineOptions | None = None,
        **changes: Any,
    ) -> None:
        self.options = options_of(options, changes, parameters=_PARAMETERS)
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
        self._judge = judge_of(judge)
        self._extractor = extractor_of(extractor, llm)
        self._expander = expander
        self._perspectives = None if perspectives is None else as_perspectives(perspectives)
        self._skip_if = skip_if
        self._dedup_key = passage_dedup_key(dedup_key)
        self._gate = gate or Gate()
        _ = self.pipeline  # what these parts can never do is said now
        super().__init__(callback_manager or self._store.plain.callback_manager)

    @property
    def pipeline(self) -> PerspectivePipeline:
        """The pipeline that answers; its steps can be run alone."""
        return self._pipeline(QueryBundle(""))

    def report(
        self,
        question: str | QueryBundle,
        *,
        perspectives: Sequence[Perspective | str] | None = None,
        filters: MetadataFilters | None = None,
        **changes: Any,
    ) -> RetrievalResult:
        """The full result for a question: passages, coverage, and a trace of what was done.

        ``perspectives`` and ``changes`` replace those given at construction for this question;
        ``filters`` hold besides them. Each passage's ``source`` is its node.
        """
        pipeline, arguments = self._asked(question, perspectives, filters, changes)
        return pipeline.retrieve(**arguments)

    async def areport(
        self,
        question: str | QueryBundle,
        *,
        perspectives: Sequence[Perspective | str] | None = None,
        filters: MetadataFilters | None = None,
        **changes: Any,
    ) -> RetrievalResult:
        """The same as ``report``, without blocking the event loop."""
        pipeline, arguments = self._asked(question, perspectives, filters, changes)
        return await pipeline.aretrieve(**arguments)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return nodes_of(self.report(query_bundle))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return nodes_of(await self.areport(query_bundle))

    def _asked(
        self,
        question: str | QueryBundle,
        perspectives: Sequence[Perspective | str] | None,
        filters: MetadataFilters | None,
        changes: dict[str, Any],
    ) -> tuple[PerspectivePipeline, dict[str, Any]]:
        """A pipeline for one question and what to call it with."""
        self._store.check_filters(filters)
        bundle = bundle_of(question)
        options = options_of(self.options, changes, parameters=("filters", "perspectives"))
        given = self._perspectives if perspectives is None else perspectives
        pipeline = self._pipeline(bundle, options)
        return pipeline, {"question": bundle.query_str, "perspectives": given, "filter": filters}

    def _pipeline(
        self, bundle: QueryBundle, options: PipelineOptions | None = None
    ) -> PerspectivePipeline:
        model, options = self._embed_model, options or self.options
        if self._assumed and options.projection != "none":
            raise CapabilityError(
                f"projection={options.projection!r} needs a retriever that reads "
                "QueryBundle.embedding: pass takes_vector=True if this one does"
            )
        return PerspectivePipeline(
            self._store.for_query(bundle),
            embedder=LlamaIndexEmbedder(model, bundle=bundle) if model is not None else None,
            judge=self._judge,
            extractor=self._extractor,
            expander=self._expander,
            skip_if=self._skip_if,
            dedup_key=self._dedup_key,
            gate=self._gate,
            options=options,
        )
