"""The retriever as a tool, in a loop in which a model calls it and reads what it says."""

from __future__ import annotations

from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langchain_perspective_rag import PerspectiveRetriever


class CallingModel(FakeListChatModel):
    """Asks for the tool once, with the arguments in its script, and then repeats what it read."""

    arguments: dict
    tools: list = []

    def bind_tools(self, tools, **kwargs):
        return self.model_copy(update={"tools": tools})

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        made = super()._generate(messages, stop, run_manager, **kwargs)
        if isinstance(messages[-1], ToolMessage):
            made.generations[0].message = AIMessage(messages[-1].content)
        else:
            call = {"name": self.tools[0].name, "args": self.arguments, "id": "call-1"}
            made.generations[0].message = AIMessage("", tool_calls=[call])
        return made


def model(**arguments):
    return CallingModel(responses=["unused"], arguments=arguments)


def answer(model, tool, question, config=None):
    """The loop of any tool-calling agent."""
    messages = [HumanMessage(question)]
    bound = model.bind_tools([tool])
    while True:
        messages.append(bound.invoke(messages, config=config))
        if not messages[-1].tool_calls:
            return messages
        messages.extend(tool.invoke(call, config=config) for call in messages[-1].tool_calls)


async def aanswer(model, tool, question):
    messages = [HumanMessage(question)]
    bound = model.bind_tools([tool])
    while True:
        messages.append(await bound.ainvoke(messages))
        if not messages[-1].tool_calls:
            return messages
        messages.extend([await tool.ainvoke(call) for call in messages[-1].tool_calls])


async def test_an_agent_reads_both_sides(store, judge, debate):
    tool = PerspectiveRetriever.wrap(store, judge=judge, k=3).as_tool()
    made = answer(model(query=debate.question), tool, debate.question)
    said = made[-1].content
    assert "supports: Zoos should be closed" in said
    assert "supports: Zoos should not be closed" in said
    assert said == (await aanswer(model(query=debate.question), tool, debate.question))[-1].content
    reply = made[2]
    assert isinstance(reply, ToolMessage)
    assert len(reply.artifact) == 3
    assert all(isinstance(each, Document) for each in reply.artifact)


def test_the_model_may_name_the_sides(store, judge, debate):
    tool = PerspectiveRetriever.wrap(store, judge=judge).as_tool(name="debate", description="D.")
    assert (tool.name, tool.description) == ("debate", "D.")
    sides = ["breeding saves species", "cages are cruel"]
    asked = model(query=debate.question, perspectives=sides)
    answer(asked, tool, debate.question)
    searched = {tuple(round(x, 6) for x in call["embedding"]) for call in store.calls}
    for side in sides:
        row = debate.WordEmbeddings().embed_query(side)
        assert tuple(round(x, 6) for x in row) in searched


async def test_sides_that_the_model_leaves_blank_are_found(store, judge, debate):
    tool = PerspectiveRetriever.wrap(store, judge=judge).as_tool()
    given = {"query": debate.question}
    for blank in ([], [""], [" ", ""]):
        assert tool.invoke({**given, "perspectives": blank}) == tool.invoke(given)
        assert await tool.ainvoke({**given, "perspectives": blank}) == tool.invoke(given)


def test_what_the_model_is_told_about_the_tool(store, judge):
    schema = PerspectiveRetriever.wrap(store, judge=judge).as_tool().tool_call_schema
    properties = schema.model_json_schema()["properties"]
    assert set(properties) == {"query", "perspectives"}
    assert all(each["description"] for each in properties.values())


def test_the_search_belongs_to_the_tool_s_run(store, judge, debate, recorder):
    tool = PerspectiveRetriever.wrap(store, judge=judge).as_tool()
    answer(model(query=debate.question), tool, debate.question, {"callbacks": [recorder]})
    (retriever,) = [run for run in recorder.runs.values() if run.name == "PerspectiveRetriever"]
    assert retriever.parent is not None


def test_nothing_found_is_said(embeddings, judge):
    from langchain_core.vectorstores import InMemoryVectorStore

    tool = PerspectiveRetriever.wrap(InMemoryVectorStore(embeddings), judge=judge).as_tool()
    assert tool.invoke({"query": "Should zoos be closed?"}) == "Nothing was found."
