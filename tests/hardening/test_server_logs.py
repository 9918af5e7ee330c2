"""Nothing of a request is in a log: a marked word goes through every door and every failure, with
every logger at its lowest level, and what the server's handler wrote is searched for it.
"""

from __future__ import annotations

import io
import json
import logging

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("mcp")
uvicorn = pytest.importorskip("uvicorn")

from perspective_rag import PerspectivePipeline
from perspective_rag.errors import ConfigError, RetrievalError
from perspective_rag.flow.driver import in_thread
from perspective_rag.testing import MemoryStore
from perspective_rag_serve.logs import Careful, Known, answering, log_to_stderr, places
from tests.addons.serve.http.samples import PASSAGES, QUESTION, ZooJudge, support_of
from tests.hardening.serving import head, running, until

MARK = "xyzzyquux"
ASKED = f"Should {MARK} be closed?"
TEXTS = [f"{MARK} should be closed.", f"{MARK} helps."]


def question(text):
    """What each door asks of a text, and what is wrong with it in ways of its own."""
    ask = {"question": text}
    rpc = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}

    def tool(name, **arguments):
        return {**rpc, "params": {"name": name, "arguments": {"question": text, **arguments}}}

    return [
        ("/api/ask", ask),
        ("/api/ask", {**ask, MARK: MARK}),
        ("/api/ask", {**ask, "k": MARK}),
        ("/api/ask", {**ask, "k": 10**6}),
        ("/api/ask", {**ask, "perspectives": [{"text": MARK}, {"text": ""}]}),
        ("/api/ask", {"question": text * 100}),
        ("/api/export", {**ask, "format": MARK}),
        ("/api/export", {**ask, "format": "html"}),
        ("/api/review", {**ask, "perspective": MARK, "passage_id": MARK}),
        ("/v1/rerank", {"query": text, "documents": TEXTS}),
        ("/v1/rerank", {"query": text, "documents": [MARK, 1, None]}),
        ("/v1/rerank", {"query": text, "documents": TEXTS, "perspectives": [MARK, MARK]}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": text}]}),
        ("/v1/chat/completions", {"messages": [{"role": MARK, "content": text}]}),
        ("/v1/models/" + MARK, ask),
        (f"/{MARK}", ask),
        ("/mcp", tool("judge_support", passages=TEXTS)),
        ("/mcp", tool("audit_retrieval", passages=TEXTS)),
        ("/mcp", tool("search_perspectives")),
        ("/mcp", tool("search_perspectives", k=MARK)),
        ("/mcp", tool("search_perspectives", perspectives=[MARK * 100])),
        ("/mcp", tool(MARK)),
        ("/mcp", {**rpc, "method": MARK, "params": {MARK: MARK}}),
        ("/mcp", {MARK: MARK}),
    ]


def request(path, body):
    data = json.dumps(body).encode()
    accept = "application/json, text/event-stream"
    named = {"Accept": accept, "X_Marked": MARK, "Authorization": f"Bearer {MARK}"}
    return head(path, Content_Length=len(data), Connection="close", **named) + data


def sound():
    """One request at each door that is answered."""
    bodies = question(ASKED)
    return [request(*bodies[place]) for place in (0, 7, 9, 12, 16, 18)]


def requests():
    for path, body in question(ASKED):
        yield request(path, body)
    whole = json.dumps({"question": ASKED}).encode()
    yield from (
        head("/api/ask", Host=MARK, Content_Length=2, Connection="close") + b"{}",
        head("/api/ask", Origin=f"http://{MARK}", Content_Length=2, Connection="close") + b"{}",
        head("/api/ask", Content_Length=MARK, Connection="close"),
        head("/api/ask", Content_Length=10**9, X=MARK, Connection="close"),
        head("/api/ask", Content_Length=len(whole) - 1, Connection="close") + whole[:-1],
        head("/api/ask", Content_Length=9, Connection="close") + b"\xff" + MARK[:8].encode(),
        head(f"/{MARK}?{MARK}", method="GET", Connection="close"),
        f"{MARK} {MARK} {MARK}\r\n\r\n".encode(),
        f"GET / HTTP/1.1\r\n{MARK}\r\n\r\n".encode(),
        head("/", method="GET", X=MARK * 10_000, Connection="close"),
        head("/", method="GET", Upgrade=MARK)[:-2] + b"Connection: upgrade, close\r\n\r\n",
    )


class Failing(MemoryStore):
    """A store and a judge that say the question again when they fail."""

    __slots__ = ("error",)

    def search(self, text, vector, **wanted):
        logging.getLogger("a.store").warning("searching for %s", text)
        logging.getLogger("perspective_rag.a.store").warning("searching for %s", text)
        if self.error is not None:
            raise self.error(f"{text} {MARK}")
        return super().search(text, vector, **wanted)

    async def asearch(self, *given, **wanted):
        return await in_thread(self.search, *given, **wanted)


FAILURES = {
    "nothing": None,
    "any": RuntimeError,
    "config": ConfigError,
    "retrieval": RetrievalError,
    "system": lambda text: OSError(2, text, text),
    "time": TimeoutError,
    "recursion": RecursionError,
    "memory": MemoryError,
}


def broken(passage, side):
    raise ValueError(f"{passage.text} {side.text} {MARK}")


@pytest.fixture
def log():
    """What the server's handler wrote, with every logger at its lowest level."""
    root, stream = logging.getLogger(), io.StringIO()
    before, levels = root.handlers[:], {}
    log_to_stderr()
    (handler,) = set(root.handlers) - set(before)
    handler.setStream(stream)
    everyone = [root, *map(logging.getLogger, list(root.manager.loggerDict))]
    for each in everyone:
        levels[each] = each.level
        each.setLevel(1)
    yield stream
    root.removeHandler(handler)
    for each, level in levels.items():
        each.setLevel(level)


@pytest.mark.parametrize(
    ("failure", "rule"), [(each, support_of) for each in FAILURES] + [("nothing", broken)]
)
def test_a_marked_word_is_in_no_log(log, failure, rule):
    store = Failing(PASSAGES, takes_vector=False)
    store.error = FAILURES[failure]
    with running(PerspectivePipeline(store, judge=ZooJudge(rule))) as server:
        for name in list(logging.getLogger().manager.loggerDict):
            if not name.startswith("concurrent"):
                logging.getLogger(name).setLevel(1)
        every = failure == "nothing" and rule is support_of
        replies = [server.raw(each) for each in (requests() if every else sound())]
        with server.connected() as left:  # one that leaves in the middle
            left.sendall(next(requests())[:-5])
        until(lambda: not server.connections.working)
    assert len(replies) > (30 if every else 5)
    written = log.getvalue()
    assert "searching for <str>" in written  # it does log
    for form in (MARK, MARK.upper(), MARK.encode().hex()):
        found = [line for line in written.splitlines() if form in line]
        assert not found, found[:5]


# ------------------------------------------------------------------ the formatter


def formatted(name, message, *args, level=logging.ERROR, error=None):
    information = (type(error), error, error.__traceback__) if error is not None else None
    record = logging.LogRecord(name, level, __file__, 1, message, args, information)
    return Careful("%(levelname)s:     %(message)s").format(record)


def raised(error):
    try:
        raise error
    except Exception as caught:
        return caught


def test_an_error_is_its_kinds_and_places():
    try:
        try:
            raise KeyError(MARK)
        except KeyError as cause:
            raise OSError(13, MARK, f"/{MARK}") from cause
    except OSError as error:
        said = places(error)
    assert MARK not in said
    assert said.startswith("PermissionError (Permission denied) at test_server_logs.py:")
    assert "caused by KeyError at test_server_logs.py:" in said


def test_what_others_log_is_a_place():
    for level in (logging.DEBUG, logging.ERROR):
        said = formatted("mcp.server", MARK, level=level)
        assert MARK not in said
        assert "mcp.server" in said
        assert "test_server_logs.py:1" in said
    said = formatted("asyncio", "%s", MARK, error=raised(ValueError(MARK)))
    assert MARK not in said
    assert "ValueError at test_server_logs.py" in said


def test_before_a_request_what_the_library_warns_of_is_said():
    assert (
        formatted("perspective_rag.corpus", "%s: no text", "a.txt") == "ERROR:     a.txt: no text"
    )


async def test_within_a_request_only_constants_numbers_and_kinds_are():
    answering()
    said = formatted("perspective_rag.a", "%s %d %s %r", MARK, 3, Known("known"), ValueError(MARK))
    assert said.startswith("ERROR:     <str> 3 known ")
    assert MARK not in said
    assert formatted("perspective_rag.a", "%d", MARK) == "ERROR:     %d"
    assert "\x1b" not in formatted("perspective_rag.a", "%s", Known("\x1b[2J"))
    assert QUESTION not in formatted("perspective_rag.a", "%s", QUESTION)
