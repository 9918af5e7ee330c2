"""Everything LangChain does with a runnable: batches, streams, events, configuration, tools, traces."""

from __future__ import annotations

import json
import pickle
import warnings

import pytest
from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableLambda, RunnablePassthrough
from langchain_core.tools import create_retriever_tool
from langchain_core.tracers.context import collect_runs
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_perspective_rag import PerspectiveRetriever, tracing

QUESTIONS = ["Should zoos be closed?", "Should museums be closed?", "Should bridges be painted?"]
SIDES = json.dumps(
    {"root": "Should zoos be closed?", "perspectives": ["breeding", "cages are cruel"]}
)


@pytest.fixture
def retriever(store, judge):
    return PerspectiveRetriever.wrap(store, judge=judge, k=3)


def texts(documents):
    return [document.page_content for document in documents]


def test_batch_equals_one_at_a_time(retriever):
    alone = [texts(retriever.invoke(question)) for question in QUESTIONS]
    assert [texts(found) for found in retriever.batch(QUESTIONS)] == alone
    assert [len(found) for found in retriever.batch(QUESTIONS, k=1)] == [1, 1, 1]


async def test_abatch_equals_batch(retriever):
    batch = [texts(found) for found in retriever.batch(QUESTIONS)]
    assert [texts(found) for found in await retriever.abatch(QUESTIONS)] == batch
    assert [len(found) for found in await retriever.abatch(QUESTIONS, k=1)] == [1, 1, 1]


async def test_stream_gives_the_list_as_one_chunk(retriever):
    whole = texts(retriever.invoke(QUESTIONS[0]))
    assert [texts(chunk) for chunk in retriever.stream(QUESTIONS[0])] == [whole]
    assert [texts(chunk) async for chunk in retriever.astream(QUESTIONS[0])] == [whole]


async def test_events_show_the_searches_and_the_report(retriever):
    events = [event async for event in retriever.astream_events(QUESTIONS[0], version="v2")]
    starts = [event for event in events if event["event"] == "on_retriever_start"]
    searches = [event for event in starts if "perspective_rag:search" in event["tags"]]
    assert starts[0]["name"] == "PerspectiveRetriever"
    assert len(searches) >= 3
    assert all(event["parent_ids"] == [starts[0]["run_id"]] for event in searches)
    (report,) = [event["data"] for event in events if event["event"] == "on_custom_event"]
    assert report["coverage"]["missing"] == []
    assert report["trace"]["calls"]["search"] == len(searches)
    json.dumps(report)


def test_configurable_fields(store, judge):
    retriever = PerspectiveRetriever.wrap(store, judge=judge, k=3, judge_k=7).configurable_fields(
        k=ConfigurableField(id="how_many"),
        fetch_k=ConfigurableField(id="pool"),
        mmr_lambda=ConfigurableField(id="weight"),
    )
    assert len(retriever.invoke(QUESTIONS[0])) == 3
    config = {"configurable": {"how_many": 5, "pool": 8, "weight": 0.5}}
    store.calls.clear()
    assert len(retriever.invoke(QUESTIONS[0], config=config)) == 5
    assert {call["k"] for call in store.calls} == {8}
    prepared, _ = retriever._prepare(config)
    assert prepared.pipeline.options.mmr_lambda == 0.5
    assert prepared.pipeline.options.judge_k == 7
    with pytest.raises(ValueError, match="mmr_lambda"):
        retriever.invoke(QUESTIONS[0], config={"configurable": {"weight": 3.0}})


def test_bind_and_with_config(retriever, recorder):
    bound = retriever.bind(k=2).with_config(tags=["mine"], callbacks=[recorder])
    assert len(bound.invoke(QUESTIONS[0])) == 2
    assert "mine" in recorder.root().tags


def test_as_a_tool(retriever, store):
    tool = create_retriever_tool(retriever, "search_debates", "Finds every side of a question.")
    answer = tool.invoke({"query": QUESTIONS[0]})
    assert "breeding" in answer or "animals when zoos stay open" in answer
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LangChain's as_tool is in beta
        plain = retriever.as_tool(arg_types={"query": str})
    assert plain.name == "PerspectiveRetriever"


async def test_in_a_chain(retriever):
    def context(documents):
        return "\n".join(texts(documents))

    prompt = ChatPromptTemplate.from_template("{question}\n{context}")
    seen = []
    model = RunnableLambda(lambda value: seen.append(value.to_string()) or "done")
    chain = (
        {"context": retriever | context, "question": RunnablePassthrough()}
        | prompt
        | model
        | StrOutputParser()
    )
    assert chain.invoke(QUESTIONS[0]) == "done"
    assert await chain.ainvoke(QUESTIONS[0]) == "done"
    assert seen[0] == seen[1]
    assert "closed soon" in seen[0]
    assert "breeding" in seen[0] or "stay open" in seen[0]


def test_pickle():
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    store.add_texts(["one", "two", "three"])
    retriever = PerspectiveRetriever.wrap(store, k=2, max_queries=2, judge=None)
    again = pickle.loads(pickle.dumps(retriever))
    assert texts(again.invoke("one")) == texts(retriever.invoke("one"))
    assert again.options == retriever.options


