"""A LlamaIndex retriever whose nodes cover every side of the question."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.callbacks import CallbackManager
from llama_index.core.constants import DEFAULT_SIMILARITY_TOP_K
from llama_index.core.indices.base import BaseIndex
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores import MetadataFilters
from typing_extensions import Self

from llama_index.retrievers.perspective_rag.adapters import StoreAdapter
from llama_index.retrievers.perspective_rag.models import LlamaIndexEmbedder
from llama_index.retrievers.perspective_rag.nodes import DedupKey, nodes_of, passage_dedup_key
from llama_index.retrievers.perspective_rag.parts import (
    JudgeChoice,
    bundle_of,
    check_judge,
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
    ``mmr_threshold``), ``projection``, ``coverage`` and so on. ``with_options`` changes them for
    one request. A ``similarity_top_k`` that a given retriever was set to, other than LlamaIndex's
    default, is ``k`` where nothing else says it.

    Nodes are copies. A node's score is higher-is-better, and ``node.metadata["perspective_rag"]``
    holds "scores" of every stage, "support" (perspective id to probability), "supports" (ids),
    "perspectives" (their texts) and "found_by" (queries), left out of what models are shown.
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
        self.options = options_of(options or _as_set(source), changes, parameters=_PARAMETERS)
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
        self._judge = check_judge(judge)
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

    def with_options(
        self,
        *,
        perspectives: Sequence[Perspective | str] | None = None,
        filters: MetadataFilters | None = None,
        **changes: Any,
    ) -> Self:
        """The same retriever with other perspectives and options; ``filters`` hold besides its own.

        Wherever LlamaIndex hands on the question alone, this is how a request gets options of its
        own: ``engine.with_retriever(retriever.with_options(k=3))``, or as one retriever of a
        QueryFusionRetriever. It costs next to nothing: models, store and gate are shared.
        """
        own = copy.copy(self)
        own.options = options_of(self.options, changes, parameters=("filters", "perspectives"))
        if perspectives is not None:
            own._perspectives = as_perspectives(perspectives)
        if filters is not None:
            own._store = self._store.narrowed(filters)
        _ = own.pipeline  # what these options can never do is said now
        return own

    def report(self, question: str | QueryBundle, **changes: Any) -> RetrievalResult:
        """The full result for a question: passages, coverage, and a trace of what was done.

        ``changes``, for this question, are those of ``with_options``. Each passage's ``source`` is
        its node.
        """
        own, bundle = self.with_options(**changes), bundle_of(question)
        return own._pipeline(bundle).retrieve(bundle.query_str, perspectives=own._perspectives)

    async def areport(self, question: str | QueryBundle, **changes: Any) -> RetrievalResult:
        """The same as ``report``, without blocking the event loop."""
        own, bundle = self.with_options(**changes), bundle_of(question)
        pipeline = own._pipeline(bundle)
        return await pipeline.aretrieve(bundle.query_str, perspectives=own._perspectives)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return nodes_of(self.report(query_bundle))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return nodes_of(await self.areport(query_bundle))

    def _pipeline(self, bundle: QueryBundle) -> PerspectivePipeline:
        model = self._embed_model
        if self._assumed and self.options.projection != "none":
            raise CapabilityError(
                f"projection={self.options.projection!r} needs a retriever that reads "
                "QueryBundle.embedding: pass takes_vector=True if this one does"
            )
        return PerspectivePipeline(
            self._store.for_query(bundle),
            embedder=LlamaIndexEmbedder(model, bundle=bundle) if model is not None else None,
            judge=judge_of(self._judge),
            extractor=self._extractor,
            expander=self._expander,
            skip_if=self._skip_if,
            dedup_key=self._dedup_key,
            gate=self._gate,
            options=self.options,
        )


def _as_set(source: Any) -> PipelineOptions:
    """Options with the number of nodes that a retriever was set to return."""
    given: Any = getattr(source, "similarity_top_k", DEFAULT_SIMILARITY_TOP_K)
    return PipelineOptions() if given == DEFAULT_SIMILARITY_TOP_K else PipelineOptions(k=given)
