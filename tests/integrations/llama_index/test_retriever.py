"""What any LlamaIndex retriever must do, and what ours promises on top."""

from __future__ import annotations

import asyncio
import inspect

import numpy as np
import pytest
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import IndexNode, MetadataMode, NodeWithScore, QueryBundle, TextNode

from llama_index.retrievers.perspective_rag import (
    PerspectivePostprocessor,
    PerspectiveRetriever,
    report_in,
)
from perspective_rag import CoverageError
from perspective_rag.errors import CapabilityError, ConfigError
from perspective_rag.options import PipelineOptions
from perspective_rag.types import Perspective

REPORT = "perspective_rag_report"


@pytest.fixture
def retriever(zoo):
    return PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=3)


def ids(nodes):
    return [item.node.node_id for item in nodes]


# Conformance: the list of langchain-tests, in LlamaIndex's words.


def test_it_is_a_retriever_with_the_signatures_llama_index_calls(retriever):
    assert isinstance(retriever, BaseRetriever)
    for method in (retriever._retrieve, retriever._aretrieve):
        assert list(inspect.signature(method).parameters) == ["query_bundle"]
    assert inspect.iscoroutinefunction(retriever._aretrieve)
    assert type(retriever)._aretrieve is not BaseRetriever._aretrieve


@pytest.mark.parametrize("k", [1, 3])
def test_k_is_the_number_of_nodes(zoo, k):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=k)
    assert len(retriever.retrieve(zoo.question)) == k
    assert len(retriever.report(zoo.question, k=4 - k).candidates) == 4 - k
    assert len(retriever.retrieve(zoo.question)) == k  # a call leaves no option behind


def test_k_beyond_the_index_gives_all_of_it(zoo):
    nodes = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), k=50).retrieve(zoo.question)
    assert sorted(ids(nodes)) == sorted(zoo.texts)


def test_an_empty_index_gives_no_nodes(zoo):
    retriever = PerspectiveRetriever(zoo.index(nodes=[]), judge=zoo.judge())
    assert retriever.retrieve(zoo.question) == []


@pytest.mark.parametrize("query", ["Should zoos be closed?", QueryBundle("Should zoos be closed?")])
async def test_a_text_and_a_bundle_give_scored_nodes(retriever, query):
    for nodes in (retriever.retrieve(query), await retriever.aretrieve(query)):
        assert all(isinstance(item, NodeWithScore) for item in nodes)
        assert ids(nodes) == ids(retriever.retrieve("Should zoos be closed?"))
        assert all(-1.0 <= item.get_score(raise_error=True) <= 1.0 for item in nodes)


@pytest.mark.parametrize("question", ["", "   "])
def test_an_empty_question_is_refused(retriever, question):
    with pytest.raises(ConfigError, match="question"):
        retriever.retrieve(question)


def test_a_sync_call_works_inside_a_running_loop(retriever, zoo):
    async def ask():
        return retriever.retrieve(zoo.question)

    assert ids(asyncio.run(ask())) == ids(retriever.retrieve(zoo.question))


def test_one_retriever_serves_one_event_loop_after_another(retriever, zoo):
    first, second = (asyncio.run(retriever.aretrieve(zoo.question)) for _ in range(2))
    assert ids(first) == ids(second)


# What it is for.


def test_every_side_is_there_where_the_plain_retriever_shows_one(zoo, retriever):
    plain = zoo.index().as_retriever(similarity_top_k=3).retrieve(zoo.question)
    assert "e" not in ids(plain)
    nodes = retriever.retrieve(zoo.question)
    assert "e" in ids(nodes)
    e = next(item for item in nodes if item.node.node_id == "e")
    assert report_in(e.node.metadata)["supports"] == ["oppose"]
    report = retriever.report(zoo.question)
    assert report.coverage.complete
    assert [p.id for p in report.perspectives] == ["support", "oppose"]
    assert report.trace.calls["search"] >= 2
    assert report.trace.degradations == ()


async def test_report_is_what_retrieve_returns(retriever, zoo):
    nodes = ids(retriever.retrieve(zoo.question))
    assert [p.id for p in retriever.report(zoo.question).passages] == nodes
    assert [p.id for p in (await retriever.areport(zoo.question)).passages] == nodes


def test_perspectives_can_be_named_for_all_questions_or_for_one(zoo):
    retriever = PerspectiveRetriever(
        zoo.index(), judge=zoo.judge(), k=2, perspectives=["cages are cruel"]
    )
    assert [p.text for p in retriever.report(zoo.question).perspectives] == ["cages are cruel"]
    asked = retriever.report(zoo.question, perspectives=["species are kept alive"])
    assert [p.text for p in asked.perspectives] == ["species are kept alive"]
    assert retriever.report(zoo.question, perspectives=[]).perspectives == ()


