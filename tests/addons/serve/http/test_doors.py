"""Who may ask, how often, how much, and what no reply ever holds."""

from __future__ import annotations

import asyncio
import base64
import re
import threading

import pytest

pytest.importorskip("fastapi")
httpx = pytest.importorskip("httpx")

from perspective_rag import ConfigError
from perspective_rag.types import Degradation
from perspective_rag_serve.admission import Admission, Rate
from perspective_rag_serve.app import PAGE
from perspective_rag_serve.failures import Failure, failure_of, told
from perspective_rag_serve.settings import ServeSettings
from tests.addons.serve.http.samples import QUESTION, client, pipeline, support_of

TOKEN = "correct-horse-battery-staple"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""]
)
async def test_a_name_that_may_be_pointed_here_is_refused(host):
    async with client() as http:
        for path in ("/", "/api/about", "/v1/models", "/mcp", "/metrics"):
            reply = await http.get(path, headers={"Host": host})
            assert reply.status_code == 400
            assert reply.json()["error"]["kind"] == "host"


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:8000", "127.0.0.1:8000", "[::1]:8000", "192.168.1.7", "rag.example"],
)
async def test_addresses_localhost_and_names_that_are_allowed_may_be_asked(host):
    async with client(hosts=("rag.example",)) as http:
        assert (await http.get("/api/about", headers={"Host": host})).status_code == 200


async def test_a_page_of_another_site_may_not_ask():
    async with client() as http:
        body = {"question": QUESTION}
        for headers in (
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site"},
        ):
            reply = await http.post("/api/ask", json=body, headers=headers)
            assert reply.status_code == 403
        own = {"Origin": "http://127.0.0.1", "Sec-Fetch-Site": "same-origin"}
        assert (await http.post("/api/ask", json=body, headers=own)).status_code == 200
        link = {"Sec-Fetch-Site": "cross-site"}
        assert (await http.get("/api/about", headers=link)).status_code == 200


