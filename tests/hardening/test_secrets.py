"""A key, a password or a token is never in what is raised, recorded, returned or printed."""

from __future__ import annotations

import json
import os
import stat
import threading
import traceback
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from benchmarks.web.search_results import JsonSearch, SerperSearch
from perspective_rag import (
    CachedLLM,
    Completion,
    LLMError,
    LLMJudge,
    OpenAICompatibleLLM,
    PerspectivePipeline,
    Prompt,
    RetrievalError,
)
from perspective_rag.errors import LLMReplyError
from perspective_rag.prompts.replies import bad_reply
from perspective_rag.redaction import is_secret, public, redacted, scrubbed, secrets_of
from perspective_rag.testing import SAMPLE, HashEmbedder, MemoryStore, ScriptedLLM
from perspective_rag_scale import OpenAICompatibleEmbedder

KEY = "sk_1234567890_abcdefghijklmnopqrstuvw"
PROMPT = Prompt("a_prompt", "what the user says")


class Echo(BaseHTTPRequestHandler):
    """Answers every request with what it was sent, after ``before`` other characters."""

    status = 403
    before = 0

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        said = "." * self.before + f" you sent {self.headers} to {self.path}"
        body = json.dumps({"error": {"message": said}}).encode()
        self.send_response(self.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *args):
        pass


@pytest.fixture(params=[(403, 0), (403, 440), (403, 470), (500, 0), (200, 0)])
def url(request):
    handler = type("Echo", (Echo,), {"status": request.param[0], "before": request.param[1]})
    server = HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def told(error):
    """All that a log or a traceback shows of an error."""
    return "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))


def without_key(text):
    """Whether a text holds no eight characters of the key in a row."""
    return not any(KEY[i : i + 8] in text for i in range(len(KEY) - 7))


def test_an_embedder_whose_server_echoes_the_key(url):
    embedder = OpenAICompatibleEmbedder("m", base_url=url, api_key=KEY, max_retries=0)
    with pytest.raises(RetrievalError) as caught:
        embedder.embed_passages(["a"])
    assert without_key(told(caught.value))


def test_a_model_whose_server_echoes_the_key(url):
    llm = OpenAICompatibleLLM("m", base_url=url, api_key=KEY, max_retries=0)
    with pytest.raises(LLMError) as caught:
        llm.complete(PROMPT)
    assert without_key(told(caught.value))


async def test_a_model_whose_server_echoes_the_key_async(url):
    llm = OpenAICompatibleLLM("m", base_url=url, api_key=KEY, max_retries=0)
    with pytest.raises(LLMError) as caught:
        await llm.acomplete(PROMPT)
    await llm.aclose()
    assert without_key(told(caught.value))


def test_a_request_whose_embedder_and_judge_fail_with_the_key(url):
    embedder = OpenAICompatibleEmbedder("m", base_url=url, api_key=KEY, max_retries=0)
    with pytest.raises(RetrievalError) as caught:
        PerspectivePipeline(MemoryStore(SAMPLE), embedder=embedder).retrieve(
            "Should zoos be closed?"
        )
    assert without_key(told(caught.value))
    llm = OpenAICompatibleLLM("m", base_url=url, api_key=KEY, max_retries=0)
    pipeline = PerspectivePipeline(
        MemoryStore(SAMPLE), embedder=HashEmbedder(), judge=LLMJudge(llm)
    )
    result = pipeline.retrieve("Should zoos be closed?")
    assert result.trace.degradations
    assert without_key(json.dumps(result.to_dict(), default=str))
    assert without_key("".join(told(d.error) for d in result.trace.degradations if d.error))


@pytest.mark.parametrize(
    "engine",
    [
        lambda url: JsonSearch(f"{url}/s", parameters={"apikey": KEY, "format": "json"}),
        lambda url: JsonSearch(f"{url}/s?key={KEY}"),
        lambda url: JsonSearch(f"{url}/s", headers={"X-Token": KEY}),
        lambda url: SerperSearch(KEY, url=f"{url}/s"),
    ],
    ids=["parameter", "address", "header", "serper"],
)
def test_a_search_engine_that_echoes_the_key(url, engine):
    engine = engine(url)
    with pytest.raises(RetrievalError) as caught:
        engine.find("zoos", 5)
    assert without_key(told(caught.value))
    assert without_key(engine.name + repr(engine))


class FailingStore(MemoryStore):
    """A database whose errors say how it was reached."""

    def _search(self, text, vector, k, filter):
        try:
            raise OSError(f"invalid address: postgresql://app:{KEY}@db.example:5432/x")
        except OSError as cause:
            raise ConnectionError(f"cannot connect with password='{KEY}'") from cause


async def test_a_store_whose_errors_hold_the_password():
    pipeline = PerspectivePipeline(FailingStore(SAMPLE), embedder=HashEmbedder())
    with pytest.raises(RetrievalError) as caught:
        pipeline.retrieve("Should zoos be closed?")
    assert without_key(told(caught.value))
    assert isinstance(caught.value.__cause__, ConnectionError)
    with pytest.raises(RetrievalError) as caught:
        await pipeline.aretrieve("Should zoos be closed?")
    assert without_key(told(caught.value))


