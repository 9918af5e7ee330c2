"""OpenAICompatibleLLM against a real HTTP server on localhost."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from perspective_rag.errors import ConfigError, LLMError, MissingDependency
from perspective_rag.flow.driver import run
from perspective_rag.flow.steps import ask
from perspective_rag.local.openai_compatible import OpenAICompatibleLLM
from perspective_rag.types import Completion, Prompt
from tests.contract import openai_server as fake
from tests.hardening.watchdog import PATIENCE, ends

pytest.importorskip("openai")

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
YES_NO = Prompt("judge", "is it?", choices=("yes", "no"))


def llm_for(server: Any, **changes: Any) -> OpenAICompatibleLLM:
    settings = {"base_url": server.url, "api_key": "sk-top-secret", "max_retries": 0, "timeout": 20}
    return OpenAICompatibleLLM("tiny", **{**settings, **changes})


def ask_sync(llm: OpenAICompatibleLLM, prompt: Prompt) -> Completion:
    return llm.complete(prompt)


def ask_async(llm: OpenAICompatibleLLM, prompt: Prompt) -> Completion:
    async def once() -> Completion:
        return await llm.acomplete(prompt)

    return asyncio.run(once())


both = pytest.mark.parametrize("ask_llm", [ask_sync, ask_async], ids=["sync", "async"])
Ask = Callable[[OpenAICompatibleLLM, Prompt], Completion]


@both
def test_a_reply_and_all_that_was_sent(ask_llm: Ask):
    with fake.OpenAIServer() as server:
        prompt = Prompt("p", "hello", system="be brief", max_tokens=7, temperature=0.0, seed=5)
        completion = ask_llm(llm_for(server), prompt)
    assert completion == Completion("<hello>", prompt_tokens=11, completion_tokens=3)
    assert completion.choice_probabilities is None
    assert server.bodies == [
        {
            "model": "tiny",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": "hello"},
            ],
            "max_tokens": 7,
            "temperature": 0.0,
            "seed": 5,
        }
    ]
    assert server.keys == ["Bearer sk-top-secret"]


@both
def test_a_schema_is_sent_as_a_strict_json_schema(ask_llm: Ask):
    with fake.OpenAIServer() as server:
        ask_llm(llm_for(server), Prompt("my prompt", "hello", schema=SCHEMA))
    assert server.bodies[0]["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "my_prompt", "schema": SCHEMA, "strict": True},
    }


@both
@pytest.mark.parametrize("status", [400, 422])
def test_a_rejected_schema_is_left_out_and_remembered(ask_llm: Ask, status):
    with fake.OpenAIServer(fake.rejects("response_format", status=status)) as server:
        llm = llm_for(server)
        first = ask_llm(llm, Prompt("p", "one", system="be brief", schema=SCHEMA))
        second = ask_llm(llm, Prompt("p", "two", schema=SCHEMA))
    assert (first.text, second.text) == ("<one>", "<two>")
    assert ["response_format" in body for body in server.bodies] == [True, False, False]
    system = server.bodies[1]["messages"][0]
    assert system["role"] == "system"
    assert system["content"].startswith("be brief")
    assert json.dumps(SCHEMA) in system["content"]
    assert json.dumps(SCHEMA) in server.bodies[2]["messages"][0]["content"]


@both
def test_a_400_that_has_another_cause_is_not_blamed_on_the_schema(ask_llm: Ask):
    def too_long(body, server):
        long = len(body["messages"][-1]["content"]) > 10
        return fake.failure(400, "context length exceeded") if long else fake.echo(body, server)

    with fake.OpenAIServer(too_long) as server:
        llm = llm_for(server)
        with pytest.raises(LLMError, match="context length exceeded") as caught:
            ask_llm(llm, Prompt("p", "x" * 50, schema=SCHEMA))
        assert getattr(caught.value.__cause__, "status_code", None) == 400
        ask_llm(llm, Prompt("p", "short", schema=SCHEMA))
    assert ["response_format" in body for body in server.bodies] == [True, False, True]


@both
@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        # A vLLM server with a choice constraint: n .32, y .26, no .24, yes .18.
        (
            [{"n": 0.32, "y": 0.26, "no": 0.24, "yes": 0.18, "maybe": 0.0}],
            {"yes": 0.44, "no": 0.56},
        ),
        ([{" Yes": 0.6, "YES": 0.1, " No": 0.1, "Maybe": 0.2}], {"yes": 0.875, "no": 0.125}),
        ([{"\n": 1.0}, {"Yes": 0.9, "No": 0.1}], {"yes": 0.9, "no": 0.1}),
        ([{"The": 0.97, "Yes": 0.02, "No": 0.01}], None),
        ([{"<think>": 1.0}, {"yes": 1.0}], None),
        ([{"": 1.0}], None),
        ([], None),
        (None, None),
    ],
)
def test_probabilities_of_choices(ask_llm: Ask, tokens, expected):
    with fake.OpenAIServer(lambda body, server: fake.chat("yes", logprobs=tokens)) as server:
        completion = ask_llm(llm_for(server), YES_NO)
    assert server.bodies[0]["logprobs"] is True
    assert server.bodies[0]["top_logprobs"] == 20
    assert "structured_outputs" not in server.bodies[0]
    if expected is None:
        assert completion.choice_probabilities is None
    else:
        assert completion.choice_probabilities == pytest.approx(expected)


def test_a_token_that_begins_two_choices_counts_for_neither():
    tokens = [{"n": 0.5, "no": 0.1, "none": 0.3, "nothing": 0.1}]
    with fake.OpenAIServer(lambda body, server: fake.chat("no", logprobs=tokens)) as server:
        completion = llm_for(server).complete(Prompt("p", "x", choices=("no", "none")))
    assert completion.choice_probabilities == pytest.approx({"no": 0.25, "none": 0.75})


@both
def test_rejected_logprobs_are_left_out_and_remembered(ask_llm: Ask):
    with fake.OpenAIServer(fake.rejects("logprobs")) as server:
        llm = llm_for(server)
        assert ask_llm(llm, YES_NO).choice_probabilities is None
        ask_llm(llm, YES_NO)
        ask_llm(llm, Prompt("p", "x", schema=SCHEMA))
    assert ["logprobs" in body for body in server.bodies] == [True, False, False, False]
    assert "response_format" in server.bodies[-1]


def test_vllm_is_told_the_choices_only_when_asked_to():
    with fake.OpenAIServer() as server:
        options = {"extra_body": {"top_k": 1}}
        llm_for(server, constrain_choices=True, options=options).complete(YES_NO)
    spelled = ["yes", "Yes", "YES", "no", "No", "NO"]
    assert server.bodies[0]["structured_outputs"] == {"choice": spelled}
    assert server.bodies[0]["top_k"] == 1


def test_options_are_sent_and_none_takes_a_field_away():
    with fake.OpenAIServer() as server:
        llm = llm_for(server, options={"reasoning_effort": "low", "seed": None, "max_tokens": 9})
        llm.complete(Prompt("p", "x"))
    body = server.bodies[0]
    assert (body["reasoning_effort"], body["max_tokens"], "seed" in body) == ("low", 9, False)


@both
def test_a_server_error_is_tried_again(ask_llm: Ask):
    with fake.OpenAIServer(fake.fails_first(1)) as server:
        assert ask_llm(llm_for(server, max_retries=1), Prompt("p", "x")).text == "<x>"
        assert len(server.bodies) == 2


@both
def test_a_server_error_that_stays_is_an_llm_error_with_its_cause(ask_llm: Ask):
    with fake.OpenAIServer(fake.fails_first(99)) as server:
        with pytest.raises(LLMError, match=r"prompt 'my_prompt'.*overloaded") as caught:
            ask_llm(llm_for(server), Prompt("my_prompt", "x"))
        assert getattr(caught.value.__cause__, "status_code", None) == 500


@both
def test_a_hanging_server_is_left_after_the_time_out(ask_llm: Ask):
    with fake.OpenAIServer(fake.hangs(10 * PATIENCE)) as server:
        llm = llm_for(server, timeout=0.3)
        with pytest.raises(LLMError, match="APITimeoutError"):
            ends(lambda: ask_llm(llm, Prompt("p", "x")))


@both
@pytest.mark.parametrize(
    "answer",
    [
        "<html>bad gateway</html>",
        {"hello": "world"},
        {"choices": []},
        {"choices": [{"message": None}]},
        {"choices": [{"message": {"role": "assistant", "content": ["no", "text"]}}]},
        [1, 2],
    ],
)
def test_a_nonsense_body_is_an_llm_error(ask_llm: Ask, answer):
    with (
        fake.OpenAIServer(lambda body, server: (200, answer)) as server,
        pytest.raises(LLMError, match="prompt 'p'"),
    ):
        ask_llm(llm_for(server), Prompt("p", "x"))


def test_a_body_without_text_or_usage_is_an_empty_reply():
    def bare(body, server):
        status, answer = fake.chat(None)
        return status, {**answer, "usage": None}

    with fake.OpenAIServer(bare) as server:
        assert llm_for(server).complete(Prompt("p", "x")) == Completion("")


def test_a_refusal_is_the_text():
    def refuse(body, server):
        status, answer = fake.chat(None)
        answer["choices"][0]["message"]["refusal"] = "I'm sorry, I can't help with that."
        return status, answer

    with fake.OpenAIServer(refuse) as server:
        assert llm_for(server).complete(Prompt("p", "x")).text.startswith("I'm sorry")


@both
def test_no_server_is_an_llm_error(ask_llm: Ask):
    with pytest.raises(LLMError, match="APIConnectionError"):
        ask_llm(
            OpenAICompatibleLLM("tiny", base_url="http://127.0.0.1:9/v1", max_retries=0),
            Prompt("p", "x"),
        )


@both
def test_a_missing_key_is_an_llm_error(ask_llm: Ask, monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(LLMError, match="OPENAI_API_KEY"):
        ask_llm(OpenAICompatibleLLM("gpt", max_retries=0), Prompt("p", "x"))


def test_a_local_server_needs_no_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with fake.OpenAIServer() as server:
        assert llm_for(server, api_key=None).complete(Prompt("p", "x")).text == "<x>"


def test_two_event_loops_in_a_row_then_sync(recwarn: pytest.WarningsRecorder):
    async def several(llm: OpenAICompatibleLLM) -> list[str]:
        asked = (llm.acomplete(Prompt("p", str(i))) for i in range(6))
        return [completion.text for completion in await asyncio.gather(*asked)]

    with fake.OpenAIServer() as server:
        llm = llm_for(server)
        expected = [f"<{i}>" for i in range(6)]
        assert asyncio.run(several(llm)) == expected
        assert asyncio.run(several(llm)) == expected
        assert llm.complete(Prompt("p", "0")).text == "<0>"
        llm.close()
        gc.collect()
    assert [str(w.message) for w in recwarn if "unclosed" in str(w.message)] == []


async def test_it_can_be_closed_and_used_again():
    with fake.OpenAIServer() as server:
        llm = llm_for(server)
        for _ in range(2):
            assert (await llm.acomplete(Prompt("p", "x"))).text == "<x>"
            client = llm._running.client
            await llm.aclose()
            assert client.is_closed()
        for _ in range(2):
            assert llm.complete(Prompt("p", "x")).text == "<x>"
            llm.close()
        await llm.aclose()


async def test_calls_under_way_when_it_is_closed_are_llm_errors():
    with fake.OpenAIServer(fake.hangs(PATIENCE)) as server:
        llm = llm_for(server)
        calls = [
            asyncio.create_task(asyncio.to_thread(llm.complete, Prompt("p", "x"))),
            asyncio.create_task(llm.acomplete(Prompt("p", "y"))),
        ]
        while len(server.bodies) < 2:
            await asyncio.sleep(0.01)
        await llm.aclose()
        for call in calls:
            with pytest.raises(LLMError, match="'p': ConnectionError: the client was closed"):
                await call
        server.released.set()


def test_32_threads_share_one_client_and_get_their_own_replies(monkeypatch: pytest.MonkeyPatch):
    import openai

    built: list[object] = []
    original = openai.AsyncOpenAI

    def slow(*args: Any, **settings: Any) -> Any:
        built.append(settings)
        time.sleep(0.02)
        return original(*args, **settings)

    monkeypatch.setattr(openai, "AsyncOpenAI", slow)
    with fake.OpenAIServer(fake.rejects("response_format"), delay=0.01) as server:
        llm = llm_for(server, max_concurrency=5)
        prompts = [Prompt("p", f"text {i}", schema=SCHEMA) for i in range(96)]
        with ThreadPoolExecutor(32) as pool:
            replies = [completion.text for completion in pool.map(llm.complete, prompts)]
    assert replies == [f"<text {i}>" for i in range(96)]
    assert len(built) == 1
    assert server.most_at_once <= 5
    assert "response_format" not in server.bodies[-1]


def test_32_threads_with_an_event_loop_each():
    with fake.OpenAIServer() as server:
        llm = llm_for(server)
        prompts = [Prompt("p", str(i)) for i in range(32)]
        with ThreadPoolExecutor(32) as pool:
            replies = [c.text for c in pool.map(lambda p: ask_async(llm, p), prompts)]
    assert replies == [f"<{i}>" for i in range(32)]


async def test_concurrency_is_bounded_without_blocking_the_loop():
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    with fake.OpenAIServer(delay=0.1) as server:
        llm = llm_for(server, max_concurrency=3)
        ticker = asyncio.create_task(tick())
        await asyncio.gather(*(llm.acomplete(Prompt("p", str(i))) for i in range(9)))
        ticker.cancel()
        await llm.aclose()
    assert 2 <= server.most_at_once <= 3
    assert ticks >= 10


def test_it_drives_a_flow():
    with fake.OpenAIServer() as server:
        llm = llm_for(server)
        replies = run(ask("expand", llm, [Prompt("p", "a"), Prompt("p", "b")]))
    assert [reply.value.text for reply in replies] == ["<a>", "<b>"]


def test_secrets_show_nowhere(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.WARNING)

    def tells(body, server):
        return fake.failure(401, "Incorrect API key provided: sk-top-secret")

    with fake.OpenAIServer(tells) as server:
        url = server.url.replace("http://", "http://user:hunter2@")
        options = {
            "extra_headers": {"X-Key": "sk-top-secret"},
            "extra_body": {"api_key": "sk-top-secret", "top_k": 1},
            "max_completion_tokens": 5,
        }
        llm = llm_for(server, base_url=url, options=options)
        with pytest.raises(LLMError) as caught:
            llm.complete(Prompt("p", "x"))
    shown = [
        repr(llm),
        str(llm),
        llm.name,
        json.dumps(llm.to_dict()),
        str(caught.value),
        caplog.text,
    ]
    assert all("sk-top-secret" not in text and "hunter2" not in text for text in shown)
    assert "***" in str(caught.value)
    assert llm.to_dict()["options"] == {"extra_body": {"top_k": 1}, "max_completion_tokens": 5}


def test_to_dict_round_trip():
    llm = OpenAICompatibleLLM("tiny", base_url="http://h:1/v1", timeout=3, options={"top_p": 0.5})
    assert OpenAICompatibleLLM(**llm.to_dict()).to_dict() == llm.to_dict()


def test_names_tell_apart_what_answers_differently():
    def name(**changes: Any) -> str:
        return OpenAICompatibleLLM("m", **changes).name

    names = [
        name(),
        name(base_url="http://a/v1"),
        name(base_url="http://b/v1"),
        name(options={"top_p": 0.5}),
        name(options={"top_p": 0.6}),
        name(constrain_choices=True),
    ]
    assert len(set(names)) == len(names)
    assert name() == "m"
    assert name(options={"top_p": 0.5}) == names[3]


@pytest.mark.parametrize(
    "changes", [{"model": ""}, {"timeout": 0}, {"max_retries": -1}, {"max_concurrency": 0}]
)
def test_bad_settings(changes):
    with pytest.raises(ConfigError):
        OpenAICompatibleLLM(**{"model": "m", **changes})


@pytest.mark.parametrize("package", ["openai", "httpx"])  # newer releases of openai lack httpx
def test_without_a_package_the_error_says_what_to_install(
    package: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDependency, match=r"perspective-rag\[openai\]"):
        OpenAICompatibleLLM("m")


def test_construction_starts_nothing():
    before = threading.active_count()
    llm = OpenAICompatibleLLM("m", base_url="http://127.0.0.1:9/v1")
    assert (llm._running, threading.active_count()) == (None, before)


def test_a_reply_comes_piece_by_piece_and_a_schema_that_is_refused_is_left_out():
    from tests.e2e.streaming_server import StreamingServer

    with StreamingServer("Zoos", ["Zoos ", "are ", "places."]) as server:
        llm = OpenAICompatibleLLM("m", base_url=server.url)
        prompt = Prompt("p", "Zoos?", schema={"type": "object"})
        assert list(llm.stream(prompt)) == ["Zoos ", "are ", "places."]
        assert server.bodies[0]["stream"] is True
        assert server.bodies[0]["response_format"]["type"] == "json_schema"
    with fake.OpenAIServer(fake.rejects("response_format")) as refusing:
        llm = OpenAICompatibleLLM("m", base_url=refusing.url, max_retries=0)
        list(llm.stream(prompt))  # a server that does not stream sends no events
        assert [("response_format" in body) for body in refusing.bodies] == [True, False]


def test_a_stream_that_fails_is_an_llm_error_without_the_key():
    with fake.OpenAIServer(lambda body, server: fake.failure(500, "no sk-secret-key-1")) as server:
        llm = OpenAICompatibleLLM(
            "m", base_url=server.url, api_key="sk-secret-key-1", max_retries=0
        )
        with pytest.raises(LLMError) as raised:
            list(llm.stream(Prompt("p", "Zoos?")))
    assert "sk-secret-key-1" not in str(raised.value)
