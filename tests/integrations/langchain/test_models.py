"""LangChain's language models as the library's."""

from __future__ import annotations

import pytest
from langchain_core.language_models import FakeListChatModel, FakeListLLM, GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableLambda

from langchain_perspective_rag import LangChainLLM, PerspectiveRetriever
from perspective_rag import LLMError, Prompt
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