def test_a_reply_that_cannot_be_used_is_shown_without_secrets():
    error = bad_reply("no list", f"{'.' * 60} api_key: {KEY}", PROMPT)
    assert without_key(told(error))
    assert isinstance(error, LLMReplyError)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://app:SECRET@db.example/x",
        "amqp://SECRET@host",
        "password=SECRET host=db",
        "FATAL: PGPASSWORD='SECRET'",
        '{"api_key": "SECRET"}',
        "{'api-key': 'SECRET'}",
        '"{\\"access_token\\": \\"SECRET\\"}"',
        "Authorization: Bearer SECRET",
        "authorization: Basic SECRET",
        "header 'X-Api-Key': SECRET, more",
        "https://a.example/?q=x&key=SECRET&b=c",
        "https://a.example/?subscription-key=SECRET",
        "Cookie: session=SECRET",
        "AccountKey=SECRET;EndpointSuffix=x",
    ],
)
def test_what_looks_like_a_secret_is_left_out(text):
    secret = "s3cretW0rd-0123456789"
    assert secret not in redacted(text.replace("SECRET", secret))


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-0123456789abcdef",
        "ghp_0123456789abcdef0123",
        "hf_abcdefghijklmnopqrst",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def",
    ],
)
def test_well_known_keys_are_left_out_wherever_they_stand(key):
    assert key not in redacted(f"Incorrect key provided: {key}. You can find yours at x")


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens=512 is above the limit of 4096 tokens",
        "KeyError: 'title'",
        "Unexpected token: <",
        "connection refused: http://localhost:8000/v1/embeddings",
        "the store cannot be reached for 'Should zoos be closed?'",
        "searched the password manager debate; 3 of 5 passages",
        "duplicate key: a1",
    ],
)
def test_other_texts_stay_as_they_are(text):
    assert redacted(text) == text


def test_known_secrets_are_left_out_however_they_are_written():
    secret = "pa/ss word+%é"
    for text in (secret, "pa%2Fss%20word%2B%25%C3%A9", "pa/ss%20word%2B%25%C3%A9"):
        assert redacted(f"a {text} b", [secret]) == "a *** b"


def test_an_error_keeps_its_kind_and_its_cause():
    cause = OSError(5, f"cannot reach api_key={KEY}")
    error = ValueError("failed")
    error.__cause__ = cause
    clean = scrubbed(error)
    assert clean is error
    assert isinstance(clean.__cause__, OSError)
    assert without_key(told(clean))


def test_an_error_whose_text_cannot_be_changed_is_replaced():
    class Stubborn(Exception):
        def __init__(self, status, *, body):
            super().__init__(status)

        def __str__(self):
            return f"password={KEY}"

    clean = scrubbed(Stubborn(1, body=2))
    assert isinstance(clean, RuntimeError)
    assert "Stubborn" in str(clean)
    assert without_key(told(clean))


def test_errors_that_cause_each_other_end():
    one, other = ValueError(f"token={KEY}"), ValueError(f"token={KEY}")
    one.__cause__, other.__cause__ = other, one
    assert without_key(str(scrubbed(one)) + str(other))


@pytest.mark.parametrize(
    "name",
    ["api_key", "apiKey", "X-API-Key", "access_token", "password", "passwd", "client_secret",
     "Authorization", "extra_headers", "cookie", "connection_string", "private_key", "key"],
)  # fmt: skip
def test_options_that_hold_secrets_are_not_shown(name):
    assert is_secret(name)
    options = {name: KEY, "extra_body": {"deep": [{name: KEY}]}, "max_tokens": 7}
    llm = OpenAICompatibleLLM("m", base_url=f"http://u:{KEY}@h/v1?k={KEY}", options=options)
    assert without_key(json.dumps(llm.to_dict()) + llm.name + repr(llm))
    assert llm.to_dict()["options"]["max_tokens"] == 7
    assert KEY in secrets_of(options)
    assert public({"a": f"Bearer {KEY}"}) == {"a": "Bearer ***"}


@pytest.mark.skipif(os.name == "nt", reason="permissions are of POSIX")
def test_a_cache_is_for_its_owner_alone(tmp_path):
    umask = os.umask(0o000)
    try:
        cached = CachedLLM(ScriptedLLM([Completion("private")]), tmp_path / "replies.db")
        cached.complete(PROMPT)
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
        cached.close()
    finally:
        os.umask(umask)
    assert set(modes.values()) == {0o600}, modes


def test_the_example_service_says_what_failed_and_not_why():
    pytest.importorskip("fastapi")
    from examples.serve_fastapi import _http_error

    answer = _http_error(RetrievalError("all searches failed: the database said pass phrase 17"))
    assert answer.status_code == 503
    assert "database" not in str(answer.detail)