def check_tree(recorder, count):
    root = recorder.root()
    assert root.name == "PerspectiveRetriever"
    children = recorder.children()
    assert len(children) == len(recorder.runs) - 1, "no run is lost outside of the tree"
    searches = [run for run in children if run.kind == "retriever"]
    models = [run for run in children if run.kind == "llm"]
    assert len(searches) == count
    assert all("perspective_rag:search" in run.tags for run in searches)
    assert all(run.name == "RecordingStore" for run in searches)
    (model,) = models
    assert "perspective_rag:extract_perspectives" in model.tags
    assert set(recorder.ended) == set(recorder.runs)
    assert [(name, run) for name, _, run in recorder.custom] == [("perspective_rag", root.id)]


def test_r14_searches_and_model_calls_are_children(store, judge, recorder):
    retriever = PerspectiveRetriever.wrap(
        store, judge=judge, llm=FakeListChatModel(responses=[SIDES]), guard_searches=0
    )
    retriever.invoke(QUESTIONS[0], config={"callbacks": [recorder], "tags": ["outer"]})
    check_tree(recorder, 3)
    assert "outer" in recorder.root().tags
    assert recorder.root().metadata["ls_vector_store_provider"] == "RecordingStore"
    assert recorder.root().metadata["ls_embedding_provider"] == "WordEmbeddings"
    assert recorder.root().metadata["ls_retriever_name"] == "perspective"


async def test_r14_in_async_runs_too(store, judge, recorder):
    retriever = PerspectiveRetriever.wrap(
        store, judge=judge, llm=FakeListChatModel(responses=[SIDES]), guard_searches=0
    )
    await retriever.ainvoke(QUESTIONS[0], config={"callbacks": [recorder]})
    check_tree(recorder, 3)


async def test_r14_async_handlers_of_a_network_store(documents, embeddings, judge, debate):
    class Names(AsyncCallbackHandler):
        def __init__(self):
            self.names = []

        async def on_retriever_start(self, serialized, query, **kwargs):
            self.names.append(kwargs["name"])

    store = debate.AsyncStore(embeddings)
    store.add_documents(documents)
    names = Names()
    retriever = PerspectiveRetriever.wrap(store, judge=judge, guard_searches=0)
    await retriever.ainvoke(QUESTIONS[0], config={"callbacks": [names]})
    assert names.names == ["PerspectiveRetriever", *["AsyncStore"] * 3]


def test_r14_a_wrapped_retriever_is_a_child(store, judge, recorder):
    retriever = PerspectiveRetriever(retriever=store.as_retriever(), judge=judge, guard_searches=0)
    retriever.invoke(QUESTIONS[0], config={"callbacks": [recorder]})
    children = recorder.children()
    searches = [run for run in children if run.kind == "retriever"]
    assert {run.name for run in searches} == {"VectorStoreRetriever"}
    assert all("perspective_rag:search" in run.tags for run in searches)
    assert recorder.root().metadata["ls_vector_store_provider"] == "RecordingStore"


def test_r14_concurrent_requests_keep_their_own_children(store, judge, debate):
    recorders = [debate.Recorder() for _ in range(8)]
    retriever = PerspectiveRetriever.wrap(store, judge=judge, guard_searches=0)
    questions = [f"Should zoos number {i} be closed?" for i in range(8)]
    retriever.batch(questions, config=[{"callbacks": [each]} for each in recorders])
    for recorder in recorders:
        searches = [run for run in recorder.children() if run.kind == "retriever"]
        assert len(searches) == 3
        assert len(recorder.runs) == len(recorder.children()) + 1


def test_a_trace_without_callbacks_around_retrieve(retriever, recorder):
    chain = RunnableLambda(lambda question: retriever.retrieve(question))
    chain.invoke(QUESTIONS[0], config={"callbacks": [recorder]})
    assert recorder.runs, "searches report to the chain that calls retrieve"
    stages = {tag for run in recorder.runs.values() for tag in run.tags}
    assert stages == {"perspective_rag:search", "perspective_rag:judge"}


@pytest.mark.parametrize("way", ["invoke", "ainvoke"])
async def test_r14_runs_are_there_for_whoever_listens_and_cost_nothing_else(
    retriever, monkeypatch, way
):
    async def ask():
        return (
            retriever.invoke(QUESTIONS[0])
            if way == "invoke"
            else await retriever.ainvoke(QUESTIONS[0])
        )

    with collect_runs() as collected:  # a handler that is not handed on to children
        heard = await ask()
    (run,) = collected.traced_runs
    assert "perspective_rag:search" in {tag for child in run.child_runs for tag in child.tags}

    class Refused:
        @staticmethod
        def configure(*args, **kwargs):
            raise AssertionError("nobody listens")

    monkeypatch.setattr(tracing, "CallbackManager", Refused)
    monkeypatch.setattr(tracing, "AsyncCallbackManager", Refused)
    assert await ask() == heard
