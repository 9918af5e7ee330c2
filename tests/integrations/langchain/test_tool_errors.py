"""What a model gets wrong it can read; what the application decides it cannot change."""

from __future__ import annotations

import pytest
from langchain_core.runnables import ConfigurableField

from langchain_perspective_rag import PerspectiveCompressor, PerspectiveRetriever
from perspective_rag import ConfigError, PipelineOptions
from perspective_rag.extend import OPTION_NAMES


@pytest.fixture
def tool(store, judge):
    return PerspectiveRetriever.wrap(store, judge=judge).as_tool()


def called(tool, **arguments):
    return {"type": "tool_call", "id": "1", "name": tool.name, "args": arguments}


@pytest.mark.parametrize("query", ["", "  \n"])
async def test_an_empty_query_is_a_tool_error(tool, query):
    for message in (
        tool.invoke(called(tool, query=query)),
        await tool.ainvoke(called(tool, query=query)),
    ):
        assert message.status == "error"
        assert "write the question in full" in message.content


def test_coverage_that_is_required_and_missing_is_a_tool_error(store, judge, debate):
    tool = PerspectiveRetriever.wrap(store, judge=judge, coverage="require").as_tool()
    sides = ["Trains run late.", "Bridges rust."]
    message = tool.invoke(called(tool, query=debate.question, perspectives=sides))
    assert message.status == "error"
    assert "p1" in message.content or "Trains run late" in message.content


def test_the_schema_asks_for_full_statements(tool):
    fields = tool.tool_call_schema.model_json_schema()["properties"]
    assert "full statement" in fields["perspectives"]["description"]
    assert set(fields) == {"query", "perspectives"}


async def test_a_request_gives_the_tool_a_filter(tool, debate):
    own = {"filter": lambda document: document.metadata["key"].startswith("against"), "k": 1}
    config = {"configurable": {"perspective_rag": own}}
    call = called(tool, query=debate.question)
    for message in (tool.invoke(call, config), await tool.ainvoke(call, config)):
        assert [d.metadata["key"][:7] for d in message.artifact] == ["against"]
    assert len(tool.invoke(call).artifact) == 5
    with pytest.raises(ConfigError, match="must hold arguments"):
        tool.invoke(call, {"configurable": {"perspective_rag": "against"}})


def test_every_option_can_be_configured(store, judge, debate):
    retriever = PerspectiveRetriever.wrap(store, judge=judge)
    assert retriever.options == PipelineOptions()
    fields = {name: ConfigurableField(id=name) for name in OPTION_NAMES}
    chain = retriever.configurable_fields(**fields)
    config = {"configurable": {"coverage": "off", "judge_k": 3, "max_queries": 1, "k": 2}}
    assert len(chain.invoke(debate.question, config)) == 2
    prepared, _ = chain.prepare(config)
    assert prepared.options == PipelineOptions(coverage="off", judge_k=3, max_queries=1, k=2)
    with pytest.raises(ConfigError, match="coverage"):
        chain.invoke(debate.question, {"configurable": {"coverage": "maybe"}})


def test_a_warning_points_at_the_applications_line(documents):
    from langchain_core.runnables import RunnableLambda

    source = RunnableLambda(lambda question: documents)
    for build in (
        lambda: PerspectiveRetriever.wrap(source, judge=None),
        lambda: PerspectiveRetriever(retriever=source, judge=None),
    ):
        with pytest.warns(UserWarning, match="by text only") as seen:
            build()
        assert [each.filename for each in seen] == [__file__]


async def test_a_compressor_reports(documents, judge, debate, recorder):
    compressor = PerspectiveCompressor(judge=judge, k=3)
    result = compressor.report(documents, debate.question)
    assert len(result.passages) == 3
    assert result.coverage.complete
    again = await compressor.areport(documents, debate.question)
    assert [p.id for p in again.passages] == [p.id for p in result.passages]


def test_a_degradation_is_an_event_of_its_own(store, debate, recorder):
    class Down:
        name, threshold = "down", 0.5

        def judge(self, perspectives, passages):
            raise ConnectionError("gone")

    retriever = PerspectiveRetriever.wrap(store, judge=Down())
    retriever.invoke(debate.question, config={"callbacks": [recorder]})
    told = [data for name, data, _ in recorder.custom if name == "perspective_rag.degradation"]
    assert told
    assert {each["stage"] for each in told} == {"judge"}
    assert [name for name, _, _ in recorder.custom].count("perspective_rag") == 1


def test_documents_can_be_stored_again(store, judge, debate, embeddings, tmp_path):
    chroma = pytest.importorskip("langchain_chroma")
    found = PerspectiveRetriever.wrap(store, judge=judge, k=2).invoke(debate.question)
    for document in found:
        del document.metadata["nested"]  # the documents' own
    again = chroma.Chroma("again", embeddings, persist_directory=str(tmp_path))
    again.add_documents(found)
    retriever = PerspectiveRetriever.wrap(again, judge=judge, k=2)
    assert {d.id for d in retriever.invoke(debate.question)} == {d.id for d in found}
