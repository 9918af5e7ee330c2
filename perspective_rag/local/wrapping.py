"""What wrappers and ready-made pipelines share: the judges they come with, a store of given
passages.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from perspective_rag.errors import ConfigError, MissingDependency
from perspective_rag.judge.cross_encoder import packaged_judge
from perspective_rag.judge.llm_list import LLMListJudge
from perspective_rag.judge.models import onnx_runtime
from perspective_rag.judge.two_sided import TwoSidedJudge
from perspective_rag.judge.wrapped import Watch, WatchedJudge
from perspective_rag.local.callables import CallableStore
from perspective_rag.local.frameworks import WrapperParts
from perspective_rag.options import PipelineOptions
from perspective_rag.perspectives.llm import LLMExtractor
from perspective_rag.perspectives.reading import RuleExtractor
from perspective_rag.perspectives.statements import negate
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.protocols import LLM, Embedder, Judge, Store
from perspective_rag.types import Passage

PACKAGE = "perspective_rag_judge"
_LOGGER = logging.getLogger("perspective_rag")


@cache
def larger_judge() -> TwoSidedJudge | None:
    """Returns the judge of ``perspective-rag-judge``, which reads what is about to be listed again.

    All callers share one, loaded at the first judgement.

    Returns:
        The judge; None, with a line in the log, where that package or what it runs on is not
        installed, or where its weights list nothing soundly (threshold 1). Then nothing is read a
        second time.
    """
    found = _find_larger()
    if isinstance(found, TwoSidedJudge):
        return found
    _LOGGER.info(
        "what is listed is read once: %s. pip install perspective-rag-judge brings the larger "
        "judge, which reads it again",
        found,
    )
    return None


def _find_larger() -> TwoSidedJudge | str:
    """The judge, or why there is none."""
    try:
        package: Any = importlib.import_module(PACKAGE)
        folder = Path(package.weights())
        onnx_runtime()
    except (ModuleNotFoundError, MissingDependency) as error:
        return str(error)
    if not (folder / "model.onnx").is_file():
        return f"{PACKAGE} holds no model.onnx"
    judge = TwoSidedJudge(folder, name="perspective-rag-judge-larger", negate=negate)
    if judge.second_listing.threshold >= 1.0:
        return f"no threshold of {PACKAGE} was found sound"
    return judge


def second_judge_of(judge: Any, llm: Any = None) -> TwoSidedJudge | None:
    """Chooses the second judge that goes with a wrapper's ``judge`` and ``llm``.

    Args:
        judge: What the wrapper was given; "default" is the packaged judge.
        llm: The wrapper's language model; it is surer than a second judge.

    Returns:
        The larger judge for "default" without ``llm``; otherwise None.
    """
    default = isinstance(judge, str) and judge == "default"
    return larger_judge() if default and llm is None else None


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
