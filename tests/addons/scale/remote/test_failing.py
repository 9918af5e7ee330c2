"""Servers that are slow, overloaded, broken or gone; what happens is said, and what works counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perspective_rag import ConfigError, JudgeError, RetrievalError
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.testing import HashEmbedder
from perspective_rag.types import Passage, Perspective
from perspective_rag_scale import RemoteEmbedder, RemoteJudge
from perspective_rag_scale.remote.batching import batches
from perspective_rag_scale.remote.client import Client
from perspective_rag_scale.remote.failures import ServerError, seconds_to_wait
from tests.addons.scale.remote.servers import CUT, HELD, ModelServer, Refused, conforms, tei

CLAIM = "zoos should close"
SIDES = (Perspective("for", CLAIM, "support", CLAIM),)
PASSAGES = [Passage(str(n), f"{word} w{n}") for n, word in enumerate(("yes", "no", "maybe") * 4)]
OVERLOADED = {"error": "Model is overloaded", "error_type": "Overloaded"}


def table(judge, book=None):
    return run(judge.judge(SIDES, PASSAGES), book or Recorder(strict=True))[:, 0]


def judge_at(server, folder, *, sleeps=None, **options):
    judge = RemoteJudge(server.url, model=folder, **options)

    async def sleep(seconds):
        if sleeps is not None:
            sleeps.append(seconds)

    judge._client._sleep = sleep
    return judge


def first(path, *faults):
    """The faults of the first requests to a path, in turn."""
    left = list(faults)

    def fault(number, asked):
        return left.pop(0) if asked == path and left else None

    return fault


EXPECTED = ["yes", "no", "maybe"] * 4


def right(support):
    return all((p > 0.9) == (word == "yes") for p, word in zip(support, EXPECTED, strict=True))


@pytest.mark.parametrize(
    "fault",
    [
        CUT,
        Refused(503, {"error": "unhealthy", "error_type": "Unhealthy"}),
        Refused(429, conforms("tei", "error", OVERLOADED)),
        Refused(502, "<html>bad gateway</html>"),
    ],
    ids=["cut off", "503", "429", "502"],
)
def test_what_may_work_later_is_asked_again(fault, tiny, folder):
    with ModelServer(tei(tiny), first("/predict", fault, fault)) as server:
        sleeps = []
        assert right(table(judge_at(server, folder, sleeps=sleeps)))
        assert len(server.asked("/predict")) == 3
        assert len(sleeps) == 2
        assert 0 <= sleeps[0] <= 0.25
        assert 0 <= sleeps[1] <= 0.5


def test_a_server_says_when_to_come_back(tiny, folder):
    wait = Refused(429, OVERLOADED, {"Retry-After": "7"})
    with ModelServer(tei(tiny), first("/predict", wait)) as server:
        sleeps = []
        assert right(table(judge_at(server, folder, sleeps=sleeps)))
        assert sleeps == [7.0]


def test_a_server_that_wants_to_be_left_alone_for_long_is_not_asked_again(tiny, folder):
    wait = Refused(429, OVERLOADED, {"Retry-After": "3600"})
    with ModelServer(tei(tiny), first("/predict", wait)) as server:
        book = Recorder()
        assert np.isnan(table(judge_at(server, folder), book)).all()
        assert len(server.asked("/predict")) == 1
        assert "status 429: " in repr(book.degradations[0].error)


def test_a_date_is_as_good_as_seconds():
    assert seconds_to_wait("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert seconds_to_wait("Fri, 31 Dec 9999 23:59:59 GMT") > 1e9
    assert [seconds_to_wait(each) for each in (None, "", "soon", "12")] == [None, None, None, 12.0]


def test_what_is_wrong_stays_wrong_and_is_asked_once(tiny, folder):
    gone = Refused(404, {"error": "not found", "error_type": "Validation"})
    with ModelServer(tei(tiny), first("/predict", gone)) as server:
        with pytest.raises(JudgeError, match="status 404"):
            table(judge_at(server, folder))
        assert len(server.asked("/predict")) == 1


def test_a_batch_that_fails_takes_no_other_with_it(tiny, folder):
    failed = Refused(424, {"error": "Inference failed", "error_type": "Backend"})
    with ModelServer(tei(tiny), first("/predict", failed)) as server:
        book = Recorder()
        support = table(judge_at(server, folder, batch_size=4), book)
        assert np.isnan(support).sum() == 4
        assert "4 of 12 pairs" in book.degradations[0].message
        assert "Inference failed" in repr(book.degradations[0].error)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (
            422,
            {"error": "batch size 12 > maximum allowed batch size 3", "error_type": "Validation"},
        ),
        (413, "Failed to buffer the request body: length limit exceeded"),
    ],
    ids=["more than --max-client-batch-size", "more than --payload-limit"],
)
def test_a_batch_that_is_too_large_is_split(status, said, tiny, folder):
    with ModelServer(tei(tiny)) as server:
        judge = judge_at(server, folder)
        judge.check()

        def small(path, body):
            if len(body["inputs"]) > 3:
                raise Refused(status, said)
            return tei(tiny)(path, body)

        server.answer = small
        assert right(table(judge))
        assert [len(b["inputs"]) for b in server.asked("/predict")] == [12, 6, 3, 3, 6, 3, 3]


def test_one_text_that_the_server_cannot_read_leaves_the_others(tiny, folder):
    def picky(path, body):
        if body is not None and any("w5" in first for first, _ in body["inputs"]):
            raise Refused(422, {"error": "`inputs` too long", "error_type": "Tokenizer"})
        return tei(tiny)(path, body)

    with ModelServer(picky) as server:
        book = Recorder()
        support = table(judge_at(server, folder), book)
        assert np.flatnonzero(np.isnan(support)).tolist() == [5]
        assert "too long" in repr(book.degradations[0].error)


def test_a_server_that_refuses_everything_is_not_asked_for_each_pair(tiny, folder):
    def refuses(path, body):
        if body is not None:
            raise Refused(422, {"error": "unknown field", "error_type": "Validation"})
        return tei(tiny)(path, body)

    with ModelServer(refuses) as server:
        with pytest.raises(JudgeError, match="unknown field"):
            table(judge_at(server, folder))
        assert len(server.asked("/predict")) <= 6


def changed(model, change):
    def answer(path, body):
        found = tei(model)(path, body)
        return change(found) if path == "/predict" else found

    return answer


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[1:], "11 rows for 12 pairs"),
        (lambda rows: rows * 2, "24 rows for 12 pairs"),
        (lambda rows: {"rows": rows}, "a dict for 12 pairs"),
        (lambda rows: [None] * len(rows), "another reply than expected"),
        (lambda rows: "<html>", "its reply is no JSON"),
        (lambda rows: [[{**e, "score": "x"} for e in row] for row in rows], "another reply"),
    ],
)
def test_another_reply_than_asked_for_is_said(change, message, tiny, folder):
    with ModelServer(changed(tiny, change)) as server:
        book = Recorder()
        assert np.isnan(table(judge_at(server, folder), book)).all()
        assert message in repr(book.degradations[0].error)


@pytest.mark.parametrize("value", [None, math.nan, math.inf], ids=str)
def test_what_is_no_number_is_no_verdict(value, tiny, folder):
    def broken(rows):
        return [[{**e, "score": value} for e in rows[0]], *rows[1:]]

    with ModelServer(changed(tiny, broken)) as server:
        book = Recorder()
        support = table(judge_at(server, folder), book)
        assert np.isnan(support).sum() == 1
        assert "1 of 12 pairs" in book.degradations[0].message


def test_a_slow_server_is_too_late(tiny, folder):
    with ModelServer(tei(tiny), lambda number, path: HELD) as server:
        sleeps = []
        judge = judge_at(server, folder, sleeps=sleeps, timeout=0.1, max_retries=1)
        with pytest.raises(JudgeError, match=r"no whole reply within 0\.1 s"):
            judge.check()
        assert len(sleeps) == 1  # a further attempt was made


def test_never_more_requests_than_allowed(tiny, folder):
    with ModelServer(tei(tiny), wait_for=2) as server:
        server.most_at_once = 2  # the check is alone
        judge = judge_at(server, folder, max_concurrency=2, batch_size=1)
        judge.check()
        server.most_at_once = 0
        assert right(table(judge))
        assert server.most_at_once == 2


def test_batches_hold_what_fits():
    sizes = [5, 100, 6, 7, 300, 8]
    assert list(batches(sizes, 3, 30)) == [[0, 2, 3], [5], [1], [4]]
    assert list(batches(sizes, 100, 10**9)) == [[0, 2, 3, 5, 1, 4]]
    assert list(batches([], 3, 30)) == []


KEY = "tk-9f8e7d6c5b4a3210ffeeddcc"


@pytest.mark.parametrize("key", [KEY, None])
def test_no_secret_is_in_what_is_said(key, tiny, folder):
    with ModelServer(tei(tiny)) as server:
        server.fault = lambda number, path: Refused(
            500, f"bad key {server.keys[-1]} of hunter2secret, {KEY}"
        )
        address = server.url.replace("://", "://user:hunter2secret@")
        judge = RemoteJudge(address, model=folder, api_key=key, max_retries=0)
        said = [judge.name, judge.revision]
        for _ in range(2):
            with pytest.raises(JudgeError) as caught:
                judge.check()
            assert "127.0.0.1" in str(caught.value)
            said += [repr(caught.value), repr(caught.value.__cause__)]
        sent = server.keys[0]
        assert sent == f"Bearer {KEY}" if key else sent.startswith("Basic ")
    for secret in ("hunter2", sent.split()[1], *([KEY] if key else [])):
        assert all(secret not in each for each in said)
    dead = RemoteEmbedder("http://u:hunter2secret@127.0.0.1:9", api_key=KEY, max_retries=0)
    with pytest.raises(RetrievalError) as caught:
        dead.embed_queries(["text"])
    assert "hunter2" not in str(caught.value)
    assert KEY not in repr(caught.value.__cause__)


@pytest.mark.parametrize("key", ["schlüssel-4711", "two\nlines-4711", "zero\0-4711"])
def test_a_key_that_no_request_can_carry_is_refused_at_once(key):
    with pytest.raises(ConfigError, match="characters that no HTTP header can") as caught:
        RemoteEmbedder("http://127.0.0.1:9", api_key=key)
    assert "4711" not in str(caught.value)


def test_the_line_end_of_a_key_from_a_file_is_none_of_it(tiny):
    with ModelServer(tei(tiny)) as server:
        client = Client(server.url, api_key=f"{KEY}\n")
        client.run(lambda: client.exchange("GET", "info"))
        assert server.keys == [f"Bearer {KEY}"]


def test_a_password_is_hidden_as_the_server_knows_it_too(tiny):
    refused = Refused(401, "wrong password p@ss-w/rd-4711 or as it stood, p%40ss-w%2Frd-4711")
    with ModelServer(tei(tiny), first("/info", refused)) as server:
        client = Client(server.url.replace("://", "://someone:p%40ss-w%2Frd-4711@"))
        with pytest.raises(ServerError, match="401") as caught:
            client.run(lambda: client.exchange("GET", "info"))
        assert "4711" not in str(caught.value)


def test_what_is_behind_one_host_has_names_of_its_own():
    address = "http://user:hunter2secret@host:8080"
    one, two = (RemoteEmbedder(f"{address}/{path}?key=hunter3secret") for path in "ab")
    assert (one.name, two.name) == ("embeddings@host:8080/a", "embeddings@host:8080/b")
    asked = RemoteEmbedder(f"{address}/a", passage_prefix="passage: ", query_prefix="query: ")
    assert asked.name not in (one.name, two.name)
    other = RemoteEmbedder(f"{address}/a", passage_prefix="p: ")
    assert other.name != asked.name


def embeds(path, body):
    if path == "/embed":
        conforms("tei", "embed", body)
        return conforms("tei", "embeddings", HashEmbedder().embed_passages(body["inputs"]).tolist())
    assert path == "/v1/embeddings", path
    conforms("vllm", "embed", body)
    rows = [
        {"object": "embedding", "index": place, "embedding": row.tolist()}
        for place, row in enumerate(HashEmbedder().embed_passages(body["input"]))
    ]
    reply = {"object": "list", "data": rows[::-1], "model": body["model"], "usage": {}}
    return conforms("vllm", "embeddings", reply)


TEXTS = ["cages are cruel", "", "zoos save species " * 30, "parks", " ", "zoos and parks"]


@pytest.mark.parametrize("engine", ["tei", "vllm", "openai"])
def test_embeddings_come_in_the_order_of_the_texts(engine):
    with ModelServer(embeds) as server:
        at = (
            {"address": server.url}
            if engine == "tei"
            else {"address": f"{server.url}/v1", "model": "m"}
        )
        embedder = RemoteEmbedder(**at, engine=engine, batch_size=2, query_prefix="query: ")
        rows = embedder.embed_passages(TEXTS)
        np.testing.assert_allclose(rows, HashEmbedder().embed_passages(TEXTS), atol=1e-6)
        assert len(server.paths) == 2
        queries = embedder.embed_queries(TEXTS[:1])
        np.testing.assert_allclose(
            queries, HashEmbedder().embed_passages([f"query: {TEXTS[0]}"]), atol=1e-6
        )
        embedder.close()
        assert embedder.embed_passages([" ", ""]).tolist() == np.zeros((2, rows.shape[1])).tolist()
    assert RemoteEmbedder(**at, engine=engine).embed_passages([]).shape == (0, 0)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ([[0.0, math.nan]], "not finite"),
        ([[1.0, 0.0], [1.0]], "shapes"),
        ([[]], "1 rows for 2 texts"),
        ({"error": "x"}, "a dict for 2 texts"),
    ],
)
def test_embeddings_that_cannot_be_used_are_refused(reply, message):
    with ModelServer(lambda path, body: reply) as server:
        embedder = RemoteEmbedder(server.url)
        with pytest.raises(RetrievalError, match=message):
            embedder.embed_queries(["a", "b"] if "2 texts" in message or len(reply) == 2 else ["a"])


def test_a_text_that_a_server_cannot_embed_fails_the_call():
    def picky(path, body):
        if any("bad" in each for each in body["inputs"]):
            raise Refused(413, {"error": "too long", "error_type": "Validation"})
        return embeds(path, body)

    with ModelServer(picky) as server:
        embedder = RemoteEmbedder(server.url)
        with pytest.raises(RetrievalError, match="too long"):
            embedder.embed_passages(["good", "bad", "better"])


def test_closed_connections_are_opened_again(tiny, folder):
    with ModelServer(tei(tiny)) as server:
        judge = judge_at(server, folder)
        assert right(table(judge))
        judge.close()
        assert right(table(judge))


def test_what_the_address_is_given_after_a_question_mark_stays_at_its_end(tiny):
    with ModelServer(lambda path, body: {}) as server:
        client = Client(f"{server.url}/base/?version=2#top")
        client.run(lambda: client.exchange("GET", "info"))
        client.run(lambda: client.exchange("GET", ""))
        assert server.paths == ["/base/info?version=2", "/base?version=2"]
        assert client.shown == f"{server.url}/base"
