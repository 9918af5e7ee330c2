"""LlamaIndex's models behind perspective_rag's protocols."""

from __future__ import annotations

import json

import numpy as np
import pytest
from llama_index.core.base.llms.types import (
    ChatMessage,
    ChatResponse,
    LLMMetadata,
    TextBlock,
    ToolCallBlock,
)
from llama_index.core.llms import MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from llama_index.core.schema import QueryBundle
from pydantic import PrivateAttr

from llama_index.retrievers.perspective_rag import (
    LlamaIndexEmbedder,
    LlamaIndexLLM,
    LlamaIndexStore,
    PerspectiveRetriever,
)
from perspective_rag import LLMListJudge
from perspective_rag.errors import ConfigError
from perspective_rag.protocols import LLM, Embedder, KeepsEmbeddings, Store
from perspective_rag.testing import ScriptedLLM
from perspective_rag.types import Prompt

REPLY = (
    '{"root": "zoos", "perspectives": [{"text": "zoos should stay"}, {"text": "zoos should go"}]}'
)


class ChatModel(MockLLM):
    """Answers from a script and remembers the messages; its async chat is its own."""

    _reply: str = PrivateAttr(default=REPLY)
    _raw: object = PrivateAttr(default=None)
    _asked: list = PrivateAttr(default_factory=list)

    @property
    def metadata(self):
        return LLMMetadata(model_name="chat-model")

    def chat(self, messages, **kwargs):
        self._asked.append(([(m.role.value, m.content) for m in messages], kwargs))
        if isinstance(self._reply, Exception):
            raise self._reply
        return ChatResponse(
            message=ChatMessage(role="assistant", content=self._reply), raw=self._raw
        )

    async def achat(self, messages, **kwargs):
        return self.chat(messages, **kwargs)


def test_the_adapters_fit_the_protocols(zoo):
    assert isinstance(LlamaIndexEmbedder(zoo.HashEmbedding()), Embedder)
    assert isinstance(LlamaIndexStore(zoo.index()), Store)
    assert isinstance(LlamaIndexLLM(ChatModel()), LLM)
    assert isinstance(LlamaIndexStore(zoo.index()), KeepsEmbeddings)
    words = zoo.WordRetriever(zoo.nodes())
    assert not isinstance(LlamaIndexStore(words), KeepsEmbeddings)


def test_embeddings_are_rows_in_the_order_of_the_texts(zoo):
    model = zoo.HashEmbedding()
    embedder = LlamaIndexEmbedder(model)
    rows = embedder.embed_passages(["zoos", "parks"])
    assert rows.shape == (2, 64)
    assert rows[1] == pytest.approx(np.array(model.get_text_embedding("parks")))
    assert embedder.embed_queries(["parks"])[0] == pytest.approx(rows[1])


def test_the_bundle_speaks_for_its_own_text_only(zoo):
    bundle = QueryBundle("Should  zoos be closed?", embedding=[1.0] * 64)
    embedder = LlamaIndexEmbedder(zoo.HashEmbedding(), bundle=bundle)
    rows = embedder.embed_queries(["Should zoos be closed?", "zoos"])
    assert rows[0].tolist() == [1.0] * 64
    assert rows[1].tolist() != [1.0] * 64


async def test_a_prompt_becomes_messages(zoo):
    model = ChatModel()
    llm = LlamaIndexLLM(model, temperature=0.0)
    prompt = Prompt("p", user="a question", system="be brief")
    assert llm.name == "chat-model"
    assert llm.complete(prompt).text == (await llm.acomplete(prompt)).text == REPLY
    messages = [("system", "be brief"), ("user", "a question")]
    assert model._asked == [(messages, {"temperature": 0.0})] * 2
    llm.complete(Prompt("p", user="alone"))
    assert model._asked[-1][0] == [("user", "alone")]


@pytest.mark.parametrize(
    ("raw", "tokens"),
    [
        (None, (0, 0)),
        ({"usage": {"prompt_tokens": 5, "completion_tokens": 7}}, (5, 7)),
        ({"usage": {"input_tokens": 5, "output_tokens": 7}}, (5, 7)),
        ({"usage": None}, (0, 0)),
    ],
)
def test_tokens_are_counted_where_the_server_names_them(raw, tokens):
    model = ChatModel()
    model._raw = raw
    completion = LlamaIndexLLM(model).complete(Prompt("p", user="u"))
    assert (completion.prompt_tokens, completion.completion_tokens) == tokens


