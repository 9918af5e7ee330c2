"""What a LlamaIndex application does with its retrievers, and goes on doing with ours."""

from __future__ import annotations

import pickle
import threading

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters

from llama_index.retrievers.perspective_rag import (
    PerspectivePostprocessor,
    PerspectiveRetriever,
    report_in,
)
from perspective_rag import CapabilityError, ConfigError, CrossEncoderJudge, PipelineOptions
from perspective_rag.judge.cross_encoder import packaged_judge
from perspective_rag.testing import TableJudge

REPORT = "perspective_rag_report"

EVEN = MetadataFilters(filters=[ExactMatchFilter(key="shelf", value="even")])
ONLY_B = MetadataFilters(filters=[ExactMatchFilter(key="title", value="B")])


def ids(nodes):
    return [item.node.node_id for item in nodes]


# Options of one request, where LlamaIndex hands on the question alone


@pytest.mark.parametrize("use_async", [False, True])
async def test_r24_options_of_a_request_reach_it_through_a_fusion(zoo, use_async):
    store = zoo.RecordingVectorStore()
    ours = PerspectiveRetriever(zoo.index(vector_store=store), judge=zoo.judge(), k=1, fetch_k=2)
    other = zoo.WordRetriever(zoo.nodes()[:1])

    async def found(retriever):
        store._queries.clear()
        fusion = QueryFusionRetriever(
            [other, retriever],
            llm=MockLLM(),
            num_queries=1,
            similarity_top_k=9,
            use_async=use_async,
        )
        question = QueryBundle(zoo.question)
        return await fusion.aretrieve(question) if use_async else fusion.retrieve(question)

    before = await found(ours)
    wanted = {"k": 3, "fetch_k": 5, "perspectives": ["butter and flour"], "filters": EVEN}
    nodes = await found(ours.with_options(**wanted))
    assert set(ids(nodes)) == {"a", "b", "d", "f"}, "three of ours, one of the other"
    assert {query.similarity_top_k for query in store._queries} == {5}
    assert {str(query.filters) for query in store._queries} == {str(EVEN)}
    (butter,) = [item.node for item in nodes if item.node.node_id == "f"]
    assert "butter and flour" in report_in(butter.metadata)["found_by"]
    assert ids(await found(ours)) == ids(before)
    assert {query.filters for query in store._queries} == {None}


async def test_r24_options_of_a_request_reach_it_through_an_engine(zoo):
    ours = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3)
    engine = RetrieverQueryEngine(
        ours, response_synthesizer=get_response_synthesizer(llm=MockLLM())
    )
    narrow = engine.with_retriever(ours.with_options(k=2, filters=EVEN))
    for response in (narrow.query(zoo.question), await narrow.aquery(zoo.question)):
        nodes = response.source_nodes
        assert len(nodes) == 2
        assert {item.node.metadata["shelf"] for item in nodes} == {"even"}
    assert len(engine.query(zoo.question).source_nodes) == 3


def test_r24_a_retriever_with_other_options_shares_all_that_is_costly(zoo):
    class Mine(PerspectiveRetriever):
        pass

    ours = Mine(zoo.index(), judge=zoo.judge(), filters=EVEN, k=3, perspectives=["cages"])
    other = ours.with_options(k=5, filters=ONLY_B).with_options(mmr_lambda=0.5)
    assert type(other) is Mine
    assert (other.options.k, other.options.mmr_lambda) == (5, 0.5)
    assert (ours.options.k, ours.options.mmr_lambda) == (3, 1.0)
    assert other.pipeline.judge is ours.pipeline.judge
    assert other.pipeline.limiter is ours.pipeline.limiter
    assert ids(other.retrieve(zoo.question)) == ["b"], "both filters hold"
    assert sorted(ids(ours.retrieve(zoo.question))) == ["b", "d", "f"]
    assert [p.text for p in other.report(zoo.question).perspectives] == ["cages"]
    assert other.with_options(perspectives=[]).report(zoo.question).perspectives == ()


def test_r24_options_that_cannot_work_are_refused_at_once(zoo):
    by_words = PerspectiveRetriever(zoo.WordRetriever(zoo.nodes()), judge=None)
    with pytest.raises(CapabilityError, match="projection"):
        by_words.with_options(projection="pap")
    with pytest.raises(CapabilityError, match="filters"):
        by_words.with_options(filters=EVEN)
    with pytest.raises(ConfigError, match=r"perspektives.*perspectives"):
        by_words.with_options(perspektives=["yes"])
    with pytest.raises(ConfigError, match="not empty"):
        by_words.with_options(perspectives=[""])


