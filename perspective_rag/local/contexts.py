"""Scores of what another system retrieved for a question, for tools that evaluate such systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict

import numpy as np

from perspective_rag.answer.standing import unread
from perspective_rag.errors import ConfigError, between, check_component
from perspective_rag.flow.limiter import Limiter
from perspective_rag.judge.cross_encoder import packaged_judge
from perspective_rag.local.onnx_minilm import OnnxMiniLM
from perspective_rag.local.wrapping import GivenPassages
from perspective_rag.options import Calibration, PipelineOptions
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.protocols import Embedder, Extractor, Judge
from perspective_rag.types import Hit, Passage, Perspective, RetrievalResult

TRUST = "https://perspective-rag.github.io/perspective-rag/how-to/evaluation-tools/#trust"
"""The page that says how often the judge errs, and how to measure it on labels of one's own."""

Perspectives = Sequence[Perspective | str] | Mapping[str, Sequence[Perspective | str]]
"""The perspectives of every question, or those of each by its text."""


@dataclass(frozen=True, slots=True)
class Score:
    """A score and the reason for it.

    Attributes:
        value: In [0, 1], higher is better. None: there is nothing to score.
        reason: Why, for people to read.
    """

    value: float | None
    reason: str


class ReaderArguments(TypedDict, total=False):
    """The parameters of ``ContextReader`` that a metric hands on, as keywords."""

    judge: Judge | Literal["default"]
    embedder: Embedder | Literal["default"] | None
    extractor: Extractor | None
    perspectives: Perspectives | None
    min_support: float | None
    relevance_floor: float | None
    calibration: Calibration | Mapping[str, Any] | str | Path | None
    silent_score: float | None


class ContextReader:
    """Has a judge read the contexts that a RAG chain retrieved for a question; nothing is searched.

    A judge or embedder that fails raises: a score of what was not read would be a guess.

    Args:
        judge: Reads the contexts; "default" is the packaged one.
        embedder: Measures what a context has to do with the question; "default" is the packaged
            one. None: every context counts as being about it.
        extractor: Finds the perspectives that ``perspectives`` does not name. None: rules.
        perspectives: Those of every question, or a mapping from a question to its own.
        min_support: As in ``PipelineOptions``.
        relevance_floor: As in ``PipelineOptions``.
        calibration: As in ``PipelineOptions``.
        silent_score: In [0, 1]: for a metric, its value where no context is about the question.
            None: no score.
        timeout: As in ``PipelineOptions``.
        limiter: As in ``PerspectivePipeline``.

    Raises:
        ConfigError: A component or an option cannot be used.
        MissingDependency: A packaged model cannot be loaded.
    """

    def __init__(
        self,
        *,
        judge: Judge | Literal["default"] = "default",
        embedder: Embedder | Literal["default"] | None = "default",
        extractor: Extractor | None = None,
        perspectives: Perspectives | None = None,
        min_support: float | None = None,
        relevance_floor: float | None = None,
        calibration: Calibration | Mapping[str, Any] | str | Path | None = None,
        silent_score: float | None = None,
        timeout: float | None = 60.0,
        limiter: Limiter | None = None,
    ) -> None:
        if silent_score is not None:
            between("silent_score", silent_score)
        self.silent_score = silent_score
        self.extractor, self.calibration = extractor, calibration
        self.min_support, self.relevance_floor = min_support, relevance_floor
        if isinstance(judge, str) and judge == "default":
            judge = packaged_judge()
        if isinstance(embedder, str) and embedder == "default":
            embedder = OnnxMiniLM()
        self.judge: Judge = check_component("judge", judge, framework='"default"')
        self.embedder: Embedder | None = embedder
        if embedder is not None:
            check_component("embedder", embedder, framework='"default"')
        self.perspectives = perspectives
        self._pipeline = PerspectivePipeline(
            GivenPassages([]),
            embedder=self.embedder,
            judge=self.judge,
            extractor=extractor,
            limiter=limiter,
            options=PipelineOptions(
                min_support=min_support,
                relevance_floor=relevance_floor,
                calibration=calibration,
                timeout=timeout,
                strict=True,
            ),
        )

    def read(
        self,
        question: str,
        contexts: Sequence[str],
        perspectives: Sequence[Perspective | str] | None = None,
    ) -> RetrievalResult:
        """Reads contexts and judges those that are about the question.

        Args:
            question: The question that they were retrieved for.
            contexts: Their texts.
            perspectives: The perspectives, instead of those of the constructor; strings get the ids
                p1, p2, ...

        Returns:
            The result; a passage's id is the place of its context, from "1" on.

        Raises:
            ConfigError: The contexts are no list of strings.
            PerspectiveRAGError: Judge or embedder failed.
        """
        hits, asked = self._request(question, contexts, perspectives)
        return self._pipeline.choose(question, hits, **asked)

    async def aread(
        self,
        question: str,
        contexts: Sequence[str],
        perspectives: Sequence[Perspective | str] | None = None,
    ) -> RetrievalResult:
        """The same as ``read``, without blocking the event loop."""
        hits, asked = self._request(question, contexts, perspectives)
        return await self._pipeline.achoose(question, hits, **asked)

    def _request(
        self,
        question: str,
        contexts: Sequence[str],
        perspectives: Sequence[Perspective | str] | None,
    ) -> tuple[list[Hit], dict[str, Any]]:
        if isinstance(contexts, str) or not all(isinstance(each, str) for each in contexts):
            raise ConfigError(f"contexts must be a list of texts, got {contexts!r:.200}")
        if perspectives is None:
            known = self.perspectives
            perspectives = known.get(question) if isinstance(known, Mapping) else known
        hits = [Hit(Passage(str(place), text)) for place, text in enumerate(contexts, start=1)]
        many = max(len(hits), 1)
        return hits, {"perspectives": perspectives, "k": many, "fetch_k": many, "judge_k": many}