async def test_without_the_token_nothing_is_told_but_that_it_lives():
    async with client(token=TOKEN) as http:
        for path in (
            "/",
            "/api/about",
            "/api/status",
            "/v1/models",
            "/metrics",
            "/mcp",
            "/api/openapi.json",
        ):
            reply = await http.get(path)
            assert reply.status_code == 401
            assert "Basic" in reply.headers["www-authenticate"]
        assert (await http.get("/healthz")).status_code == 200
        wrong = ["Bearer nope", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer", TOKEN, "Basic !!", "Basic " + base64.b64encode(b"a:b").decode(), "Bearer \u00e9"]  # fmt: skip
        for value in wrong:
            reply = await http.get("/api/about", headers={"Authorization": value.encode()})
            assert reply.status_code == 401
            assert TOKEN not in reply.text
        basic = base64.b64encode(f"anybody:{TOKEN}".encode()).decode()
        for value in (f"Bearer {TOKEN}", f"bearer {TOKEN}", f"Basic {basic}"):
            assert (
                await http.get("/api/about", headers={"Authorization": value})
            ).status_code == 200


def test_a_token_is_long_and_never_shown():
    with pytest.raises(ConfigError, match="16"):
        ServeSettings(token="short")
    assert TOKEN not in repr(ServeSettings(token=TOKEN))


async def test_a_body_that_is_too_large_is_refused_before_it_is_read():
    async with client(largest_body=1000) as http:
        large = await http.post("/api/ask", json={"question": "x" * 2000})
        assert large.status_code == 413

        async def chunks():
            for _ in range(50):
                yield b"x" * 100

        streamed = await http.post(
            "/api/ask", content=chunks(), headers={"Content-Type": "application/json"}
        )
        assert streamed.status_code == 413
        odd = await http.post("/api/ask", content=b"{}", headers={"Content-Length": "-1"})
        assert odd.status_code == 413


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe", b'{"question": "\\ud800"}', b"null", b"[" * 20_000]
)
async def test_a_body_that_is_no_question_is_refused(content):
    async with client() as http:
        reply = await http.post(
            "/api/ask", content=content, headers={"Content-Type": "application/json"}
        )
        assert reply.status_code in (400, 422)
        assert reply.json()["error"]["kind"] == "request"


async def test_more_than_may_wait_is_refused_with_the_time_to_come_back():
    thinking, go = threading.Event(), threading.Event()

    def slow(passage, side):
        thinking.set()
        assert go.wait(60)
        return support_of(passage, side)

    async with client(pipeline(rule=slow), running=1, waiting=1) as http:
        body = {"question": QUESTION}
        first = asyncio.create_task(http.post("/api/ask", json=body))
        assert await asyncio.to_thread(thinking.wait, 60)
        second = asyncio.create_task(http.post("/api/ask", json=body))
        context = http._transport.app.state.context
        while context.admission.waiting < 1:
            await asyncio.sleep(0.01)
        for path, further in (
            ("/api/ask", {}),
            ("/api/export", {"format": "json"}),
            ("/v1/chat/completions", None),
            ("/v1/rerank", None),
        ):
            full = body | further if further is not None else {
                "query": QUESTION, "documents": ["a"], "messages": [{"role": "user", "content": QUESTION}]
            }  # fmt: skip
            refused = await http.post(path, json=full, headers={"Accept": "text/event-stream"})
            assert refused.status_code == 429
            assert 1 <= int(refused.headers["retry-after"]) <= 60
            assert refused.json()["error"]["kind"] == "busy"
        assert "perspective_rag_waiting 1.0" in (await http.get("/metrics")).text
        go.set()
        assert (await first).status_code == (await second).status_code == 200
        while context.admission.running:  # until the last thread has ended
            await asyncio.sleep(0.01)
        assert context.admission.waiting == 0


async def test_an_answer_that_takes_too_long_is_given_up_and_leaves_its_place_when_it_has_ended():
    hanging = threading.Event()
    hanging.set()

    def hangs(passage, side):
        hanging.wait(60)
        return 0.5

    async with client(pipeline(rule=hangs), answer_seconds=1.0, running=1) as http:
        admission = http._transport.app.state.context.admission
        await http.post("/api/ask", json={"question": QUESTION})  # loads what the first one needs
        while admission.running:
            await asyncio.sleep(0.01)
        hanging.clear()
        reply = await http.post("/api/ask", json={"question": QUESTION})
        assert reply.status_code == 504
        assert admission.running == 1
        hanging.set()
        while admission.running:
            await asyncio.sleep(0.01)


async def test_one_address_may_ask_so_often_a_minute():
    async with client(per_minute=12) as http:
        replies = [await http.get("/api/about") for _ in range(4)]
        assert [each.status_code for each in replies] == [200, 200, 429, 429]
        assert int(replies[-1].headers["retry-after"]) >= 1
        assert (await http.get("/healthz")).status_code == 200


def test_the_rate_fills_up_again_and_addresses_do_not_pile_up():
    now = [0.0]
    rate = Rate(60, lambda: now[0])
    assert [rate.wait("a") for _ in range(11)] == [0] * 10 + [1]
    assert rate.wait("b") == 0
    now[0] += 2.0
    assert [bool(rate.wait("a")) for _ in range(3)] == [False, False, True]
    for number in range(10_050):
        rate.wait(str(number))
    assert len(rate._buckets) <= 10_000
    assert Rate(0).wait("a") == 0


async def test_permits_go_in_order_and_a_cancelled_wait_takes_none():
    admission = Admission(1, 5)
    order = []

    async def work(name):
        async with admission.permit():
            order.append(name)
            await asyncio.sleep(0)

    async with admission.permit():
        tasks = [asyncio.create_task(work(name)) for name in "abc"]
        await asyncio.sleep(0)
        assert admission.waiting == 3
        tasks[0].cancel()
        await asyncio.sleep(0)
    await asyncio.gather(*tasks, return_exceptions=True)
    assert order == ["b", "c"]
    assert (admission.running, admission.waiting) == (0, 0)
    admission = Admission(1, 0)
    async with admission.permit():
        with pytest.raises(Failure):
            admission.check()


async def test_every_reply_carries_the_policy_and_nothing_is_kept():
    async with client(token=TOKEN) as http:
        replies = [
            await http.get("/healthz"),
            await http.get("/api/about"),
            await http.get("/nowhere", headers={"Authorization": f"Bearer {TOKEN}"}),
            await http.get("/api/about", headers={"Host": "evil.example"}),
        ]
    for reply in replies:
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "no-referrer"
        assert reply.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    [
        "/page/../app.py",
        "/page/..%2fapp.py",
        "/page/%2e%2e/app.py",
        "/page/app.py",
        "/page/.hidden",
        "/etc/passwd",
        "/docs",
        "/redoc",
    ],
)
async def test_only_the_page_is_served(path):
    async with client() as http:
        reply = await http.get(path)
        assert reply.status_code == 404
        assert "import" not in reply.text