def test_the_number_of_nodes_of_a_wrapped_retriever_stays(zoo):
    index = zoo.index()
    fusion = QueryFusionRetriever(
        [index.as_retriever(similarity_top_k=6)], llm=MockLLM(), num_queries=1, similarity_top_k=4
    )

    def found(source, **given):
        return len(PerspectiveRetriever(source, judge=None, **given).retrieve(zoo.question))

    assert found(index.as_retriever(similarity_top_k=3)) == 3
    assert found(fusion) == 4
    assert found(index.as_retriever(similarity_top_k=3), k=1) == 1
    assert found(index.as_retriever(similarity_top_k=3), similarity_top_k=6) == 6
    assert found(index.as_retriever(similarity_top_k=3), options=PipelineOptions(k=2)) == 2
    assert found(index.as_retriever()) == found(index) == 5, "LlamaIndex's default is nobody's wish"


# Nodes that were found more than once


@pytest.fixture
def given(zoo):
    return [NodeWithScore(node=node, score=0.9 - i / 10) for i, node in enumerate(zoo.nodes())]


async def test_r20_a_node_given_twice_is_chosen_once(zoo, given):
    chooses = PerspectivePostprocessor(judge=None, k=4)
    doubled = [given[0], given[0], given[1], given[0], given[2]]
    for nodes in (
        chooses.postprocess_nodes(doubled, query_str=zoo.question),
        await chooses.apostprocess_nodes(doubled, query_str=zoo.question),
    ):
        assert ids(nodes) == ["a", "b", "c"]
        assert [item.score for item in nodes] == [given[i].score for i in range(3)]


@pytest.mark.parametrize("key", ["shelf", lambda node: node.metadata["shelf"]])
def test_r20_the_postprocessor_takes_a_key_of_ones_own_too(zoo, given, key):
    chooses = PerspectivePostprocessor(judge=zoo.judge(), k=50, dedup_key=key)
    assert sorted(ids(chooses.postprocess_nodes(given, query_str=zoo.question))) == ["a", "b"]
    with pytest.raises(ConfigError, match="dedup_key"):
        PerspectivePostprocessor(judge=None, dedup_key=3)
    with pytest.raises(ConfigError, match=r"dedup_keys.*dedup_key"):
        PerspectivePostprocessor(judge=None, dedup_keys="shelf")


def test_r20_a_key_that_fails_leaves_the_ids_and_says_so(zoo, given):
    chooses = PerspectivePostprocessor(
        judge=None, k=50, dedup_key=lambda node: node.metadata["url"]
    )
    report = chooses.report(given, zoo.question)
    assert [passage.id for passage in report.passages] == list(zoo.texts)
    assert [each.stage for each in report.trace.degradations] == ["merge"]


# Objects that are kept, copied, sent


def test_metadata_that_cannot_be_copied_is_handed_on(zoo):
    lock, tags = threading.Lock(), ["zoo"]
    node = TextNode(id_="locked", text="zoos should be closed")
    node.metadata.update(lock=lock, tags=tags)
    (found,) = PerspectivePostprocessor(judge=None).postprocess_nodes(
        [NodeWithScore(node=node)], query_str=zoo.question
    )
    assert found.node.metadata["lock"] is lock
    assert found.node.metadata["tags"] == tags
    assert found.node.metadata["tags"] is not tags, "all that can be copied is"
    assert REPORT not in node.metadata


def test_it_can_be_pickled_like_llama_indexes_own():
    index = VectorStoreIndex(
        [TextNode(id_=name, text=name) for name in "abc"], embed_model=MockEmbedding(embed_dim=4)
    )
    for judge in (None, "default"):
        retriever = PerspectiveRetriever(index, judge=judge, k=2, perspectives=["one side"])
        again = pickle.loads(pickle.dumps(retriever))
        assert again.options == retriever.options
        assert len(again.with_options(coverage="off").retrieve("b")) == 2


def test_the_default_judge_is_the_packages_own_and_made_once(zoo):
    packaged_judge.cache_clear()
    judge = PerspectiveRetriever(zoo.index()).pipeline.judge
    assert isinstance(judge, CrossEncoderJudge)
    assert judge._classifier is None, "to name it costs nothing"
    assert PerspectiveRetriever(zoo.index()).pipeline.judge is judge
    assert PerspectivePostprocessor()._pipeline(QueryBundle(""), ()).judge is judge


def test_a_node_says_in_words_which_sides_it_supports(zoo):
    sides = ["Zoos are cruel.", "Breeding saves species."]
    judge = TableJudge({("a", "p1"): 0.9, ("e", "p2"): 0.8}, default=0.1)
    retriever = PerspectiveRetriever(zoo.index(), judge=judge, k=6, perspectives=sides)
    nodes = {item.node.node_id: item.node for item in retriever.retrieve(zoo.question)}
    told = {name: report_in(node.metadata)["perspectives"] for name, node in nodes.items()}
    assert told == {"a": sides[:1], "e": sides[1:], "b": [], "c": [], "d": [], "f": []}


def test_models_are_shown_what_they_were_shown_before(zoo):
    plain = {item.node.node_id: item.node for item in zoo.index().as_retriever().retrieve("zoos")}
    for item in PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=6).retrieve("zoos"):
        for mode in (MetadataMode.LLM, MetadataMode.EMBED):
            before = plain.get(item.node.node_id)
            if before is not None:
                assert item.node.get_content(mode) == before.get_content(mode)
