"""Agents of both frameworks with the retriever as their tool and a model that follows a script."""

from __future__ import annotations

import pytest

from tests.ecosystem.samples import langchain, llama_index

# The frameworks look through the attributes of their own models.
pytestmark = pytest.mark.filterwarnings("ignore:.* attribute .*is deprecated:DeprecationWarning")

QUESTION = "Should zoos be closed?"
CALLS = [{"query": ""}, {"query": QUESTION}]


def test_a_langchain_agent_reads_the_tools_error_and_asks_again(tmp_path, says_yes):
    agents = pytest.importorskip("langchain_classic.agents")
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.prompts import ChatPromptTemplate

    shown = []

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools, **kwargs):
            return self

        def _generate(self, messages, *args, **kwargs):
            shown.append(messages)
            return super()._generate(messages, *args, **kwargs)

        def _stream(self, *args, **kwargs):
            raise NotImplementedError

    tool = langchain("in-memory", tmp_path, judge=says_yes, k=3).retriever.as_tool()
    calls = [
        AIMessage("", tool_calls=[{"name": tool.name, "args": args, "id": str(n)}])
        for n, args in enumerate(CALLS)
    ]
    model = Scripted(messages=iter([*calls, AIMessage("Both sides were found.")]))
    prompt = ChatPromptTemplate.from_messages(
        [("human", "{input}"), ("placeholder", "{agent_scratchpad}")]
    )
    agent = agents.create_tool_calling_agent(model, [tool], prompt)
    executor = agents.AgentExecutor(agent=agent, tools=[tool], stream_runnable=False)
    assert executor.invoke({"input": QUESTION})["output"] == "Both sides were found."
    assert "write the question in full" in shown[1][-1].text
    assert shown[2][-1].text.startswith("[1] ")


async def test_a_llama_index_agent_reads_the_tools_error_and_asks_again(tmp_path, says_yes):
    from llama_index.core.agent.workflow import FunctionAgent, ToolCallResult
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
    from llama_index.core.llms import MockLLM
    from llama_index.core.llms.function_calling import FunctionCallingLLM
    from llama_index.core.llms.llm import ToolSelection

    tool = llama_index("in-memory", tmp_path, judge=says_yes, k=3).retriever.as_tool()
    script = [*CALLS, None]

    class Scripted(MockLLM, FunctionCallingLLM):
        @property
        def metadata(self):
            return LLMMetadata(is_function_calling_model=True)

        def _prepare_chat_with_tools(self, tools, **kwargs):
            return {"messages": []}

        async def achat_with_tools(self, tools, **kwargs):
            said = script.pop(0)
            text = "Both sides were found." if said is None else ""
            message = ChatMessage(role="assistant", content=text)
            return ChatResponse(message=message, raw={"said": said})

        def get_tool_calls_from_response(self, response, **kwargs):
            said = response.raw["said"]
            if said is None:
                return []
            name = tool.metadata.get_name()
            return [ToolSelection(tool_id="1", tool_name=name, tool_kwargs=said)]

    agent = FunctionAgent(tools=[tool], llm=Scripted(), streaming=False)
    handler = agent.run(QUESTION)
    outputs = [
        event.tool_output
        async for event in handler.stream_events()
        if isinstance(event, ToolCallResult)
    ]
    assert "Both sides were found." in str(await handler)
    assert [output.is_error for output in outputs] == [True, False]
    assert "write the question in full" in outputs[0].content
    assert outputs[1].content.startswith("[1] ")
