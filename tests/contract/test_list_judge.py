"""The list judge over a real HTTP server: the schema arrives, usage is counted, bad replies end in
the fallback.
"""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from perspective_rag import LLMListJudge, OpenAICompatibleLLM
from perspective_rag.cli import main
from perspective_rag.flow.driver import arun, run
from perspective_rag.flow.request import Recorder
from perspective_rag.testing import TableJudge
from perspective_rag.types import Passage, Perspective
from tests.contract import openai_server as fake

pytest.importorskip("openai")

SIDES = [Perspective("a", "Zoos should close."), Perspective("b", "Zoos should stay.")]
PASSAGES = [Passage("1", "Small cages make them ill."), Passage("2", "It opens at nine.")]


def verdicts(body: dict[str, Any], server: fake.OpenAIServer) -> tuple[int, Any]:
    shown = re.findall(r'number="(\d+)">\n(.*?)\n</pas', body["messages"][-1]["content"], re.DOTALL)
    entries = [
        {"passage": int(n), "quote": text, "side": "A" if "cages" in text else "none",
         "grade": "clear"}
        for n, text in shown
    ]  # fmt: skip
    return fake.chat(json.dumps({"verdicts": entries}))


def judged(server: fake.OpenAIServer, *, loop: bool) -> tuple[Any, Recorder]:
    llm = OpenAICompatibleLLM(
        "tiny", base_url=server.url, api_key="sk-x", max_retries=0, timeout=20
    )
    judge = LLMListJudge(llm, fallback=TableJudge(default=0.9))
    book = Recorder()
    flow = judge.judge_list("Zoos?", SIDES, PASSAGES, np.full(2, np.nan))
    found = asyncio.run(arun(flow, book)) if loop else run(flow, book)
    return found, book


@pytest.mark.parametrize("loop", [False, True])
def test_one_request_holds_the_schema_and_is_counted(loop: bool) -> None:
    with fake.OpenAIServer(verdicts) as server:
        found, book = judged(server, loop=loop)
    assert found.support.tolist() == [[0.95, 0.03], [0.03, 0.03]]
    assert found.proofs[0]["a"].of(PASSAGES[0]) == "Small cages make them ill"
    (body,) = server.bodies
    form = body["response_format"]
    assert form["type"] == "json_schema"
    assert form["json_schema"]["strict"] is True
    entry = form["json_schema"]["schema"]["properties"]["verdicts"]["items"]
    assert entry["properties"]["side"]["enum"] == ["A", "B", "both", "none"]
    assert body["temperature"] == 0.0
    assert (book.calls["judge"], book.prompt_tokens, book.completion_tokens) == (1, 11, 3)


def test_a_server_without_schemas_is_asked_in_plain_text() -> None:
    def behave(body: dict[str, Any], server: fake.OpenAIServer) -> tuple[int, Any]:
        if "response_format" in body:
            return fake.failure(400, "response_format is not supported")
        return verdicts(body, server)

    with fake.OpenAIServer(behave) as server:
        found, book = judged(server, loop=False)
    assert found.own.all()
    assert book.degradations == []
    assert "JSON schema" in server.bodies[-1]["messages"][0]["content"]


@pytest.mark.parametrize("behave", [fake.echo, fake.nonsense, lambda *_: fake.failure(500, "no")])
def test_bad_replies_end_in_the_fallback(behave: fake.Behaviour) -> None:
    with fake.OpenAIServer(behave) as server:
        found, book = judged(server, loop=False)
    assert found.support.min() == 0.8  # all of it, by the fallback
    assert not found.own.any()
    assert [each.stage for each in book.degradations] == ["judge"]


def test_the_command_asks_for_the_sides_the_verdicts_and_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = tmp_path / "corpus.jsonl"
    rows = [
        {"id": "1", "text": "Zoos: small cages make the animals ill for life."},
        {"id": "2", "text": "Zoos open at nine in the morning, on every day of the week."},
    ]
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def behave(body: dict[str, Any], server: fake.OpenAIServer) -> tuple[int, Any]:
        kind = body["response_format"]["json_schema"]["name"]
        if kind == "extract_perspectives":
            sides = [{"text": each.text} for each in SIDES]
            return fake.chat(json.dumps({"root": "Should zoos close?", "perspectives": sides}))
        return verdicts(body, server) if kind == "judge_list" else fake.chat("no")

    with fake.OpenAIServer(behave) as server:
        status = main(
            ["ask", "Should zoos close?", "--corpus", str(corpus), "--cache", str(tmp_path / "c"),
             "--llm", "tiny", "--base-url", server.url]
        )  # fmt: skip
    kinds = [body["response_format"]["json_schema"]["name"] for body in server.bodies]
    assert kinds[:2] == ["extract_perspectives", "judge_list"]
    assert kinds.count("judge_list") == 1
    assert status == 0
    assert "make the animals ill" in " ".join(capsys.readouterr().out.split())
