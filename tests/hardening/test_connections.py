"""Clients that send without end, slowly, too much, or not at all: before anything of theirs is
read, and whoever else asks meanwhile is answered."""

from __future__ import annotations

import json
import select
import socket
import time

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("mcp")
uvicorn = pytest.importorskip("uvicorn")

from perspective_rag_serve import bodies, connections
from tests.addons.serve.http.samples import QUESTION, pipeline
from tests.hardening.serving import PATIENCE, head, received, running, status_of, until

ASK = json.dumps({"question": QUESTION}).encode()
DOORS = ["/api/ask", "/api/export", "/api/review", "/v1/rerank", "/v1/chat/completions", "/mcp"]


@pytest.fixture(scope="module")
def server():
    with running(pipeline()) as found:
        yield found


@pytest.fixture
def impatient(monkeypatch):
    """Time limits of a fraction of a second."""
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    monkeypatch.setattr(connections, "READING_SECONDS", 0.5)
    monkeypatch.setattr(bodies, "_GRACE", 0.5)


# ------------------------------------------------------------------ heads


@pytest.mark.parametrize(
    "start",
    [
        b"GET / HTTP/1.1\r\nX: ",
        b"GET /",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"",
        head(Transfer_Encoding="chunked")[:-2] + b"\r\n1;",
        head(Transfer_Encoding="chunked")[:-2] + b"\r\n0\r\nX: ",
    ],
    ids=["header", "path", "headers", "line", "chunk extension", "trailer"],
)
@pytest.mark.parametrize("piece", [b"x" * 65536, b"X: y\r\n" * 10_000])
def test_a_head_without_end_is_ended_after_64_kb(server, start, piece):
    with server.connected() as found:
        found.sendall(start)
        sent = 0
        try:
            while sent < 4_000_000:
                found.sendall(piece)
                sent += len(piece)
                if sent > 200_000:
                    time.sleep(0.005)
        except OSError:
            pass
        assert sent < 4_000_000, "it was all taken"
    assert server.health() == 200


@pytest.mark.parametrize("size", [1_000, 60_000])
def test_a_head_below_the_limit_is_read(server, size):
    data = head("/healthz", method="GET", X="x" * size, Connection="close")
    assert status_of(server.raw(data)) == 200


@pytest.mark.parametrize("size", [66_000, 150_000, 1_000_000])
def test_a_head_above_the_limit_is_refused_also_when_it_comes_at_once(server, size):
    data = head("/healthz", method="GET", X="x" * (size + 20_000), Connection="close")
    assert status_of(server.raw(data)) in (0, 400)


def test_a_head_that_comes_slowly_ends_in_time(impatient):
    with running(pipeline()) as server, server.connected() as found:
        started = time.monotonic()
        try:
            for byte in head():
                found.sendall(bytes([byte]))
                time.sleep(0.1)
                assert time.monotonic() - started < PATIENCE
        except OSError:
            return
        pytest.fail("the head was taken")


def test_a_connection_that_says_nothing_ends(impatient):
    with running(pipeline()) as server:
        with server.connected() as found:
            assert received(found) == b""
        # Nor one that has asked once; on a busy machine it may end before its head is sent.
        until(lambda: status_of(server.raw(head("/healthz", method="GET"))) == 200)
        until(lambda: not server.server.server_state.connections)


# ------------------------------------------------------------------ how many


def test_idle_connections_lock_nobody_out():
    with running(pipeline(), most=30) as server:
        opened = []
        for number in range(200):
            opened.append(server.connected())
            if number % 3 == 0:
                opened[-1].sendall(head()[: number % 40])
        assert server.health() == 200
        assert status_of(server.raw(head(Content_Length=len(ASK), Connection="close") + ASK)) == 200
        held = len(server.server.server_state.connections)
        assert held <= 30 + connections.RESERVE
        for each in opened:
            each.close()


