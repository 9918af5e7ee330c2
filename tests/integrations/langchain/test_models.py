"""LangChain's language models as the library's."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from langchain_core.language_models import FakeListChatModel, FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda

from langchain_perspective_rag import LangChainLLM, PerspectiveRetriever
from perspective_rag import LLMError, LLMListJudge, Prompt
from perspective_rag.protocols import LLM, Embedder
from perspective_rag.testing import ScriptedLLM

PROMPT = Prompt("extract_perspectives", user="the question", system="the task")
REPLY = (
    '{"root": "Should zoos be closed?", "perspectives": ["Breeding saves species.", "Cages hurt."]}'
)


def test_it_is_an_llm_and_counts_tokens():
    usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    model = GenericFakeChatModel(messages=iter([AIMessage("yes", usage_metadata=usage)]))
    llm = LangChainLLM(model)
    assert isinstance(llm, LLM)
    reply = llm.complete(PROMPT)
    assert (reply.text, reply.prompt_tokens, reply.completion_tokens) == ("yes", 7, 3)


async def test_system_and_user_arrive_as_messages_in_both_forms():
    seen = []
    llm = LangChainLLM(RunnableLambda(lambda messages: seen.append(messages) or "ok"), name="echo")
    assert llm.complete(PROMPT).text == (await llm.acomplete(PROMPT)).text == "ok"
    assert seen == [[SystemMessage("the task"), HumanMessage("the question")]] * 2
    assert llm.name == "echo"


def test_a_completion_model_serves_too():
    assert LangChainLLM(FakeListLLM(responses=["plain text"])).complete(PROMPT).text == "plain text"


def test_content_blocks_become_text():
    blocks = AIMessage([{"type": "text", "text": "one "}, {"type": "text", "text": "two"}])
    model = GenericFakeChatModel(messages=iter([blocks]))
    assert LangChainLLM(model).complete(PROMPT).text == "one two"


async def test_what_the_model_raises_becomes_an_llm_error():
    def fail(messages):
        raise ConnectionError("no server")

    llm = LangChainLLM(RunnableLambda(fail), name="m")
    with pytest.raises(LLMError, match="no server") as raised:
        llm.complete(PROMPT)
    assert isinstance(raised.value.__cause__, ConnectionError)
    with pytest.raises(LLMError, match="no server"):
        await llm.acomplete(PROMPT)


def test_names():
    model = FakeListChatModel(responses=["x"])
    assert LangChainLLM(model).name == "FakeListChatModel"
    assert LangChainLLM(model.bind(stop=["."])).name == "FakeListChatModel"


@pytest.mark.parametrize("kind", ["chat", "completion", "bound", "own"])
def test_llm_writes_the_perspectives(store, judge, debate, kind):
    llm = {
        "chat": FakeListChatModel(responses=[REPLY]),
        "completion": FakeListLLM(responses=[REPLY]),
        "bound": FakeListChatModel(responses=[REPLY]).bind(stop=None),
        "own": ScriptedLLM([REPLY]),
    }[kind]
    result = PerspectiveRetriever.wrap(store, judge=judge, llm=llm).retrieve(debate.question)
    assert [p.text for p in result.perspectives] == ["Breeding saves species.", "Cages hurt."]
    assert not result.trace.degradations


def test_rules_take_over_when_the_model_fails(store, judge, debate):
    def fail(messages):
        raise ConnectionError("no server")

    retriever = PerspectiveRetriever.wrap(store, judge=judge, llm=RunnableLambda(fail))
    result = retriever.retrieve(debate.question)
    assert [p.id for p in result.perspectives] == ["support", "oppose"]
    assert [d.stage for d in result.trace.degradations] == ["extract"]


def test_an_embedder_of_langchain_fits_the_protocol(embeddings):
    from langchain_perspective_rag import LangChainEmbedder

    embedder = LangChainEmbedder(embeddings)
    assert isinstance(embedder, Embedder)
    assert embedder.embed_passages(["a b", "c"]).shape == (2, 64)
    assert embedder.embed_queries(["a", "b", "c"]).shape == (3, 64)
    assert embedder.embed_queries(["b"])[0].tolist() == embeddings.embed_query("b")


SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
    "additionalProperties": False,
}
HELD = replace(PROMPT, schema=SCHEMA)


class ToolModel(FakeListChatModel):
    """A chat model of LangChain's own that calls the tool it is bound to, or refuses to."""

    refuses: bool = False
    tools: list = []
    plain: int = 0

    def bind_tools(self, tools, **kwargs):
        self.tools.append((tools, kwargs["tool_choice"]))
        return self.bind(tool="judge")

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        if "tool" not in kwargs:
            self.plain += 1
            return super()._generate(messages, stop, run_manager)
        if self.refuses:
            raise ValueError("tools are not supported")
        arguments = {"name": PROMPT.name, "args": {"verdict": "A"}, "id": "1"}
        usage = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
        said = AIMessage("", tool_calls=[arguments], usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=said)])


async def test_a_chat_model_is_held_to_the_schema():
    model = ToolModel(responses=["plain"])
    llm = LangChainLLM(model)
    for reply in (llm.complete(HELD), await llm.acomplete(HELD)):
        assert json.loads(reply.text) == {"verdict": "A"}
        assert (reply.prompt_tokens, reply.completion_tokens) == (7, 3)
    ((given,), choice) = model.tools[0]
    assert given["properties"] == SCHEMA["properties"]
    assert (given["title"], choice) == (PROMPT.name, "any")
    assert llm.complete(PROMPT).text == "plain"  # without a schema nothing is bound


async def test_a_model_that_refuses_the_schema_is_asked_plainly_from_then_on():
    for call in ("complete", "acomplete"):
        model = ToolModel(responses=["plain"], refuses=True, tools=[])
        llm = LangChainLLM(model)
        for _ in range(2):
            reply = getattr(llm, call)(HELD)
            assert (await reply if call == "acomplete" else reply).text == "plain"
        assert (len(model.tools), model.plain) == (1, 2)


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: m.bind(stop=["x"]), RunnableLambda])
def test_a_model_without_schemas_and_what_is_bound_are_asked_plainly(wrap):
    model = FakeListChatModel(responses=["plain"])
    assert (
        LangChainLLM(wrap(model if wrap is not RunnableLambda else model.invoke))
        .complete(HELD)
        .text
        == "plain"
    )


def test_llm_names_the_sides_and_judges_all_in_two_calls(store, debate):
    """Without a judge of one's own; LangChain's own fake model says both."""
    verdicts = {
        "verdicts": [{"passage": 1, "side": "B", "grade": "clear", "quote": "no such words"}]
    }
    model = FakeListChatModel(responses=[REPLY, json.dumps(verdicts), json.dumps(verdicts)])
    retriever = PerspectiveRetriever.wrap(store, llm=model)
    result = retriever.retrieve(debate.question)
    assert result.trace.calls["extract"] == 1
    assert result.trace.calls["judge"] <= 2  # what the first reply leaves out is asked once more
    assert result.trace.counts["unproven"] >= 1
    assert result.coverage.rule == LLMListJudge(ScriptedLLM([])).listing
    own = PerspectiveRetriever.wrap(store, llm=model, judge=None)
    assert own.pipeline.judge is None
