"""A server on localhost that writes its reply piece by piece, and waits where it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class StreamingServer:
    """``pieces`` are the texts of the answer to prompts that name ``wanted``; None among them waits
    until the client is gone or the server ends. Anything else gets "no".
    """

    def __init__(self, wanted: str, pieces: Sequence[str | None]) -> None:
        self.wanted, self.pieces = wanted, pieces
        self.ended = threading.Event()
        self.bodies: list[dict[str, Any]] = []

    def __enter__(self) -> StreamingServer:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                owner.bodies.append(body)
                answers = owner.wanted in json.dumps(body["messages"])
                if body.get("stream"):
                    self._stream(owner.pieces if answers else ["no"])
                else:
                    self._whole("".join(p for p in owner.pieces if p) if answers else "no")

            def _stream(self, pieces: Sequence[str | None]) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.end_headers()
                try:
                    for piece in pieces:
                        if piece is None:
                            owner.ended.wait(60)
                            continue
                        delta = {"choices": [{"index": 0, "delta": {"content": piece}}]}
                        event = {"id": "1", "object": "chat.completion.chunk", "created": 1}
                        line = json.dumps({**event, "model": "m", **delta})
                        self.wfile.write(f"data: {line}\n\n".encode())
                        self.wfile.flush()
                    self.wfile.write(b"data: [DONE]\n\n")
                except OSError:
                    pass  # the client has gone away

            def _whole(self, text: str) -> None:
                message = {"role": "assistant", "content": text}
                choice = {"index": 0, "finish_reason": "stop", "message": message}
                made = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
                data = json.dumps({**made, "choices": [choice]}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.ended.set()
        self._server.shutdown()
        self._server.server_close()