def coverage_score(
    result: RetrievalResult, judge: Judge | None = None, *, silent: float | None = None
) -> Score:
    """The fraction of the perspectives under which at least one passage is listed.

    Args:
        result: What ``ContextReader.read`` returned.
        judge: The judge that the reason names. None: it names none.
        silent: In [0, 1]: the value where nothing was retrieved, or nothing about the question.
            None: no score.

    Returns:
        The score; its value is None where the question has no perspectives.
    """
    abstained = _no_score(result, silent)
    if abstained is not None:
        return abstained
    covered, lacking = [], []
    for each in result.perspectives:
        if each in result.coverage.covered:
            places = sorted(int(found.passage.id) for found in result.supporting(each))
            covered.append(f"{each.text!r} (context {', '.join(map(str, places))})")
        else:
            lacking.append(repr(each.text))
    said = [f"{len(covered)} of {len(result.perspectives)} perspectives are covered"]
    said += [f"covered: {', '.join(covered)}"] if covered else []
    said += [f"no context sorted under: {', '.join(lacking)}"] if lacking else []
    share = len(covered) / len(result.perspectives)
    return Score(share, f"{'; '.join(said)}. {_judged_by(result, judge)}")


def listed_score(
    result: RetrievalResult, judge: Judge | None = None, *, silent: float | None = None
) -> Score:
    """The same as ``coverage_score``, but of the passages: the fraction that is listed as support
    of a perspective.
    """
    abstained = _no_score(result, silent)
    if abstained is not None:
        return abstained
    coverage = result.coverage
    listed = np.asarray(coverage.listed.any(axis=1))
    said = [f"{int(listed.sum())} of {len(listed)} contexts are listed as support of a perspective"]
    counts = Counter(coverage.states)
    counts.pop("takes a side", None)
    said += [f"{count} {state}" for state, count in counts.items()]
    return Score(float(np.mean(listed)), f"{'; '.join(said)}. {_judged_by(result, judge)}")


def _no_score(result: RetrievalResult, silent: float | None) -> Score | None:
    """The score where there is nothing to score; None where there is."""
    if not result.perspectives:
        why = result.caution or f"{result.reading.rstrip('.')}. Name them where it has any."
        return Score(None, f"Not scored: no perspectives of this question are known. {why}")
    if result.candidates and not unread(result):
        return None
    said = "Not scored" if silent is None else f"Scored {silent:g}, as set for such cases"
    if not result.candidates:
        return Score(silent, f"{said}: nothing was retrieved.")
    return Score(
        silent,
        f"{said}: no retrieved context ({len(result.candidates)}) is near enough to the question "
        "to be judged. The store lacks the topic, or the search missed it.",
    )


def _judged_by(result: RetrievalResult, judge: Judge | None) -> str:
    rule = result.coverage.rule
    by = f"the judge {judge.name}" if judge is not None else "a judge"
    said = (
        f"Listed by {by} from P(support) {rule.threshold:.2g} on, which is an estimate: it can "
        f"err, and what it does not list may support all the same. How often: {TRUST}"
    )
    if result.related is None:
        said += " Whether the contexts are about the question was not measured."
    return said
