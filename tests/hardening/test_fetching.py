"""Fetching is bounded in time, bytes and reach, whatever a server does; only 127.0.0.1 is asked."""

from __future__ import annotations

import gc
import json
import socket
import threading
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from benchmarks.web.addresses import is_public
from benchmarks.web.corpora import WebCorpus
from benchmarks.web.pages import PageFetcher, PageRefused, RawPage
from benchmarks.web.reading import PageReader
from benchmarks.web.search_results import JsonSearch, WebResult
from perspective_rag.errors import RetrievalError
from tests.hardening.watchdog import ends

pytest.importorskip("httpx")
PROSE = "The canal brought trade to the town, and its people argued about who should pay for it. "


@contextmanager
def raw_server(answer):
    """A server whose connections are handled by ``answer(socket)``; gives its port."""
    listening = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve(connection):
        with connection:
            try:
                connection.recv(65_536)
                answer(connection, ended)
            except OSError:
                pass

    def accept():
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listening.getsockname()[1]
    finally:
        ended.set()
        listening.close()


def drips_headers(connection, ended):
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    number = 0
    while not ended.wait(0.05):
        number += 1
        connection.sendall(b"X-%d: y\r\n" % number)


def drips_body(connection, ended):
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
    while not ended.wait(0.05):
        connection.sendall(b"x")


def says_nothing(connection, ended):
    ended.wait()


def endless_headers(connection, ended):
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while not ended.is_set():
        connection.sendall(b"X: " + b"y" * 60_000 + b"\r\n")


@pytest.mark.parametrize("answer", [drips_headers, drips_body, says_nothing])
def test_the_time_of_a_page_counts_for_all_of_it_and_frees_its_host(answer):
    with raw_server(answer) as port:
        fetcher = PageFetcher(seconds=0.4, allow_private=True, respect_robots=False)
        for path in "ab":  # the second one needs the host's lock
            with pytest.raises(RetrievalError, match="took longer") as caught:
                ends(partial(fetcher.fetch, f"http://127.0.0.1:{port}/{path}"))
            assert not isinstance(caught.value, PageRefused)


@pytest.mark.parametrize("answer", [drips_headers, drips_body, says_nothing, endless_headers])
def test_the_time_of_a_search_counts_for_all_of_it(answer):
    with raw_server(answer) as port:
        engine = JsonSearch(f"http://127.0.0.1:{port}/s", timeout=0.4)
        with pytest.raises(RetrievalError, match="no search results"):
            ends(lambda: engine.find("q", 5))


class Site(BaseHTTPRequestHandler):
    """Answers with what ``server.pages`` holds for the path: (status, headers, body)."""

    def do_GET(self):
        self.server.asked.append(self.path)
        status, headers, body = self.server.pages.get(self.path.partition("?")[0], (404, {}, b""))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def site():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.asked, server.pages = [], {}
    server.base = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


PAGE = f"<html><body><article><h1>The canal</h1><p>{PROSE * 12}</p></article></body></html>"
GOOD = (200, {"Content-Type": "text/html"}, PAGE.encode())


class Found:
    """A search engine with these results."""

    name = "found"

    def __init__(self, *urls):
        self.urls = urls

    def find(self, question, count):
        return [WebResult(url) for url in self.urls]


BAD = [
    "http://[bad/",
    "http://",
    "http://a:99999999/",
    "http://\x00/",
    "http://a b/",
    "//x",
    "http:///x",
]


@pytest.mark.parametrize("url", BAD)
def test_what_is_no_address_is_refused(url, site):
    with pytest.raises(PageRefused):
        PageFetcher(allow_private=True).fetch(url)


def test_bad_addresses_cost_no_other_page(site, tmp_path):
    pytest.importorskip("trafilatura")
    site.pages = {"/good": GOOD, "/moved": (302, {"Location": "http://[bad/"}, b"")}
    corpus = WebCorpus(
        Found(*BAD, f"{site.base}/moved", f"{site.base}/good"),
        tmp_path,
        fetcher=PageFetcher(allow_private=True),
    )
    assert {p.metadata["url"] for p in corpus.passages("q")} == {f"{site.base}/good"}
    assert len(corpus.problems) == len(BAD) + 1


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "::1", "::",
     "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1",
     "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::", "2002:a00:1::1",
     "2001:0:1:2:3:4:5:6", "224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1"],
)  # fmt: skip
def test_addresses_that_are_private_in_any_form(address):
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::5db8:d822"]
)
def test_addresses_of_the_public_internet(address):
    assert is_public(address)


def test_a_name_that_changes_its_address_is_asked_for_once(site, monkeypatch):
    """DNS rebinding: public when it is checked, private when it is connected to."""
    answers = iter(["93.184.216.34", "127.0.0.1", "127.0.0.1"])
    connected = []

    def resolve(host, port, *args, **kwargs):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    def connect(self, host, port, *args, **kwargs):
        import httpcore

        connected.append(host)
        raise httpcore.ConnectError("not here")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr("httpcore.SyncBackend.connect_tcp", connect)
    with pytest.raises(RetrievalError):
        PageFetcher(respect_robots=False).fetch(f"http://rebind.example:{site.server_port}/good")
    assert connected == ["93.184.216.34"]
    assert site.asked == []


