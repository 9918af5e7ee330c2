"""What a server repeats of a key is in no error, log or report."""

from __future__ import annotations

import logging

import pytest
from haystack import Document, component
from haystack.dataclasses import ChatMessage
from haystack.utils import Secret

from haystack_integrations.common.perspective_rag import (
    HaystackEmbedder,
    HaystackLLM,
    HaystackStore,
)
from haystack_integrations.components.retrievers.perspective_rag import PerspectiveRetriever
from perspective_rag import LLMError, Prompt
from perspective_rag.extend import secrets_of

KEY = "a plain word as key"


class Holding:
    def __init__(self, secret):
        self.access = secret

    def fail(self):
        raise ConnectionError(f"401: you sent {KEY}")


@component
class Generator(Holding):
    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage]):
        self.fail()


@component
class Embedder(Holding):
    @component.output_types(embedding=list[float])
    def run(self, text: str):
        self.fail()


@component
class Retriever(Holding):
    @component.output_types(documents=list[Document])
    def run(self, query: str):
        self.fail()


@pytest.fixture(params=["token", "variable"])
def secret(request, monkeypatch):
    monkeypatch.setenv("OUR_KEY", KEY)
    return Secret.from_token(KEY) if request.param == "token" else Secret.from_env_var("OUR_KEY")


async def test_errors_of_models_and_stores_do_not_hold_the_key(secret):
    prompt = Prompt("name", "system", "user")
    llm = HaystackLLM(Generator(secret))
    with pytest.raises(LLMError, match="401: you sent") as raised:
        llm.complete(prompt)
    with pytest.raises(LLMError, match="401: you sent") as awaited:
        await llm.acomplete(prompt)
    with pytest.raises(ConnectionError, match="401: you sent") as embedding:
        HaystackEmbedder(Embedder(secret)).embed_queries(["a", "b"])
    store = HaystackStore(Retriever(secret))
    with pytest.raises(ConnectionError, match="401: you sent") as searching:
        store.search("a", None, k=1)
    with pytest.raises(ConnectionError, match="401: you sent") as asearching:
        await store.asearch("a", None, k=1)
    for each in (raised, awaited, embedding, searching, asearching):
        error = each.value
        while error is not None:
            assert KEY not in str(error)
            error = error.__cause__


def test_log_and_report_do_not_hold_it(secret, caplog):
    from tests.integrations.haystack.samples import QUESTION, filled, judge

    made = PerspectiveRetriever(
        document_store=filled(), judge=judge(), chat_generator=Generator(secret)
    )
    with caplog.at_level(logging.DEBUG):
        report = made.run(QUESTION)["report"]
    assert report["trace"]["degradations"]
    assert KEY not in caplog.text + str(report)


def test_a_secret_whose_variable_is_not_set_is_none(monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    assert secrets_of(Generator(Secret.from_env_var("NO_SUCH_KEY"))) == []
    assert secrets_of(Generator(Secret.from_env_var("NO_SUCH_KEY", strict=False))) == []