@pytest.mark.skipif(not (PAGE / "index.html").is_file(), reason="the page is not here")
async def test_the_page_needs_no_other_address_and_no_inline_script():
    async with client() as http:
        page = await http.get("/")
        assert page.headers["content-type"].startswith("text/html")
        for name, kind in (("app.js", "text/javascript"), ("style.css", "text/css")):
            part = await http.get(f"/page/{name}")
            assert part.headers["content-type"].startswith(kind)
            assert "http://" not in part.text.replace("http://www.w3.org", "")
    assert "<style" not in page.text
    assert "onclick" not in page.text
    scripts = re.findall(r"<script\b([^>]*)>(.*?)</script>", page.text, re.DOTALL)
    assert scripts
    assert all('src="/page/' in given and not within for given, within in scripts)


async def test_an_open_stream_of_tools_is_not_offered():
    async with client() as http:
        assert (await http.get("/mcp", headers={"Accept": "text/event-stream"})).status_code == 405


async def test_metrics_count_by_route_and_hold_no_question():
    async with client() as http:
        await http.post("/api/ask", json={"question": QUESTION})
        await http.get("/nowhere/zoos")
        text = (await http.get("/metrics")).text
    assert 'perspective_rag_requests_total{route="/api/ask",status="200"} 1.0' in text
    assert 'perspective_rag_requests_total{route="other",status="404"} 1.0' in text
    assert 'perspective_rag_results_total{standing="complete"} 1.0' in text
    assert "perspective_rag_judged_pairs_total 12.0" in text
    assert "perspective_rag_ready 1.0" in text
    assert "zoo" not in text.casefold()


@pytest.mark.parametrize(
    ("message", "error", "said"),
    [
        (
            "searching again failed: ConnectionError('db.internal down')",
            ConnectionError("db.internal down"),
            "guard: searching again failed",
        ),
        (
            "the file /home/anna/cache/verdicts.sqlite could not be read",
            None,
            "guard: the file a file could not be read",
        ),
        ("password=hunter2hunter2 was refused", None, "guard: password=*** was refused"),
        ("KeyError('x')", KeyError("x"), "guard"),
        (
            "3 for, 2 against: km/h and/or https://host.example/a/b",
            None,
            "guard: 3 for, 2 against: km/h and/or https://host.example/a/b",
        ),
    ],
)
def test_what_degraded_is_told_in_our_words(message, error, said):
    assert told(Degradation("guard", message, error)) == said


def test_an_unknown_error_shows_nothing_of_itself():
    failure = failure_of(RuntimeError("token sk-abcdefghijklmnop at /home/anna"))
    assert (failure.status, failure.message) == (500, "something went wrong in the server")