def test_a_required_perspective_that_is_not_there_raises_with_what_was_found(zoo):
    retriever = PerspectiveRetriever(zoo.index(), judge=zoo.judge(), coverage="require", k=2)
    with pytest.raises(CoverageError) as caught:
        retriever.report(zoo.question, perspectives=["the moon is made of cheese"])
    assert len(caught.value.result.candidates) == 2


# The nodes it returns.


def test_metadata_says_how_a_node_was_found_and_models_are_not_shown_it(zoo):
    index = zoo.index()
    before = {node.node_id: node for node in index.docstore.docs.values()}
    for item in PerspectiveRetriever(index, judge=zoo.judge(), k=3).retrieve(zoo.question):
        report = report_in(item.node.metadata)
        known = "state sides scores support supports perspectives verdicts contradicts found_by "
        known += "reported proofs"
        assert set(report) == set(known.split())
        assert all(isinstance(value, float) for value in report["scores"].values())
        original = before[item.node.node_id]
        for mode in (MetadataMode.LLM, MetadataMode.EMBED, MetadataMode.NONE):
            assert item.node.get_content(mode) == original.get_content(mode)
        assert REPORT in item.node.get_content(MetadataMode.ALL)
        assert item.node.hash == original.hash
        assert item.node.relationships == original.relationships


def test_the_class_and_the_fields_of_a_node_are_kept(zoo):
    class OwnNode(TextNode):
        page: int = 0

    nodes = [
        OwnNode(id_="own", text=zoo.texts["a"], page=7),
        IndexNode(id_="i", text="zoos", index_id="x"),
    ]
    found = PerspectiveRetriever(zoo.WordRetriever(nodes), judge=None).retrieve(zoo.question)
    by_id = {item.node.node_id: item.node for item in found}
    assert type(by_id["own"]) is OwnNode
    assert by_id["own"].page == 7
    assert type(by_id["i"]) is IndexNode
    assert by_id["i"].index_id == "x"


def test_whatever_is_done_to_a_returned_node_the_next_answer_is_the_same(zoo):
    source = zoo.WordRetriever(zoo.nodes())
    retriever = PerspectiveRetriever(source, judge=zoo.judge(), k=3)
    first = retriever.retrieve(zoo.question)
    for item in first:
        item.score = -1.0
        item.node.metadata["tags"].append("written")
        item.node.metadata["title"] = "written"
        item.node.excluded_llm_metadata_keys.append("title")
    assert all(node.metadata["tags"] == ["zoo"] for node in source.nodes)
    again = retriever.retrieve(zoo.question)
    assert [item.node.metadata["title"] for item in again] == [i.upper() for i in ids(again)]


# What it is made of.


def test_an_unknown_source_is_refused():
    with pytest.raises(ConfigError, match="index or retriever"):
        PerspectiveRetriever("not an index", judge=None)


def test_a_judge_that_is_none_is_refused(zoo):
    with pytest.raises(ConfigError, match="judge"):
        PerspectiveRetriever(zoo.index(), judge="defualt")


def test_no_judge_judges_nothing(zoo):
    retriever = PerspectiveRetriever(zoo.index(), judge=None, k=3)
    assert not retriever.report(zoo.question).coverage.judged
    assert all(
        report_in(item.node.metadata)["supports"] == [] for item in retriever.retrieve(zoo.question)
    )


def test_a_vector_search_without_an_embedding_model_says_what_to_pass(zoo):
    with pytest.raises(CapabilityError, match="embed_model="):
        PerspectiveRetriever(zoo.WordRetriever([]), judge=None, takes_vector=True)


def test_projection_over_a_retriever_of_words_is_refused(zoo):
    source = zoo.WordRetriever(zoo.nodes())
    with pytest.raises(CapabilityError, match="projection"):
        PerspectiveRetriever(source, judge=None, projection="pap")
    with pytest.raises(CapabilityError, match="takes_vector=True"):
        PerspectiveRetriever(source, judge=None, projection="pap", embed_model=zoo.HashEmbedding())


def test_a_retriever_gets_vectors_when_an_embedding_model_is_given(zoo):
    source = zoo.WordRetriever(zoo.nodes())
    PerspectiveRetriever(source, judge=None, k=2).retrieve(zoo.question)
    assert all(bundle.embedding is None for bundle in source.bundles)
    source.bundles.clear()
    PerspectiveRetriever(source, judge=None, k=2, embed_model=zoo.HashEmbedding()).retrieve(
        zoo.question
    )
    assert source.bundles
    assert all(len(bundle.embedding) == 64 for bundle in source.bundles)


def test_a_model_that_a_retriever_keeps_for_itself_is_left_alone(zoo):
    source = zoo.WordRetriever(zoo.nodes())
    source._embed_model = zoo.HashEmbedding()
    PerspectiveRetriever(source, judge=None).retrieve(zoo.question)
    assert source._embed_model.texts == []
    PerspectiveRetriever(source, judge=None, embed_model=zoo.HashEmbedding()).retrieve(zoo.question)
    assert source.bundles[-1].embedding is not None


