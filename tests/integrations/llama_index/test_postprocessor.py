"""Choosing among nodes that somebody else retrieved."""

from __future__ import annotations

import copy

import pytest
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from llama_index.retrievers.perspective_rag import PerspectivePostprocessor, report_in
from perspective_rag import CoverageError
from perspective_rag.errors import CapabilityError, ConfigError


@pytest.fixture
def given(zoo):
    return [
        NodeWithScore(node=node, score=1.0 - rank / 10) for rank, node in enumerate(zoo.nodes())
    ]


def ids(nodes):
    return [item.node.node_id for item in nodes]


async def test_it_keeps_a_node_for_each_side_sync_and_async(zoo, given):
    postprocessor = PerspectivePostprocessor(judge=zoo.judge(), k=3)
    assert isinstance(postprocessor, BaseNodePostprocessor)
    assert postprocessor.class_name() == "PerspectivePostprocessor"
    nodes = postprocessor.postprocess_nodes(given, query_str=zoo.question)
    assert len(nodes) == 3
    assert "e" in ids(nodes)
    again = await postprocessor.apostprocess_nodes(given, QueryBundle(zoo.question))
    assert [(n.score, n.node.to_dict()) for n in nodes] == [
        (n.score, n.node.to_dict()) for n in again
    ]
    report = report_in(next(n for n in nodes if n.node.node_id == "e").node.metadata)
    assert report["supports"] == ["oppose"]
    assert report["scores"]["given"] == pytest.approx(0.6)


@pytest.mark.parametrize("model", [False, True])
def test_the_given_order_is_the_relevance_whatever_the_scores_say(zoo, given, model):
    for rank, item in enumerate(given):
        item.score = float(rank)
    postprocessor = PerspectivePostprocessor(
        judge=None, k=4, embed_model=zoo.HashEmbedding() if model else None
    )
    nodes = postprocessor.postprocess_nodes(given, query_str=zoo.question)
    assert ids(nodes) == ["a", "b", "c", "d"]
    assert [n.score for n in nodes] == [0.0, 1.0, 2.0, 3.0], "as they came"


def test_diversity_uses_the_embedding_model_once(zoo, given):
    model = zoo.HashEmbedding()
    postprocessor = PerspectivePostprocessor(judge=None, k=2, mmr_threshold=0.1, embed_model=model)
    nodes = postprocessor.postprocess_nodes(given, query_str=zoo.question)
    assert len(nodes) == 2
    assert ids(nodes) != ["a", "b"]
    assert len(model.texts) == len(set(model.texts)) == 7


def test_diversity_without_an_embedding_model_says_what_to_pass(zoo):
    with pytest.raises(CapabilityError, match="embedder="):
        PerspectivePostprocessor(judge=None, mmr_lambda=0.5)


def test_nothing_given_is_nothing_back(zoo):
    assert (
        PerspectivePostprocessor(judge=zoo.judge()).postprocess_nodes([], query_str=zoo.question)
        == []
    )


def test_fewer_than_k_come_back_all(zoo, given):
    nodes = PerspectivePostprocessor(judge=zoo.judge(), k=50).postprocess_nodes(
        given, query_str=zoo.question
    )
    assert sorted(ids(nodes)) == sorted(ids(given))


def test_without_a_question_it_says_so(zoo, given):
    with pytest.raises(ConfigError, match="query_bundle or query_str"):
        PerspectivePostprocessor(judge=zoo.judge()).postprocess_nodes(given)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kk": 3}, "did you mean"),
        ({"lambda_mul": 0.4}, "did you mean 'lambda_mult'"),
        ({"embedmodel": None}, "did you mean 'embed_model'"),
        ({"fetch_k": 10}, "nothing is searched"),
        ({"projection": "pap"}, "nothing is searched"),
    ],
)
def test_options_that_would_do_nothing_are_refused(wrong, message):
    with pytest.raises(ConfigError, match=message):
        PerspectivePostprocessor(judge=None, **wrong)


@pytest.mark.parametrize("fails", [False, True])
def test_inputs_stay_as_they_were(zoo, given, fails):
    judge = zoo.judge(failing=frozenset(zoo.texts) if fails else frozenset())
    query = QueryBundle(zoo.question, custom_embedding_strs=["cages"])
    before = copy.deepcopy(([item.to_dict() for item in given], query))
    nodes = PerspectivePostprocessor(judge=judge, k=3).postprocess_nodes(given, query)
    for item in nodes:
        item.score = -1.0
        item.node.metadata["tags"].append("written")
    assert ([item.to_dict() for item in given], query) == before


def test_a_judge_that_fails_leaves_the_given_order_and_says_so(zoo, given):
    judge = zoo.judge(failing=frozenset(zoo.texts))
    postprocessor = PerspectivePostprocessor(judge=judge, k=3)
    report = postprocessor.report(given, zoo.question)
    assert [p.id for p in report.passages] == ["a", "b", "c"]
    assert "judge" in {d.stage for d in report.trace.degradations}
    assert [p.id for p in report.coverage.unjudged] == ["support", "oppose"]


def test_what_was_not_given_cannot_be_covered(zoo, given):
    one_sided = [item for item in given if item.node.node_id != "e"]
    report = PerspectivePostprocessor(judge=zoo.judge()).report(one_sided, zoo.question)
    assert [p.id for p in report.coverage.missing] == ["oppose"]
    with pytest.raises(CoverageError):
        PerspectivePostprocessor(judge=zoo.judge(), coverage="require").postprocess_nodes(
            one_sided, query_str=zoo.question
        )


async def test_a_judge_that_blocks_does_not_block_the_event_loop(zoo, given, heart):
    judge = zoo.judge(pause=heart.pause("judge"))
    postprocessor = PerspectivePostprocessor(judge=judge, strict=True)
    await postprocessor.apostprocess_nodes(given, query_str=zoo.question)
    assert heart.pauses == ["judge"]


async def test_rerank_events_fire_once_each(zoo, given, events):
    postprocessor = PerspectivePostprocessor(judge=zoo.judge(), k=3)
    postprocessor.postprocess_nodes(given, query_str=zoo.question)
    await postprocessor.apostprocess_nodes(given, query_str=zoo.question)
    names = [name for name in events.names() if name.startswith("ReRank")]
    assert names == ["ReRankStartEvent", "ReRankEndEvent"] * 2
    assert (events.seen[0].top_n, events.seen[0].model_name) == (3, "table")


def test_perspectives_can_be_named(zoo, given):
    postprocessor = PerspectivePostprocessor(judge=zoo.judge(), perspectives=["one", "two"])
    assert [p.text for p in postprocessor.report(given, zoo.question).perspectives] == [
        "one",
        "two",
    ]


@pytest.mark.parametrize("model", [False, True])
async def test_a_topic_gets_the_sides_that_the_given_nodes_take(zoo, model):
    texts = (
        "Homework should be abolished in primary schools.",
        "Homework should not be abolished, for practice makes lessons stick.",
    )
    given = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in texts]
    postprocessor = PerspectivePostprocessor(
        k=2, discover=2, embed_model=zoo.HashEmbedding() if model else None
    )
    report = postprocessor.report(given, "homework in primary schools")
    assert len(report.perspectives) == 2
    assert report.coverage.complete
    again = await postprocessor.areport(given, "homework in primary schools")
    assert again.perspectives == report.perspectives
    without = PerspectivePostprocessor(k=2).report(given, "homework in primary schools")
    assert without.perspectives == ()
