"""Unmodified clients of other projects against the running server.

Those that need other packages than the rest of the tests run in ``make test-clients``.
"""

from __future__ import annotations

import os
import re
import sys

import pytest

from tests.addons.serve.http.conftest import TOKEN
from tests.addons.serve.http.process import ROOT

QUESTION = "Should zoos be closed?"
DOCUMENTS = [
    "Zoos should be closed, because animals suffer behind bars.",
    "Zoos should be closed: a cage is no life for an elephant.",
    "Zoos should be closed; animals belong in the wild.",
    "Zoos should not be closed, as they save species from extinction.",
    "The bakery opens at nine.",
]


@pytest.fixture(scope="module", autouse=True)
def no_network():
    """LiteLLM otherwise looks for prices on the network when it is imported."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"


# --- openai ----------------------------------------------------------------------------------------


@pytest.fixture
def openai_client(address):
    openai = pytest.importorskip("openai")
    with openai.OpenAI(base_url=f"{address}/v1", api_key=TOKEN, max_retries=0) as found:
        yield found


def test_openai_completes(openai_client):
    messages = [{"role": "user", "content": QUESTION}]
    completion = openai_client.chat.completions.create(model="perspective-rag", messages=messages)
    text = completion.choices[0].message.content
    assert "**Zoos should be closed**" in text
    assert "**Zoos should not be closed**" in text
    assert re.search(r"\[\d\]", text)
    assert completion.choices[0].finish_reason == "stop"
    assert completion.usage.total_tokens == 0
    assert completion.model_extra["perspective_rag"]["view"]["sides"]


def test_openai_streams_what_it_completes(openai_client):
    messages = [{"role": "user", "content": QUESTION}]
    ask = openai_client.chat.completions.create
    whole = ask(model="perspective-rag", messages=messages).choices[0].message.content
    stream = ask(
        model="perspective-rag",
        messages=messages,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    pieces = [c.choices[0].delta.content or "" for c in chunks if c.choices]
    assert "".join(pieces).strip() == whole
    assert chunks[-1].usage is not None


def test_openai_lists_the_model_and_understands_the_errors(openai_client, address):
    openai = pytest.importorskip("openai")
    assert [each.id for each in openai_client.models.list()] == ["perspective-rag"]
    with pytest.raises(openai.UnprocessableEntityError, match="question"):
        openai_client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "?"}]
        )
    with pytest.raises(openai.AuthenticationError, match="token"):
        openai.OpenAI(base_url=f"{address}/v1", api_key="wrong", max_retries=0).models.list()


# --- LiteLLM ---------------------------------------------------------------------------------------


@pytest.fixture
def litellm(no_network):
    return pytest.importorskip("litellm")


def test_litellm_completes_and_streams(litellm, address):
    given = {
        "model": "openai/perspective-rag",
        "api_base": f"{address}/v1",
        "api_key": TOKEN,
        "messages": [{"role": "user", "content": QUESTION}],
        "num_retries": 0,
    }
    whole = litellm.completion(**given).choices[0].message.content
    assert "**Zoos should not be closed**" in whole
    pieces = [
        chunk.choices[0].delta.content or "" for chunk in litellm.completion(**given, stream=True)
    ]
    assert "".join(pieces).strip() == whole


@pytest.mark.parametrize("provider", ["cohere", "jina_ai", "hosted_vllm"])
def test_litellm_reranks_in_the_form_of(provider, litellm, address):
    base = {
        "cohere": f"{address}/v2/rerank",
        "jina_ai": f"{address}/v1/rerank",
        "hosted_vllm": address,
    }[provider]
    reply = litellm.rerank(
        model=f"{provider}/perspective-rag",
        query=QUESTION,
        documents=DOCUMENTS,
        top_n=3,
        api_base=base,
        api_key=TOKEN,
    )
    indexes = [row["index"] for row in reply.results]
    scores = [row["relevance_score"] for row in reply.results]
    assert len(indexes) == 3
    assert 3 in indexes[:2], "the other side is among the first two"
    assert scores == sorted(scores, reverse=True)


# --- LangChain and LlamaIndex ----------------------------------------------------------------------


def test_langchain_chats(address):
    langchain_openai = pytest.importorskip("langchain_openai")
    model = langchain_openai.ChatOpenAI(
        model="perspective-rag", base_url=f"{address}/v1", api_key=TOKEN, max_retries=0
    )
    text = model.invoke(QUESTION).content
    assert "**Zoos should be closed**" in text
    assert "".join(chunk.content for chunk in model.stream(QUESTION)).strip() == text
    talk = [
        ("human", "Should social media be banned for children?"),
        ("ai", "..."),
        ("human", "and for teenagers?"),
    ]
    assert "teenagers" in model.invoke(talk).content


def test_llama_index_completes_and_streams(address):
    openai_like = pytest.importorskip("llama_index.llms.openai_like")
    model = openai_like.OpenAILike(
        model="perspective-rag",
        api_base=f"{address}/v1",
        api_key=TOKEN,
        is_chat_model=True,
        max_retries=0,
    )
    text = model.complete(QUESTION).text
    assert "**Zoos should not be closed**" in text
    assert "".join(chunk.delta or "" for chunk in model.stream_complete(QUESTION)).strip() == text


# --- Model Context Protocol ------------------------------------------------------------------------


async def use(session):
    """Calls each tool once."""
    names = {tool.name for tool in (await session.list_tools()).tools}
    assert names == {"search_perspectives", "judge_support", "audit_retrieval"}
    found = (
        await session.call_tool("search_perspectives", {"question": QUESTION})
    ).structured_content
    assert [side["text"] for side in found["sides"]] == [
        "Zoos should be closed",
        "Zoos should not be closed",
    ]
    assert all(side["passages"] for side in found["sides"])
    arguments = {"question": QUESTION, "passages": DOCUMENTS}
    judged = (await session.call_tool("judge_support", arguments)).structured_content
    assert judged["passages"][0]["sides"][0]["verdict"] == "clear"
    assert judged["passages"][3]["sides"][1]["verdict"] == "clear"
    arguments = {"question": QUESTION, "passages": DOCUMENTS[:3]}
    audit = (await session.call_tool("audit_retrieval", arguments)).structured_content
    assert audit["missing"] == ["Zoos should not be closed"]
    assert (await session.call_tool("judge_support", {"question": QUESTION})).is_error


async def test_the_mcp_client_over_http(address):
    mcp = pytest.importorskip("mcp")
    from mcp.client.streamable_http import streamable_http_client

    httpx2 = pytest.importorskip("httpx2")
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as http:
        transport = streamable_http_client(f"{address}/mcp", http_client=http)
        async with mcp.Client(transport) as session:
            await use(session)


async def test_the_mcp_client_over_standard_streams(tmp_path):
    mcp = pytest.importorskip("mcp")
    from mcp.client.stdio import stdio_client

    parameters = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-m", "perspective_rag", "mcp", "--example", "--cache", str(tmp_path)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)},
    )
    async with mcp.Client(stdio_client(parameters)) as session:
        await use(session)
