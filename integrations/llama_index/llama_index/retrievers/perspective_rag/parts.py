"""What the retriever and the postprocessor accept, made into a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.schema import QueryBundle
from llama_index.core.vector_stores import MetadataFilters

from llama_index.retrievers.perspective_rag.events import with_span
from llama_index.retrievers.perspective_rag.models import LlamaIndexEmbedder, LlamaIndexLLM
from llama_index.retrievers.perspective_rag.nodes import DedupKey
from perspective_rag import ConfigError, Limiter, Perspective, PerspectivePipeline, PipelineOptions
from perspective_rag.extend import (
    LLM,
    Expander,
    Extractor,
    Judge,
    Options,
    ScoreKind,
    Selector,
    Store,
    Telemetry,
    as_perspectives,
    check_component,
    check_score_kind,
    wrapped_pipeline,
)

JudgeChoice = Judge | Literal["default"] | None


class RequestArguments(Options, total=False):
    """What may change for one request."""

    perspectives: Sequence[Perspective | str] | None
    filters: MetadataFilters | None


@dataclass(slots=True, kw_only=True)
class Parts:
    """All but the nodes to choose from and the options; raises ConfigError for a wrong one."""

    judge: JudgeChoice
    llm: LLM | None
    embed_model: BaseEmbedding | None
    perspectives: Sequence[Perspective | str] | None
    extractor: Extractor | None
    expander: Expander | None = None
    selector: Selector | None
    skip_if: Callable[[str], Any] | None
    dedup_key: DedupKey | None
    score_kind: ScoreKind
    limiter: Limiter
    telemetry: Telemetry | None

    def __post_init__(self) -> None:
        model = self.embed_model
        if model is not None and not isinstance(model, BaseEmbedding):
            raise ConfigError(
                "embed_model must be a LlamaIndex embedding model (BaseEmbedding), "
                f"got {model!r:.60}"
            )
        if self.perspectives is not None:
            as_perspectives(self.perspectives)  # they stay texts, which are words for a side
            self.perspectives = tuple(self.perspectives)
        check_score_kind(self.score_kind)

    def pipeline(
        self, store: Store, bundle: QueryBundle, options: PipelineOptions, *, traced: bool
    ) -> PerspectivePipeline:
        """The pipeline for one query."""
        model = self.embed_model
        return wrapped_pipeline(
            store,
            embedder=LlamaIndexEmbedder(model, bundle=bundle) if model is not None else None,
            judge=self.judge,
            llm=self.llm,
            extractor=self.extractor,
            expander=self.expander,
            selector=self.selector,
            skip_if=self.skip_if,
            dedup_key=self.dedup_key,
            watch=with_span if traced else None,
            limiter=self.limiter,
            telemetry=self.telemetry,
            options=options,
        )


def llm_of(llm: BaseLLM | LLM | None) -> LLM | None:
    """LlamaIndex's model, or the library's, as an LLM; raises ConfigError for anything else."""
    if llm is None or isinstance(llm, BaseLLM):
        return None if llm is None else LlamaIndexLLM(llm)
    return check_component("llm", llm, framework="a LlamaIndex LLM")


def bundle_of(query: str | QueryBundle) -> QueryBundle:
    """A query as LlamaIndex's bundle; one that is a bundle already is handed back."""
    return query if isinstance(query, QueryBundle) else QueryBundle(query)
