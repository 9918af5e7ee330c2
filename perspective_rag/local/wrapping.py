"""What the wrappers of frameworks share: their pipeline, and a store of given passages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from perspective_rag.errors import ConfigError, check_component
from perspective_rag.flow.limiter import Limiter
from perspective_rag.flow.request import Telemetry
from perspective_rag.judge.cross_encoder import packaged_judge
from perspective_rag.judge.llm_list import LLMListJudge
from perspective_rag.judge.watched import Watch, WatchedJudge
from perspective_rag.local.callables import CallableStore
from perspective_rag.local.judges import second_judge_of
from perspective_rag.options import PipelineOptions
from perspective_rag.perspectives.find import SkipIf
from perspective_rag.perspectives.llm import LLMExtractor
from perspective_rag.perspectives.reading import RuleExtractor
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.protocols import LLM, Embedder, Expander, Extractor, Judge, Selector, Store
from perspective_rag.types import Passage

if TYPE_CHECKING:
    from typing_extensions import Unpack


class PipelineParts(TypedDict, total=False):
    """What a wrapper hands on to the pipeline as it is."""

    embedder: Embedder | None
    expander: Expander | None
    selector: Selector | None
    skip_if: SkipIf | None
    limiter: Limiter | None
    telemetry: Telemetry | None
    options: PipelineOptions | None


def wrapped_pipeline(
    store: Store,
    *,
    judge: Judge | Literal["default"] | None,
    llm: LLM | None,
    extractor: Extractor | None,
    dedup_key: str | Callable[[Any], Any] | None,
    watch: Watch | None = None,
    llm_name: str = "llm",
    **parts: Unpack[PipelineParts],
) -> PerspectivePipeline:
    """Makes the pipeline behind a wrapper.

    Args:
        store: What is searched.
        judge: "default": ``llm``, which reads all candidates in one call, with the packaged judge
            behind it, or that judge alone.
        llm: Names the perspectives of a question, with the rules to fall back on.
        extractor: Finds the perspectives in place of ``llm``.
        dedup_key: A metadata key, or a function of the framework's document, which is the
            ``source`` of a passage.
        watch: Makes the judge a ``WatchedJudge``; None: nobody watches.
        llm_name: What the wrapper calls its parameter ``llm``.
        **parts: Further parameters of ``PerspectivePipeline``.

    Returns:
        The pipeline.

    Raises:
        ConfigError: ``llm`` and ``extractor`` are both given, or a component or an option cannot be
            used.
        CapabilityError: An option needs a component that is missing, or a store of another kind.
    """
    second_judge = second_judge_of(judge, llm)
    if isinstance(judge, str) and judge == "default":
        judge = packaged_judge()
        judge = judge if llm is None else LLMListJudge(llm, fallback=judge)
    elif judge is not None:
        check_component("judge", judge, framework='"default", None')
    if llm is not None and extractor is not None:
        raise ConfigError(
            f"{llm_name}= and extractor= both find the perspectives: pass one of them"
        )
    if llm is not None:
        extractor = LLMExtractor(llm, fallback=RuleExtractor())
    of_source = dedup_key if callable(dedup_key) else None
    return PerspectivePipeline(
        store,
        judge=judge if watch is None or judge is None else WatchedJudge(judge, watch),
        second_judge=second_judge,
        extractor=extractor,
        dedup_key=dedup_key if of_source is None else lambda passage: of_source(passage.source),
        **parts,
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
