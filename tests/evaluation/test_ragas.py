"""The metrics under Ragas' own runners, ``evaluate`` and ``@experiment``, with the packaged judge."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("ragas")
pytest.importorskip("ragas_perspective_rag")

from ragas import Dataset, EvaluationDataset, evaluate, experiment

from perspective_rag import CallableJudge, ConfigError
from ragas_perspective_rag import ListedSupport, PerspectiveCoverage
from tests.evaluation.samples import AGAINST, CHAINS, FOR, OTHER, QUESTION

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
ROWS = [{"user_input": QUESTION, "retrieved_contexts": each} for each in CHAINS.values()]


def test_evaluate_scores_every_row_and_leaves_out_of_its_mean_what_is_silent():
    found = evaluate(
        EvaluationDataset.from_list(ROWS),
        metrics=[PerspectiveCoverage(), ListedSupport()],
        show_progress=False,
        raise_exceptions=True,
    )
    assert [row["perspective_coverage"] for row in found.scores[:2]] == [1.0, 0.5]
    assert [row["listed_support"] for row in found.scores[:2]] == [1.0, 0.5]
    assert all(math.isnan(value) for value in found.scores[2].values())
    assert "'perspective_coverage': 0.7500" in repr(found)


async def test_an_experiment_has_the_scores_with_their_reasons(tmp_path):
    rows = Dataset("chains", backend="inmemory", data=ROWS)
    metric = PerspectiveCoverage()

    @experiment()
    async def coverage(row):
        found = await metric.ascore(row["user_input"], row["retrieved_contexts"])
        return {
            "contexts": len(row["retrieved_contexts"]),
            "score": found.value,
            "why": found.reason,
        }

    made = await coverage.arun(rows, name="coverage")
    scores = sorted((row["score"], row["why"]) for row in made if not math.isnan(row["score"]))
    assert [score for score, _ in scores] == [0.5, 1.0]
    assert "no context sorted under: 'Zoos should not be closed'" in scores[0][1]
    assert "evaluation-tools/#trust" in scores[0][1]
    [silent] = [row["why"] for row in made if math.isnan(row["score"])]
    assert silent.startswith("Not scored: ")


@pytest.mark.parametrize(("kind", "value"), [(PerspectiveCoverage, 0.5), (ListedSupport, 1 / 3)])
async def test_measuring_alone_and_in_batches_agree(kind, value):
    metric = kind()
    asked = {"user_input": QUESTION, "retrieved_contexts": [FOR, OTHER, OTHER]}
    assert (await metric.ascore(**asked)).value == pytest.approx(value)
    several = await metric.abatch_score([asked, {**asked, "retrieved_contexts": [FOR, AGAINST]}])
    assert [each.value for each in several] == [pytest.approx(value), 1.0]


def test_measuring_alone_without_an_event_loop():
    found = PerspectiveCoverage().score(user_input=QUESTION, retrieved_contexts=[FOR])
    assert found.value == 0.5


def test_a_silent_store_counts_where_that_is_asked_for():
    metric = PerspectiveCoverage(silent_score=0.0)
    found = metric.score(user_input=QUESTION, retrieved_contexts=[OTHER])
    assert found.value == 0.0
    assert found.reason.startswith("Scored 0, as set for such cases: no retrieved context (1)")
    assert math.isnan(metric.score(user_input="Who is he?", retrieved_contexts=[OTHER]).value)


def test_perspectives_are_named_for_all_questions_or_for_one_call():
    def judge(perspectives, passages):
        return [
            [0.9 if b.text.casefold() in a.text.casefold() else 0.1 for b in perspectives]
            for a in passages
        ]

    metric = PerspectiveCoverage(
        name="coverage",
        perspectives=["animals suffer", "tickets cost money"],
        judge=CallableJudge(judge, threshold=0.5),
        embedder=None,
    )
    asked = {"user_input": QUESTION, "retrieved_contexts": [FOR]}
    assert metric.score(**asked).value == 0.5
    assert metric.score(**asked, perspectives=["animals suffer"]).value == 1.0
    [row] = evaluate(
        EvaluationDataset.from_list([asked]), metrics=[metric], show_progress=False
    ).scores
    assert row == {"coverage": 0.5}


def test_a_judge_that_fails_raises_and_gives_no_score():
    def down(perspectives, passages):
        raise ConnectionError("the judge is down")

    metric = PerspectiveCoverage(judge=CallableJudge(down), embedder=None)
    rows = EvaluationDataset.from_list(ROWS[:1])
    with pytest.raises(Exception, match="the judge is down"):
        evaluate(rows, metrics=[metric], show_progress=False, raise_exceptions=True)
    [row] = evaluate(rows, metrics=[metric], show_progress=False).scores
    assert math.isnan(row["perspective_coverage"])


def test_a_row_without_contexts_is_refused_by_ragas():
    rows = EvaluationDataset.from_list([{"user_input": QUESTION, "response": "a"}])
    with pytest.raises(ValueError, match="retrieved_contexts"):
        evaluate(rows, metrics=[PerspectiveCoverage()], show_progress=False)


def test_a_silent_score_that_is_none_is_refused():
    with pytest.raises(ConfigError, match="silent_score"):
        PerspectiveCoverage(silent_score=-1)
