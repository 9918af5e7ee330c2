"""The metrics: a question and its retrieval context are read, no language model is asked."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from deepeval.errors import MissingTestCaseParamsError
from deepeval.metrics import BaseMetric
from deepeval.metrics.utils import construct_verbose_logs
from deepeval.test_case import LLMTestCase, SingleTurnParams
from typing_extensions import Unpack

from perspective_rag import ContextReader, RetrievalResult, Score, coverage_score, listed_score
from perspective_rag.extend import ReaderArguments


class _ContextMetric(ContextReader, BaseMetric):
    """What both metrics do.

    DeepEval makes a metric anew for every test case, from the attributes that are named as
    parameters are, those of base classes too: ``ContextReader`` keeps its own.
    """

    _required_params: ClassVar[list[SingleTurnParams]] = [
        SingleTurnParams.INPUT,
        SingleTurnParams.RETRIEVAL_CONTEXT,
    ]
    _title: ClassVar[str]
    _threshold: ClassVar[float]
    _score: ClassVar[Any]

    def __init__(
        self,
        threshold: float | Literal["default"] | None = "default",
        *,
        strict_mode: bool = False,
        verbose_mode: bool = False,
        flaky: bool = False,
        **given: Unpack[ReaderArguments],
    ) -> None:
        super().__init__(**given)
        asked = self._threshold if threshold == "default" else threshold
        self.threshold = 1.0 if strict_mode else asked
        self.strict_mode = strict_mode
        self.verbose_mode = verbose_mode
        self.flaky = flaky
        self.evaluation_model = self.judge.name

    def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        """Scores a test case; ``reason`` says how the score comes about.

        Args:
            test_case: Its ``input`` is the question, its ``retrieval_context`` is read; its
                ``metadata["perspectives"]`` go before those of the metric.
            *args: Ignored.
            **kwargs: Ignored.

        Returns:
            The score in [0, 1], higher is better; None where there is nothing to score.

        Raises:
            MissingTestCaseParamsError: The test case has no question or no context.
            Exception: What the judge raises.
        """
        self._check(test_case)
        return self._keep(self.read(*self._question_of(test_case)))

    async def a_measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        """The same as ``measure``, without blocking the event loop."""
        self._check(test_case)
        return self._keep(await self.aread(*self._question_of(test_case)))

    def is_successful(self) -> bool | None:
        """Whether the threshold is reached; None, no verdict, where nothing was scored."""
        if self.error is None and self.score is None:
            self.success = None
            return None
        verdict: bool | None = super().is_successful()
        return verdict

    @property
    def __name__(self) -> str:
        return self._title

    def _check(self, test_case: LLMTestCase) -> None:
        self.score: float | None = None
        self.reason: str | None = None
        self.error: str | None = None
        self.score_breakdown: dict[str, float] | None = None
        needed = (each.value for each in self._required_params)
        if missing := [name for name in needed if getattr(test_case, name) is None]:
            raise MissingTestCaseParamsError(f"{self._title} needs {' and '.join(missing)}")

    def _question_of(self, test_case: LLMTestCase) -> tuple[str, list[str], Any]:
        given = test_case.retrieval_context or []
        contexts = [each if isinstance(each, str) else each.context for each in given]
        return test_case.input, contexts, (test_case.metadata or {}).get("perspectives")

    def _keep(self, result: RetrievalResult) -> float | None:
        score: Score = type(self)._score(result, self.judge, silent=self.silent_score)
        self.score, self.reason = score.value, score.reason
        if self.strict_mode and self.score is not None and self.score < 1.0:
            self.score = 0.0
        if result.coverage.judged:
            covered = {each.id for each in result.coverage.covered}
            self.score_breakdown = {
                each.text: float(each.id in covered) for each in result.perspectives
            }
        self.is_successful()
        if self.verbose_mode:
            steps = [f"Perspectives: {self.score_breakdown}", f"Score: {self.score}", self.reason]
            self.verbose_logs = construct_verbose_logs(self, steps=steps)
        return self.score


class PerspectiveCoverageMetric(_ContextMetric):
    """The share of the question's sides that the retrieval context supports.

        assert_test(LLMTestCase(input=question, retrieval_context=texts),
                    [PerspectiveCoverageMetric()])

    The score is covered perspectives / perspectives of the question. It is None, without a verdict,
    where the question has no perspectives, and where no context is about it: a store that lacks the
    topic is no fault of the chain.

    Args:
        threshold: Minimum score; 1.0, the default, asks for every side. None: no verdict.
        strict_mode: True: the score is 1 where every side is supported, else 0.
        verbose_mode: True: DeepEval prints the steps.
        flaky: DeepEval's.
        **given: Parameters of ``perspective_rag.ContextReader``: ``perspectives``, ``judge``,
            ``embedder``, ``extractor``, ``min_support``, ``relevance_floor``, ``calibration``, and
            ``silent_score``: the score where no context is about the question (None: no score).

    Raises:
        ConfigError: An argument cannot be used.
    """

    _title = "Perspective Coverage"
    _threshold = 1.0
    _score = staticmethod(coverage_score)


class ListedSupportMetric(_ContextMetric):
    """The share of the retrieval context that is listed as support of one of the sides.

    The score is listed contexts / contexts. Low: the chain spends its context on passages that
    argue for no side, or the judge does not see that they do. Parameters, and what has no score,
    are those of ``PerspectiveCoverageMetric``; ``threshold`` is 0.5.
    """

    _title = "Listed Support"
    _threshold = 0.5
    _score = staticmethod(listed_score)
