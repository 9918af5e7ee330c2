"""What both wrappers hand on of contradictions, sources and what is only reported."""

from __future__ import annotations

import pytest

from perspective_rag.extend import report_in
from perspective_rag.testing import TableJudge
from tests.ecosystem import samples

QUESTION = "Should zoos be closed?"
# By id: the source, and what is said; one newspaper has most of it.
TEXTS = {
    "a": ("Times", "zoos should be closed because cages are cruel"),
    "b": ("Times", "zoos should be closed and the animals freed"),
    "c": ("Times", "zoos should be closed yes closed soon"),
    "d": ("Echo", "Critics say that zoos should be closed."),
    "e": ("Times", "breeding programmes keep species alive that zoos alone protect"),
    "f": ("Post", "zoos should stay open for children"),
}
TRUTH = {(name, "support"): 0.9 for name in "abcd"} | {(name, "oppose"): 0.9 for name in "ef"}


def langchain(truth=TRUTH, **options):
    pytest.importorskip("langchain_core")
    from langchain_core.documents import Document
    from langchain_core.vectorstores import InMemoryVectorStore

    from langchain_perspective_rag import PerspectiveRetriever

    store = InMemoryVectorStore(samples.langchain_embeddings())
    store.add_documents(
        [Document(text, id=name, metadata={"author": s}) for name, (s, text) in TEXTS.items()]
    )
    retriever = PerspectiveRetriever.wrap(store, judge=TableJudge(truth), **options)

    async def aask():
        return [(each.id, each.metadata) for each in await retriever.ainvoke(QUESTION)]

    return (
        lambda: [(each.id, each.metadata) for each in retriever.invoke(QUESTION)],
        aask,
        lambda: retriever.retrieve(QUESTION),
    )


def llama_index(truth=TRUTH, **options):
    pytest.importorskip("llama_index.core")
    from llama_index.core import VectorStoreIndex
    from llama_index.core.schema import TextNode

    from llama_index.retrievers.perspective_rag import PerspectiveRetriever

    nodes = [
        TextNode(id_=name, text=text, metadata={"author": source})
        for name, (source, text) in TEXTS.items()
    ]
    index = VectorStoreIndex(nodes, embed_model=samples.llama_index_embeddings())
    retriever = PerspectiveRetriever(index, judge=TableJudge(truth), **options)

    async def aask():
        return [(each.node_id, each.metadata) for each in await retriever.aretrieve(QUESTION)]

    return (
        lambda: [(each.node_id, each.metadata) for each in retriever.retrieve(QUESTION)],
        aask,
        lambda: retriever.report(QUESTION),
    )


@pytest.fixture(params=[langchain, llama_index])
def asking(request):
    """Makes a wrapped store: what it finds, sync and async, and its report."""
    return request.param


async def test_each_document_names_those_it_contradicts_and_says_if_it_only_reports(asking):
    ask, aask, report = asking(k=6)
    for found in (ask(), await aask()):
        told = {name: report_in(metadata) for name, metadata in found}
        assert set(told) == set(TEXTS)
        for name, each in told.items():
            others = set("ef") if name in "abcd" else set("abcd")
            assert set(each["contradicts"]) == others
            assert each["reported"] is (name == "d")
    assert report().single_source == ()


def test_a_side_that_rests_on_one_source_is_named(asking):
    of_one = {each: p for each, p in TRUTH.items() if each[0] != "d"}
    [side] = asking(of_one, k=6)[2]().single_source
    assert side.id == "support", "all of the Times; against are the Times and the Post"


def test_coverage_says_what_a_research_agent_searches_next_and_when_it_can_stop(asking):
    one_sided = {each: p for each, p in TRUTH.items() if each[1] == "support"}
    assert asking(one_sided, k=3)[2]().coverage.next_queries == ("Zoos should not be closed",)
    assert asking(k=3)[2]().coverage.next_queries == ()


async def test_the_next_best_take_the_places_that_a_source_may_not_have(asking):
    ask, aask, report = asking(k=3, max_per_source=1)
    found = ask()
    sources = [TEXTS[name][0] for name, _ in found]
    assert sorted(sources) == ["Echo", "Post", "Times"], "k places, one for each source"
    assert report().coverage.complete
    names = [name for name, _ in found]
    assert names == [name for name, _ in await aask()] == [name for name, _ in ask()]
    two = [name for name, _ in asking(k=4, max_per_source=2)[0]()]
    assert [TEXTS[name][0] for name in two].count("Times") == 2
    assert len(two) == 4
