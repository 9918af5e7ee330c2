"""A server on localhost that speaks the chat completions protocol and behaves as scripted."""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[[dict[str, Any], "OpenAIServer"], tuple[int, Any]]


def chat(text: str | None, *, logprobs: list[dict[str, float]] | None = None) -> tuple[int, Any]:
    """A completion; ``logprobs`` gives, for each token, the probabilities of its alternatives."""
    choice: dict[str, Any] = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
    }
    if logprobs is not None:
        choice["logprobs"] = {"content": [_token(each) for each in logprobs]}
    return 200, {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny",
        "choices": [choice],
        "usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
    }


def _token(probabilities: dict[str, float]) -> dict[str, Any]:
    top = [
        {"token": token, "logprob": math.log(p) if p else -9999.0, "bytes": None}
        for token, p in probabilities.items()
    ]
    return {**max(top, key=lambda each: each["logprob"]), "top_logprobs": top}


def failure(status: int, message: str) -> tuple[int, Any]:
    return status, {"error": {"message": message, "type": "invalid_request_error", "code": None}}


def echo(body: dict[str, Any], server: OpenAIServer) -> tuple[int, Any]:
    """The last message, in angle brackets."""
    return chat(f"<{body['messages'][-1]['content']}>")


def rejects(field_name: str, *, status: int = 400) -> Behaviour:
    """Refuses requests that have the field; otherwise echoes."""

    def behave(body: dict[str, Any], server: OpenAIServer) -> tuple[int, Any]:
        if field_name in body:
            return failure(status, f"{field_name} is not supported")
        return echo(body, server)

    return behave


def fails_first(times: int, status: int = 500) -> Behaviour:
    def behave(body: dict[str, Any], server: OpenAIServer) -> tuple[int, Any]:
        if len(server.bodies) <= times:
            return failure(status, "overloaded")
        return echo(body, server)

    return behave


def hangs(seconds: float) -> Behaviour:
    def behave(body: dict[str, Any], server: OpenAIServer) -> tuple[int, Any]:
        server.released.wait(seconds)
        return echo(body, server)

    return behave


def nonsense(body: dict[str, Any], server: OpenAIServer) -> tuple[int, Any]:
    return 200, "<html>bad gateway</html>"


@dataclass
class OpenAIServer:
    """``behaviour`` answers each request body; ``bodies`` and ``keys`` record what was sent."""

    behaviour: Behaviour = echo
    delay: float = 0.0
    bodies: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    most_at_once: int = 0
    released: threading.Event = field(default_factory=threading.Event)
    _open: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> OpenAIServer:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                with owner._lock:
                    owner.bodies.append(body)
                    owner.keys.append(self.headers.get("Authorization", ""))
                    owner._open += 1
                    owner.most_at_once = max(owner.most_at_once, owner._open)
                time.sleep(owner.delay)
                status, answer = owner.behaviour(body, owner)
                with owner._lock:
                    owner._open -= 1
                data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
                kind = "text/html" if isinstance(answer, str) else "application/json"
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    self.close_connection = True  # the client has gone away

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