def test_one_private_address_among_public_ones_is_enough_to_refuse(monkeypatch):
    found = [(socket.AF_INET, 1, 6, "", (a, 80)) for a in ("93.184.216.34", "127.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: found)
    with pytest.raises(PageRefused, match="private network"):
        PageFetcher(respect_robots=False).fetch("http://both.example/")


def test_robots_that_fail_for_now_are_asked_for_again(site, tmp_path, monkeypatch):
    pytest.importorskip("trafilatura")
    site.pages = {"/good": GOOD, "/robots.txt": (503, {}, b"")}
    fetcher = PageFetcher(allow_private=True)
    corpus = WebCorpus(Found(f"{site.base}/good"), tmp_path, fetcher=fetcher)
    with pytest.raises(RetrievalError) as caught:
        fetcher.fetch(f"{site.base}/good")
    assert not isinstance(caught.value, PageRefused)
    with pytest.raises(Exception, match=r"robots\.txt"):
        corpus.passages("q")
    assert site.asked.count("/robots.txt") == 1  # not for each page
    monkeypatch.setattr("benchmarks.web.pages._ROBOTS_RETRIED", 0.0)
    corpus.fetcher = PageFetcher(allow_private=True)
    for _ in range(2):
        with pytest.raises(Exception, match=r"robots\.txt"):
            corpus.passages("q")
    site.pages["/robots.txt"] = (200, {}, b"")
    assert corpus.passages("q")


def test_a_long_robots_txt_counts_as_far_as_it_is_read(site):
    rules = b"User-agent: *\nDisallow: /private\n" + b"# comment\n" * 300_000
    site.pages = {"/robots.txt": (200, {}, rules), "/private": GOOD, "/good": GOOD}
    fetcher = PageFetcher(allow_private=True)
    with pytest.raises(PageRefused, match="forbids"):
        fetcher.fetch(f"{site.base}/private")
    assert fetcher.fetch(f"{site.base}/good").body


@pytest.mark.parametrize(
    "line", ["Disallow: http://[bad/", "Crawl-delay: ²", "Disallow: %ff%", ":"]
)
def test_lines_of_robots_txt_that_cannot_be_read_are_left_out(site, line):
    rules = f"User-agent: *\n{line}\nDisallow: /private\n".encode()
    site.pages = {"/robots.txt": (200, {}, rules), "/private": GOOD, "/good": GOOD}
    fetcher = PageFetcher(allow_private=True)
    assert fetcher.fetch(f"{site.base}/good").body
    with pytest.raises(PageRefused, match="forbids"):
        fetcher.fetch(f"{site.base}/private")


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 200_000,
        b'{"results":' * 900 + b"[]" + b"}" * 900,
        b'{"results": 1, "data": {"a": ' + b"[" * 900 + b"]" * 900 + b"}}",
        b"x" * 20_000_000,
        b'{"results": [{"url": 5, "title": {}}, 7, null, {"url": "javascript:x"}]}',
        b"null",
        b"\xff\xfe",
        b'"' + b"9" * 10_000 + b'"',
        b"9" * 10_000,
    ],
    ids=[
        "open lists",
        "deep",
        "deep inside",
        "long",
        "odd rows",
        "null",
        "bytes",
        "text",
        "number",
    ],
)
def test_a_search_reply_of_any_shape_ends_in_results_or_a_retrieval_error(site, body):
    site.pages = {"/s": (200, {"Content-Type": "application/json"}, body)}
    found: list[object] = []
    with suppress(RetrievalError):
        found = JsonSearch(f"{site.base}/s").find("q", 5)
    assert found == []


def test_results_are_found_where_engines_put_them(site):
    rows = [{"link": "http://a.example/", "name": "A"}]
    body = json.dumps({"webPages": {"value": rows}}).encode()
    site.pages = {"/s": (200, {}, body)}
    assert JsonSearch(f"{site.base}/s").find("q", 5) == [WebResult("http://a.example/", "A")]


NEVER = "import time; print('{}', flush=True); time.sleep(60)"
DIES = "import os; print('{}', flush=True); input(); os._exit(11)"


@pytest.mark.parametrize(
    "process", [NEVER, DIES, "raise SystemExit", "import time; time.sleep(60)"]
)
def test_a_page_that_cannot_be_parsed_in_time_is_refused_and_the_next_one_is_read(
    process, monkeypatch
):
    pytest.importorskip("trafilatura")
    page = RawPage("http://a.example/", PAGE.encode(), None, "text/html")
    reader = PageReader(seconds=20.0)
    with monkeypatch.context() as patched:
        patched.setattr("benchmarks.web.reading._SERVE", process)
        patched.setattr("benchmarks.web.reading._START", 0.5)
        reader.seconds = 0.5
        with pytest.raises(PageRefused, match="cannot be parsed"):
            reader.read(page)
    reader.seconds = 20.0
    title, text = reader.read(page)
    assert "The canal brought trade" in text
    kept = reader._process
    assert reader.read(page) == (title, text)
    assert reader._process is kept
    reader.close()
    assert kept.poll() is not None


def test_the_process_ends_with_its_reader():
    pytest.importorskip("trafilatura")
    reader = PageReader()
    reader.read(RawPage("http://a.example/", b"text \xff", None, "text/plain"))
    process = reader._process
    del reader
    gc.collect()
    assert process.poll() is not None


def test_a_proxy_that_the_environment_names_is_used(site, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, site.base)
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    site.pages = {"http://far.example/good": GOOD}
    assert PageFetcher(respect_robots=False).fetch("http://far.example/good").body
    assert site.asked == ["http://far.example/good"]
