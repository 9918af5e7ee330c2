"""The metrics under DeepEval's own runner, with the packaged judge."""

from __future__ import annotations

import pytest

pytest.importorskip("deepeval")
pytest.importorskip("deepeval_perspective_rag")

from deepeval import assert_test, evaluate
from deepeval.errors import MissingTestCaseParamsError
from deepeval.evaluate import AsyncConfig, DisplayConfig, ErrorConfig
from deepeval.test_case import LLMTestCase, RetrievedContextData

from deepeval_perspective_rag import ListedSupportMetric, PerspectiveCoverageMetric
from perspective_rag import CallableJudge, ConfigError
from tests.evaluation.samples import AGAINST, CHAINS, FOR, OTHER, QUESTION

QUIET = DisplayConfig(show_indicator=False, print_results=False)
METRICS = (PerspectiveCoverageMetric, ListedSupportMetric)


def case(contexts, question=QUESTION, **given):
    return LLMTestCase(input=question, retrieval_context=contexts, **given)


def told(cases, metrics, **given):
    """What the runner tells of each test case, by its name and the metric's."""
    run = evaluate(cases, metrics, display_config=QUIET, **given)
    return {
        (result.name, metric.name): metric
        for result in run.test_results
        for metric in result.metrics_data
    }


@pytest.mark.parametrize("run_async", [True, False])
def test_evaluate_scores_every_chain_and_abstains_where_nothing_is_about_the_question(run_async):
    cases = [case(contexts, name=name) for name, contexts in CHAINS.items()]
    metrics = [PerspectiveCoverageMetric(), ListedSupportMetric()]
    found = told(cases, metrics, async_config=AsyncConfig(run_async=run_async))
    seen = {key: (each.score, each.success) for key, each in found.items()}
    assert seen == {
        ("both sides", "Perspective Coverage"): (1.0, True),
        ("both sides", "Listed Support"): (1.0, True),
        ("one side", "Perspective Coverage"): (0.5, False),
        ("one side", "Listed Support"): (0.5, True),
        ("another topic", "Perspective Coverage"): (None, None),
        ("another topic", "Listed Support"): (None, None),
    }
    one = found["one side", "Perspective Coverage"]
    assert "no context sorted under: 'Zoos should not be closed'" in one.reason
    assert "evaluation-tools/#trust" in one.reason
    assert one.evaluation_model == "perspective-rag-judge"
    assert found["another topic", "Perspective Coverage"].reason.startswith("Not scored: ")


def test_assert_test_passes_what_covers_every_side_and_names_what_lacks_one():
    assert_test(case(CHAINS["both sides"]), [PerspectiveCoverageMetric()])
    with pytest.raises(AssertionError, match=r"Perspective Coverage .*score: 0\.5"):
        assert_test(case(CHAINS["one side"]), [PerspectiveCoverageMetric()])
    assert_test(case(CHAINS["one side"]), [PerspectiveCoverageMetric(threshold=0.5)])


def test_a_silent_store_fails_where_that_is_asked_for():
    with pytest.raises(AssertionError, match="Perspective Coverage"):
        assert_test(case([OTHER]), [PerspectiveCoverageMetric(silent_score=0.0)])
    assert PerspectiveCoverageMetric(silent_score=0.0).measure(case([FOR], "Who is he?")) is None


@pytest.mark.parametrize("kind", METRICS)
async def test_measuring_alone_sync_and_async_agree(kind):
    one, other = kind(), kind()
    assert one.measure(case([FOR, OTHER])) == await other.a_measure(case([FOR, OTHER])) == 0.5
    assert one.reason == other.reason
    assert one.score == 0.5
    assert one.is_successful() is (one.threshold == 0.5)


def test_strict_mode_is_all_or_nothing():
    metric = PerspectiveCoverageMetric(0.2, strict_mode=True)
    assert (metric.measure(case([FOR])), metric.is_successful(), metric.threshold) == (0, False, 1)
    assert metric.measure(case([FOR, AGAINST])) == 1.0
    assert metric.is_successful()


def test_without_a_threshold_there_is_a_score_and_no_verdict():
    metric = PerspectiveCoverageMetric(threshold=None)
    assert metric.measure(case([FOR])) == 0.5
    assert metric.is_successful() is None


def test_a_metric_has_no_memory_of_the_case_before():
    metric = PerspectiveCoverageMetric(0.5)
    assert metric.measure(case([FOR])) == 0.5
    assert metric.success is True
    assert metric.measure(case([OTHER])) is None
    assert (metric.score, metric.success) == (None, None)
    assert metric.measure(case([AGAINST])) == 0.5


def test_perspectives_of_the_metric_and_of_the_test_case_reach_the_judge_through_the_runner():
    def judge(perspectives, passages):
        return [
            [0.9 if b.text.casefold() in a.text.casefold() else 0.1 for b in perspectives]
            for a in passages
        ]

    metric = PerspectiveCoverageMetric(
        0.25,
        perspectives={
            QUESTION: ["animals suffer", "tickets cost money", "cages rust", "bears swim"]
        },
        judge=CallableJudge(judge, threshold=0.5),
        embedder=None,
        verbose_mode=True,
    )
    own = case([FOR], name="own", metadata={"perspectives": ["animals suffer"]})
    found = told([case([FOR], name="of the metric"), own], [metric])
    assert found["of the metric", "Perspective Coverage"].score == 0.25
    assert found["own", "Perspective Coverage"].score == 1.0
    assert "animals suffer" in found["own", "Perspective Coverage"].verbose_logs


def test_a_context_may_name_its_source():
    given = [RetrievedContextData(context=FOR, source="a"), AGAINST]
    assert PerspectiveCoverageMetric().measure(case(given)) == 1.0


def test_a_judge_that_fails_is_an_error_of_the_run_and_no_score():
    def down(perspectives, passages):
        raise ConnectionError("the judge is down")

    def metric():
        return PerspectiveCoverageMetric(judge=CallableJudge(down), embedder=None)

    with pytest.raises(Exception, match="the judge is down"):
        told([case([FOR])], [metric()])
    [found] = told([case([FOR])], [metric()], error_config=ErrorConfig(ignore_errors=True)).values()
    assert found.score is None
    assert found.success is False
    assert "the judge is down" in found.error


def test_what_a_test_case_lacks_is_named():
    with pytest.raises(MissingTestCaseParamsError, match="needs retrieval_context"):
        PerspectiveCoverageMetric().measure(LLMTestCase(input=QUESTION, actual_output="a"))


def test_a_silent_score_that_is_none_is_refused():
    with pytest.raises(ConfigError, match="silent_score"):
        PerspectiveCoverageMetric(silent_score=2)
