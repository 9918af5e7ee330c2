"""The metrics: a question and its retrieved contexts are read, no language model is asked.

Each is one of Ragas' present metrics (``ragas.metrics.collections``: ``score``, ``ascore``,
``abatch_score``, for ``@experiment``) and one that ``ragas.evaluate`` takes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from ragas.dataset_schema import SingleTurnSample
from ragas.metrics.base import MetricType, SingleTurnMetric
from ragas.metrics.collections.base import BaseMetric
from ragas.metrics.result import MetricResult
from ragas.run_config import RunConfig
from typing_extensions import Unpack

from perspective_rag import ContextReader, Perspective, Score, coverage_score, listed_score
from perspective_rag.extend import ReaderArguments

_COLUMNS = {MetricType.SINGLE_TURN: {"user_input", "retrieved_contexts"}}


class _ContextMetric(BaseMetric, SingleTurnMetric):
    """What both metrics do."""

    _name: ClassVar[str]
    _score: ClassVar[Any]

    def __init__(self, *, name: str | None = None, **given: Unpack[ReaderArguments]) -> None:
        super().__init__(name=name or self._name, allowed_values=(0.0, 1.0))
        self._required_columns = dict(_COLUMNS)
        self._reader = reader = ContextReader(**given)
        self.silent_score = reader.silent_score

    def init(self, run_config: RunConfig) -> None:
        """Nothing: there is no language model to set up."""

    async def ascore(
        self,
        user_input: str,
        retrieved_contexts: list[str],
        perspectives: Sequence[Perspective | str] | None = None,
    ) -> MetricResult:
        """Scores the contexts retrieved for a question.

        Args:
            user_input: The question.
            retrieved_contexts: The texts that were retrieved.
            perspectives: The question's sides; they go before those of the metric.

        Returns:
            The score in [0, 1], higher is better, with its reason; NaN where there is nothing to
            score.

        Raises:
            Exception: What the judge raises.
        """
        result = await self._reader.aread(user_input, retrieved_contexts, perspectives)
        scored: Score = type(self)._score(result, self._reader.judge, silent=self.silent_score)
        return MetricResult(math.nan if scored.value is None else scored.value, scored.reason)

    async def _single_turn_ascore(self, sample: SingleTurnSample, callbacks: Any) -> float:
        found = await self.ascore(sample.user_input or "", sample.retrieved_contexts or [])
        return float(found.value)


class PerspectiveCoverage(_ContextMetric):
    """The share of the question's sides that the retrieved contexts support.

        result = await PerspectiveCoverage().ascore(question, contexts)

    The value is covered perspectives / perspectives of the question. It is NaN, which Ragas leaves
    out of its means, where the question has no perspectives, and where no context is about it: a
    store that lacks the topic is no fault of the chain.

    Args:
        name: The metric's name in results; None: its own.
        **given: Parameters of ``perspective_rag.ContextReader``: ``perspectives``, ``judge``,
            ``embedder``, ``extractor``, ``min_support``, ``relevance_floor``, ``calibration``, and
            ``silent_score``: the value where no context is about the question (None: NaN).

    Raises:
        ConfigError: An argument cannot be used.
    """

    _name = "perspective_coverage"
    _score = staticmethod(coverage_score)


class ListedSupport(_ContextMetric):
    """The share of the retrieved contexts that are listed as support of one of the sides.

    The value is listed contexts / contexts. Low: the chain spends its context on passages that
    argue for no side, or the judge does not see that they do. Parameters, and what has no value,
    are those of ``PerspectiveCoverage``.
    """

    _name = "listed_support"
    _score = staticmethod(listed_score)
