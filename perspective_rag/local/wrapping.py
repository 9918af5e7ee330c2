"""The pipeline behind a wrapper of a framework, and a store of given passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from perspective_rag.errors import ConfigError
from perspective_rag.judge.cross_encoder import packaged_judge
from perspective_rag.judge.llm_list import LLMListJudge
from perspective_rag.judge.watched import Watch, WatchedJudge
from perspective_rag.local.callables import CallableStore
from perspective_rag.local.frameworks import WrapperParts
from perspective_rag.local.judges import second_judge_of
from perspective_rag.options import PipelineOptions
from perspective_rag.perspectives.llm import LLMExtractor
from perspective_rag.perspectives.reading import RuleExtractor
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.protocols import LLM, Embedder, Judge, Store
from perspective_rag.types import Passage


def wrapped_pipeline(
    store: Store,
    parts: WrapperParts,
    *,
    embedder: Embedder | None = None,
    llm: LLM | None = None,
    llm_name: str = "llm",
    watch: Watch | None = None,
    options: PipelineOptions | None = None,
) -> PerspectivePipeline:
    """Makes the pipeline behind a wrapper.

    Args:
        store: What is searched.
        parts: What the wrapper was given. ``judge="default"`` is ``llm``, which reads all
            candidates in one call, with the packaged judge behind it, or that judge alone.
        embedder: Embeds questions, and passages that come without vectors.
        llm: Names the perspectives of a question, with the rules to fall back on.
        llm_name: What the wrapper calls its parameter ``llm``.
        watch: Makes the judge a ``WatchedJudge``; None: nobody watches.
        options: In place of those of ``parts``.

    Returns:
        The pipeline.

    Raises:
        ConfigError: ``llm`` and an extractor are both given, or a component or an option cannot be
            used.
        CapabilityError: An option needs a component that is missing, or a store of another kind.
    """
    judge: Judge | None
    if isinstance(parts.judge, str):
        judge = packaged_judge()
        judge = judge if llm is None else LLMListJudge(llm, fallback=judge)
    else:
        judge = parts.judge
    extractor = parts.extractor
    if llm is not None:
        if extractor is not None:
            raise ConfigError(
                f"{llm_name}= and extractor= both find the perspectives: pass one of them"
            )
        extractor = LLMExtractor(llm, fallback=RuleExtractor())
    key = parts.dedup_key
    of_source = key if callable(key) else None
    return PerspectivePipeline(
        store,
        embedder=embedder,
        judge=judge if watch is None or judge is None else WatchedJudge(judge, watch),
        second_judge=second_judge_of(parts.judge, llm),
        extractor=extractor,
        expander=parts.expander,
        selector=parts.selector,
        skip_if=parts.skip_if,
        dedup_key=key if of_source is None else lambda passage: of_source(passage.source),
        limiter=parts.limiter,
        telemetry=parts.telemetry,
        options=parts.options if options is None else options,
    )


class GivenPassages(CallableStore):
    """The store of a pipeline that is given its candidates: a search finds all, in their order.

    Args:
        passages: The candidates, best first.
        takes_vector: True where there is an embedder and the order of the candidates is to stay: a
            pipeline re-orders what a search by text finds.
    """

    def __init__(self, passages: Sequence[Passage], *, takes_vector: bool = False) -> None:
        def first(query: Any, k: int, filter: Any = None) -> Sequence[Passage]:
            return passages[:k]

        async def afirst(query: Any, k: int, filter: Any = None) -> Sequence[Passage]:
            return passages[:k]

        super().__init__(first, afirst, takes_vector=takes_vector)