def test_one_address_has_so_many_connections_and_loses_its_own_oldest():
    with running(pipeline(), per_address=10) as server:
        opened = [server.connected() for _ in range(30)]
        assert server.health() == 200
        until(lambda: len(server.server.server_state.connections) <= 10)
        assert received(opened[0]) == b""  # the oldest
        opened[-1].sendall(head("/healthz", method="GET", Connection="close"))
        assert status_of(received(opened[-1])) == 200
        for each in opened:
            each.close()


def test_requests_under_way_leave_room_for_health_checks():
    with running(pipeline(), most=5) as server:
        slow = [server.connected() for _ in range(20)]
        for each in slow:
            each.sendall(head(Content_Length=1000) + b"{")
        until(lambda: server.connections.working >= 5)
        assert server.health() == 200
        refused = server.raw(head("/api/about", method="GET", Connection="close"))
        assert status_of(refused) == 503
        for each in slow:
            each.close()
        until(lambda: server.connections.working == 0)
        assert server.connections._open.total() <= 1


# ------------------------------------------------------------------ bodies


@pytest.mark.parametrize("kept", ["close", "keep-alive"])
def test_why_a_body_is_refused_reaches_a_client_that_goes_on_sending(server, kept):
    length = 3_000_000
    for _ in range(10):
        with server.connected() as found:
            found.sendall(head(Content_Length=length, Connection=kept))
            reply = b""
            while b"}}" not in reply:
                reply += found.recv(65536)
            for _ in range(10):
                found.sendall(b" " * (length // 10))  # no reset
            found.shutdown(socket.SHUT_WR)
            assert status_of(reply + received(found)) == 413
    until(lambda: not server.connections._open)


@pytest.mark.parametrize("path", DOORS)
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_comes_slowly_ends_in_time(impatient, path, chunked):
    with running(pipeline()) as server, server.connected() as found:
        length = {"Transfer_Encoding": "chunked"} if chunked else {"Content_Length": 10_000}
        started = time.monotonic()
        try:  # on a busy machine the connection may end before its head is sent
            found.sendall(head(path, Connection="close", **length))
            while time.monotonic() - started < PATIENCE:
                found.sendall(b"1\r\n{\r\n" if chunked else b"{")
                time.sleep(0.1)
        except OSError:
            pass
        assert time.monotonic() - started < PATIENCE


def test_the_whole_of_a_body_has_one_time_limit(monkeypatch, impatient):
    monkeypatch.setattr(bodies, "BODY_SECONDS", 1.0)
    with running(pipeline()) as server, server.connected() as found:
        started = time.monotonic()
        try:
            found.sendall(head("/v1/rerank", Content_Length=3_900_000, Connection="close"))
            while time.monotonic() - started < PATIENCE:  # fast enough at every moment
                found.sendall(b" " * 20_000)
                time.sleep(0.2)
        except OSError:
            pass
        assert time.monotonic() - started < PATIENCE


def test_bodies_in_memory_have_a_limit_together_and_small_ones_pass(monkeypatch):
    monkeypatch.setattr(bodies, "_PIECES", 1)
    with running(pipeline(), largest_body=1_000_000) as server:
        opened = [server.connected() for _ in range(8)]
        for each in opened:
            each.sendall(head("/v1/rerank", Content_Length=900_000, Connection="close"))
            each.sendall(b" " * 400_000)
        until(lambda: len(select.select(opened, [], [], 0)[0]) >= 5)
        told = select.select(opened, [], [], 1)[0]
        assert {status_of(received(each)) for each in told} == {503}
        assert len(told) < len(opened)  # the others go on waiting for the rest
        ask = head(Content_Length=len(ASK), Connection="close") + ASK
        assert status_of(server.raw(ask)) == 200
        for each in opened:
            each.close()


ODD_JSON = {
    "UTF-16": (ASK.decode().encode("utf-16"), 422),
    "UTF-16 without a mark": (ASK.decode().encode("utf-16-le"), 422),
    "UTF-32": (ASK.decode().encode("utf-32"), 422),
    "half a pair": (b'{"question": "zoos \\ud800"}', 422),
    "half a pair, behind a pair": (b'{"question": "\\ud83d\\ude00\\ude00"}', 422),
    "names": (json.dumps({f"{number:x}": 1 for number in range(60_000)}).encode(), 413),
    "names within": (b'{"question": {' + b'"":1,' * 39_000 + b'"":1}}', 413),
    "lists": (b"[" * 90_000 + b"]" * 90_000, 413),
}


@pytest.mark.parametrize("what", ODD_JSON)
@pytest.mark.parametrize("path", DOORS)
def test_json_of_odd_forms_is_refused_at_every_door(server, path, what):
    body, expected = ODD_JSON[what]
    accept = "application/json, text/event-stream"
    data = head(path, Content_Length=len(body), Accept=accept, Connection="close") + body
    reply = server.raw(data)
    assert status_of(reply) == expected
    assert b'"error"' in reply


@pytest.mark.parametrize("path", DOORS)
def test_a_body_above_what_a_door_takes_is_refused_without_being_read(server, path, monkeypatch):
    monkeypatch.setattr(connections, "_LINGER", 0.5)
    most = 200_000 if path.startswith("/api") else 4_000_000
    reply = server.raw(head(path, Content_Length=most + 1, Connection="close"))
    assert status_of(reply) == 413
    with server.connected() as found:  # also where the client goes on sending, keeping it open
        found.sendall(head(path, Content_Length=10**9))
        sent = 0
        try:
            while sent < 10**8:
                found.sendall(b" " * 65536)
                sent += 65536
                time.sleep(0.01)
        except OSError:
            pass
        assert sent < 10**8


# ------------------------------------------------------------------ replies, names


def test_a_client_that_does_not_read_is_not_waited_for(monkeypatch):
    monkeypatch.setattr(connections, "READING_SECONDS", 0.5)
    long = [{"text": f"Zoos {number} " + "x" * 90_000} for number in range(40)]
    body = json.dumps({"query": QUESTION, "documents": long, "return_documents": True}).encode()
    with running(pipeline(), largest_body=8_000_000) as server, server.connected() as found:
        found.sendall(head("/v1/rerank", Content_Length=len(body)) + body)
        until(lambda: server.context.metrics is not None and not server.connections.working)
        until(lambda: not server.server.server_state.connections)


HOSTS = {
    "localhost:80@evil": False,
    "127.0.0.1@evil": False,
    "localhost:x": False,
    "localhost:": False,
    "localhost:1:2": False,
    "[::1": False,
    "::1": False,
    "[::1]evil": False,
    "[127.0.0.1]:8000x": False,
    "localhost/evil": False,
    "localhost,evil": False,
    "localhost evil": False,
    "evil.example": False,
    "127.0.0.1.evil.example": False,
    "localhost.": False,
    "localhost:123456": False,
    "": False,
    "localhost": True,
    "LOCALHOST:8000": True,
    "127.0.0.1:1": True,
    "[::1]:8000": True,
}


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_has_one_form(server, host):
    reply = server.raw(head("/api/about", method="GET", Host=host, Connection="close"))
    assert status_of(reply) == (200 if HOSTS[host] else 400)


@pytest.mark.parametrize(
    "origin", ["http://[", "http://[::1", "null", "", "x", "http://127.0.0.1@evil", "://127.0.0.1x"]
)
def test_an_origin_of_an_odd_form_is_refused(server, origin):
    reply = server.raw(head(Origin=origin, Content_Length=len(ASK), Connection="close") + ASK)
    assert status_of(reply) == 403


def test_nothing_is_upgraded_to_another_protocol(server):
    upgrade = {"Upgrade": "websocket", "Sec_WebSocket_Key": "x" * 24, "Sec_WebSocket_Version": 13}
    data = head("/healthz", method="GET", **upgrade)[:-2] + b"Connection: upgrade, close\r\n\r\n"
    assert status_of(server.raw(data)) == 200