async def test_a_language_model_names_the_perspectives(zoo):
    model = ChatModel()
    retriever = PerspectiveRetriever(zoo.index(), judge=None, llm=model)
    for report in (retriever.report(zoo.question), await retriever.areport(zoo.question)):
        assert [p.text for p in report.perspectives] == ["zoos should stay", "zoos should go"]
        assert report.trace.degradations == ()


@pytest.mark.parametrize("reply", ["I cannot help with that", "", ConnectionError("no server")])
def test_rules_take_over_from_a_model_that_does_not_answer(zoo, reply):
    model = ChatModel()
    model._reply = reply
    report = PerspectiveRetriever(zoo.index(), judge=None, llm=model).report(zoo.question)
    assert [p.id for p in report.perspectives] == ["support", "oppose"]
    assert [d.stage for d in report.trace.degradations] == ["extract"]


def test_a_language_model_of_ours_fits_too(zoo):
    report = PerspectiveRetriever(zoo.index(), judge=None, llm=ScriptedLLM([REPLY])).report(
        zoo.question
    )
    assert len(report.perspectives) == 2


def test_a_model_and_an_extractor_together_are_refused(zoo):
    from perspective_rag.perspectives.reading import RuleExtractor

    with pytest.raises(ConfigError, match="pass one"):
        PerspectiveRetriever(zoo.index(), judge=None, llm=ChatModel(), extractor=RuleExtractor())


SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
    "additionalProperties": False,
}
HELD = Prompt("judge_list", "the passages", "the task", schema=SCHEMA)


class Calling(MockFunctionCallingLLM):
    """LlamaIndex's own mock that calls functions, with replies and counts of its own."""

    _seen: list = PrivateAttr(default_factory=list)
    _refuses: bool = PrivateAttr(default=False)
    _calls: bool = PrivateAttr(default=True)

    def chat(self, messages, **kwargs):
        self._seen.append(([(m.role.value, m.content) for m in messages], kwargs))
        tools = kwargs.get("tools")
        if tools and self._refuses:
            raise ValueError("tools are not supported")
        raw = {"usage": {"prompt_tokens": 7, "completion_tokens": 3}}
        blocks = [TextBlock(text='{"verdict": "plain"}')]
        if tools and self._calls:
            call = ToolCallBlock(tool_name=tools[0].metadata.name, tool_kwargs={"verdict": "A"})
            blocks = [call]
        return ChatResponse(message=ChatMessage(role="assistant", blocks=blocks), raw=raw)

    async def achat(self, messages, **kwargs):
        return self.chat(messages, **kwargs)


async def test_a_model_that_calls_functions_is_held_to_the_schema():
    model = Calling()
    llm = LlamaIndexLLM(model)
    for reply in (llm.complete(HELD), await llm.acomplete(HELD)):
        assert json.loads(reply.text) == {"verdict": "A"}
        assert (reply.prompt_tokens, reply.completion_tokens) == (7, 3)
    messages, arguments = model._seen[0]
    assert messages == [("system", "the task"), ("user", "the passages")]
    (tool,) = arguments["tools"]
    assert tool.metadata.get_parameters_dict() == SCHEMA
    assert tool.metadata.to_openai_tool()["function"]["name"] == "judge_list"
    llm.complete(Prompt("p", "no schema"))
    assert "tools" not in model._seen[-1][1]


async def test_a_model_that_refuses_or_calls_nothing_is_read_plainly():
    for call in ("complete", "acomplete"):
        model = Calling()
        model._refuses = True
        llm = LlamaIndexLLM(model)
        for _ in range(2):
            reply = getattr(llm, call)(HELD)
            assert (await reply if call == "acomplete" else reply).text == '{"verdict": "plain"}'
        assert ["tools" in arguments for _, arguments in model._seen] == [True, False, False]
    model = Calling()
    model._calls = False
    assert LlamaIndexLLM(model).complete(HELD).text == '{"verdict": "plain"}'


def test_llm_names_the_sides_and_judges_all_in_two_calls(zoo):
    verdict = {"passage": 1, "side": "A", "grade": "clear", "quote": "no such words"}
    replies = iter([REPLY])

    class TwoReplies(ChatModel):
        def chat(self, messages, **kwargs):
            self._reply = next(replies, json.dumps([verdict]))
            return super().chat(messages, **kwargs)

    model = TwoReplies()
    retriever = PerspectiveRetriever(zoo.index(), llm=model)
    result = retriever.report("Should zoos stay?")
    assert result.trace.calls["extract"] == 1
    assert result.trace.calls["judge"] <= 2
    assert result.trace.counts["unproven"] >= 1
    assert result.coverage.rule == LLMListJudge(ScriptedLLM([])).listing