def test_a_keyword_retriever_is_reordered_by_the_embedding_model(zoo):
    source = zoo.WordRetriever(zoo.nodes())
    model = zoo.HashEmbedding()
    retriever = PerspectiveRetriever(
        source, judge=None, embed_model=model, takes_vector=False, perspectives=[]
    )
    found = retriever.report(zoo.question, k=6)
    assert all(bundle.embedding is None for bundle in source.bundles)
    question = np.array(model.get_query_embedding(zoo.question))
    cosines = [float(question @ np.array(model.get_text_embedding(p.text))) for p in found.passages]
    assert cosines == sorted(cosines, reverse=True)
    assert [c.scores["relevance"] for c in found.candidates] == pytest.approx(cosines)


def test_a_vector_retriever_keeps_its_own_settings(zoo):
    from llama_index.core.vector_stores import ExactMatchFilter, MetadataFilters

    store = zoo.RecordingVectorStore()
    filters = MetadataFilters(filters=[ExactMatchFilter(key="shelf", value="odd")])
    source = zoo.index(vector_store=store).as_retriever(similarity_top_k=1, filters=filters)
    retriever = PerspectiveRetriever(source, judge=zoo.judge(), k=3)
    assert set(ids(retriever.retrieve(zoo.question))) == {"a", "c", "e"}
    assert all(query.similarity_top_k == 50 for query in store._queries)
    assert source.similarity_top_k == 1


def test_nodes_added_to_the_index_later_are_found(zoo):
    index = zoo.index()
    retriever = PerspectiveRetriever(index, judge=None, k=1, perspectives=[])
    assert ids(retriever.retrieve("a lighthouse on the cliff")) != ["new"]
    index.insert_nodes([TextNode(id_="new", text="a lighthouse on the cliff")])
    assert ids(retriever.retrieve("a lighthouse on the cliff")) == ["new"]


def test_the_callers_bundle_speaks_for_its_own_question(zoo):
    model = zoo.HashEmbedding()
    index = zoo.index(embed_model=model)
    wanted = model.get_text_embedding(zoo.texts["f"])
    retriever = PerspectiveRetriever(index, judge=None, k=1, perspectives=[])
    model.texts.clear()
    assert ids(retriever.retrieve(QueryBundle(zoo.question, embedding=wanted))) == ["f"]
    assert model.texts == []
    assert ids(
        retriever.retrieve(QueryBundle(zoo.question, custom_embedding_strs=[zoo.texts["f"]]))
    ) == ["f"]
    assert model.texts == [zoo.texts["f"]]


def test_image_and_custom_texts_go_with_the_searches(zoo):
    source = zoo.WordRetriever(zoo.nodes())
    asked = QueryBundle(zoo.question, image_path="zoo.png", custom_embedding_strs=["cages"])
    PerspectiveRetriever(source, judge=None).retrieve(asked)
    assert len(source.bundles) >= 2
    assert all(bundle is not asked and bundle.image_path == "zoo.png" for bundle in source.bundles)
    customs = {bundle.query_str: bundle.custom_embedding_strs for bundle in source.bundles}
    # Searched by these texts, every query of a retriever that embeds for itself would be the same.
    assert customs.pop(zoo.question) == ["cages"]
    assert set(map(str, customs.values())) == {"None"}
    source.bundles.clear()
    PerspectiveRetriever(source, judge=None, embed_model=zoo.HashEmbedding()).retrieve(asked)
    assert all(bundle.custom_embedding_strs == ["cages"] for bundle in source.bundles)


def test_options_come_back_as_given(zoo):
    retriever = PerspectiveRetriever(zoo.index(), judge=None, k=7, mmr_threshold=0.5)
    again = PipelineOptions.from_dict(retriever.options.to_dict())
    assert (again.k, again.mmr_lambda) == (7, 0.5)
    other = PerspectiveRetriever(zoo.index(), judge=None, options=again, k=2)
    assert (other.options.k, other.options.mmr_lambda) == (2, 0.5)


@pytest.mark.parametrize("given", ["one side", ["yes", ""], [Perspective("p2", "yes"), "no"]])
def test_perspectives_that_cannot_be_used_are_refused_at_construction(zoo, given):
    said = r"must be a list|not empty|different ids"
    with pytest.raises(ConfigError, match=said):
        PerspectiveRetriever(zoo.index(), judge=None, perspectives=given)
    with pytest.raises(ConfigError, match=said):
        PerspectivePostprocessor(judge=None, perspectives=given)
    with pytest.raises(ConfigError, match=said):
        PerspectiveRetriever(zoo.index(), judge=None).report(zoo.question, perspectives=given)
