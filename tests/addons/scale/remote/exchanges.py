"""Exchanges with a real server: what is asked, recorded, and answered again from the record."""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.addons.scale.remote.servers import ModelServer, Refused

FOLDER = Path(__file__).parent / "recorded"
HOW = "if that is meant, record anew: python -m tests.addons.scale.remote.record URL"


@dataclass(frozen=True)
class Recording:
    """``exchanges`` in their order: method, path, request, status and answer, the last as JSON."""

    scenario: str
    engine: str
    version: str
    model: str
    files: str | None
    exchanges: list[dict[str, Any]]

    @classmethod
    def read(cls, scenario: str) -> Recording:
        return cls(**json.loads((FOLDER / f"{scenario}.json").read_text(encoding="utf-8")))

    def write(self) -> Path:
        path = FOLDER / f"{self.scenario}.json"
        path.write_text(json.dumps(vars(self), indent=1, ensure_ascii=False) + "\n", "utf-8")
        return path

    def of(self, path: str, status: int = 200) -> list[dict[str, Any]]:
        chosen = [e for e in self.exchanges if (e["path"], e["status"]) == (path, status)]
        assert chosen, f"no exchange of {path} with status {status}; {HOW}"
        return chosen


@dataclass
class Forwarding:
    """Hands each request on to a server, and keeps it with the answer."""

    target: str
    kept: list[dict[str, Any]] = field(default_factory=list)

    def server(self) -> ModelServer:
        return ModelServer(self.answer)

    def answer(self, path: str, body: Any) -> Any:
        method = "GET" if body is None else "POST"
        status, found = asked(f"{self.target}{path}", body)
        exchange = {"method": method, "path": path, "request": body, "status": status}
        self.kept.append({**exchange, "answer": _without_folders(found)})
        if status != 200:
            raise Refused(status, found)
        return found


def _without_folders(answer: Any) -> Any:
    """A list of models names the folders that they were loaded from, here by their last part."""
    for each in answer.get("data", []):
        if "root" in each:
            each["root"] = Path(each["root"]).name
    return answer


def asked(url: str, body: Any) -> tuple[int, Any]:
    """Status and JSON of one request."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=600) as reply:
            return reply.status, json.loads(reply.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


@dataclass
class Replay:
    """Answers as recorded, in the order of the record; ``problems`` are requests that were other
    ones, and ``left`` are exchanges that nobody asked for.
    """

    recording: Recording
    problems: list[str] = field(default_factory=list)
    _next: int = 0
    _lock: Any = field(default_factory=threading.Lock)

    def server(self) -> ModelServer:
        return ModelServer(self.answer)

    @property
    def left(self) -> list[str]:
        return [each["path"] for each in self.recording.exchanges[self._next :]]

    def answer(self, path: str, body: Any) -> Any:
        with self._lock:
            if self._next == len(self.recording.exchanges):
                self.problems.append(f"{path} was asked once more; {HOW}")
                raise Refused(404, {})
            exchange = self.recording.exchanges[self._next]
            self._next += 1
        if path != exchange["path"]:
            self.problems.append(f"asked {path}, recorded {exchange['path']}; {HOW}")
        elif difference := _difference(body, exchange["request"]):
            self.problems.append(f"{path}: {difference}; {HOW}")
        if exchange["status"] != 200:
            raise Refused(exchange["status"], exchange["answer"])
        return exchange["answer"]


def _difference(sent: Any, recorded: Any) -> str | None:
    """How a request differs from the recorded one. Token ids may be others, for the packaged
    judge may be another by now; how many texts there are may not.
    """
    if sent is None or recorded is None:
        return None if sent is recorded else f"sent {sent!r}, recorded {recorded!r}"
    if sent.keys() != recorded.keys():
        return f"sent the fields {sorted(sent)}, recorded {sorted(recorded)}"
    for name, value in sent.items():
        other = recorded[name]
        if name == "input" and _are_ids(value) and _are_ids(other) and len(value) == len(other):
            continue
        if value != other or type(value) is not type(other):
            return f"sent {name} {value!r:.300}, recorded {other!r:.300}"
    return None


def _are_ids(value: Any) -> bool:
    return bool(value) and all(
        isinstance(each, list) and each and all(type(i) is int for i in each) for each in value
    )


def form(value: Any) -> Any:
    """The names and types of a JSON value; of a list that of its first value."""
    if isinstance(value, Mapping):
        return {name: form(each) for name, each in value.items()}
    if isinstance(value, list):
        return [form(value[0])] if value else []
    return float if type(value) is float else type(value)
