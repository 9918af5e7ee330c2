"""Model servers on localhost: real wire formats, any model behind them, and faults on demand."""

from __future__ import annotations

import json
import math
import select
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np

SCHEMAS = json.loads((Path(__file__).parent / "schemas.json").read_text(encoding="utf-8"))
MOST = 32  # TEI's default of --max-client-batch-size


class Refused(Exception):
    """An answer with a status of its own."""

    def __init__(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self.status, self.body, self.headers = status, body, headers or {}


def conforms(engine: str, kind: str, value: Any) -> Any:
    """The value, if it has the form that the server's documentation gives."""
    schema = {**SCHEMAS[engine][kind], "$defs": SCHEMAS[engine].get("$defs", {})}
    jsonschema.validate(value, schema)
    return value


@dataclass
class Model:
    """``logits`` of token ids and type ids, shape (classes,); ``labels`` in their order."""

    labels: Sequence[str]
    tokenizer: Any
    logits: Callable[[Sequence[int], Sequence[int]], Sequence[float]]
    longest: int = 512

    def of_text(self, first: str, second: str) -> Sequence[float]:
        encoded = self.tokenizer.encode(first, second)
        return self.logits(encoded.ids[: self.longest], encoded.type_ids[: self.longest])


def softmax(values: Sequence[float]) -> list[float]:
    raised = np.exp(np.array(values) - np.max(values))
    return [float(each) for each in raised / raised.sum()]


def tei(model: Model) -> Callable[[str, Any], Any]:
    """Text Embeddings Inference 1.9.3 over a classifier.

    Forms are those of its docs/openapi.json, statuses those of its router/src/http/server.rs: a
    batch that is too large is 422 there, though the former says 413.
    """
    names = {str(place): label for place, label in enumerate(model.labels)}

    def answer(path: str, body: Any) -> Any:
        if path == "/info":
            classifier = {"id2label": names, "label2id": {n: int(i) for i, n in names.items()}}
            return conforms(
                "tei",
                "info",
                {
                    "model_id": "/data",
                    "model_sha": None,
                    "model_dtype": "float32",
                    "served_model_name": "/data",
                    "model_type": {"classifier": classifier},
                    "max_concurrent_requests": 512,
                    "max_input_length": model.longest,
                    "max_batch_tokens": 16384,
                    "max_batch_requests": 4,
                    "max_client_batch_size": MOST,
                    "auto_truncate": True,
                    "tokenization_workers": 2,
                    "version": "1.9.3",
                    "sha": None,
                    "docker_label": None,
                },
            )
        assert path == "/predict", path
        pairs = conforms("tei", "predict", body)["inputs"]
        if len(pairs) > MOST:
            said = f"batch size {len(pairs)} > maximum allowed batch size {MOST}"
            raise Refused(422, {"error": said, "error_type": "Validation"})
        if any(math.isnan(score) for pair in pairs for score in model.of_text(*pair)):
            raise Refused(424, {"error": "score is NaN", "error_type": "Backend"})
        rows = []
        for pair in pairs:
            scores = model.of_text(*pair)
            scores = list(scores) if body["raw_scores"] else softmax(scores)
            row = [
                {"score": float(s), "label": n} for s, n in zip(scores, model.labels, strict=True)
            ]
            rows.append(sorted(row, key=lambda each: -each["score"]))
        return conforms("tei", "predictions", rows)

    return answer


def vllm(
    model: Model, *, vocabulary: int = 0, knows_activation: bool = True
) -> Callable[[str, Any], Any]:
    """vLLM over a classifier; ids from ``vocabulary`` on stand in the second copy."""

    def answer(path: str, body: Any) -> Any:
        if path == "/v1/models":
            card = {"id": "/models/judge", "object": "model", "created": 1, "owned_by": "vllm"}
            card |= {"root": "/models/judge", "max_model_len": model.longest}
            return conforms("vllm", "models", {"object": "list", "data": [card]})
        assert path == "/classify", path
        conforms("vllm", "classify", body)
        data = []
        for index, ids in enumerate(body["input"]):
            if vocabulary and max(ids) >= 2 * vocabulary:
                said = f"Token id {max(ids)} is out of vocabulary"
                raise Refused(400, {"error": {"message": said, "type": "BadRequestError"}})
            kinds = [int(vocabulary and i >= vocabulary) for i in ids]
            plain = [i - vocabulary * kind for i, kind in zip(ids, kinds, strict=True)]
            scores = [float(each) for each in model.logits(plain, kinds)]
            if body.get("use_activation", True) or not knows_activation:
                scores = softmax(scores)
            label = model.labels[int(np.argmax(scores))]
            row = {"index": index, "label": label, "probs": scores, "num_classes": len(scores)}
            data.append(row)
        usage = {"prompt_tokens": sum(map(len, body["input"])), "total_tokens": 0}
        reply = {"id": "classify-1", "object": "list", "created": 1, "model": body["model"]}
        return conforms("vllm", "classes", {**reply, "data": data, "usage": usage})

    return answer


def kserve(model: Model) -> Callable[[str, Any], Any]:
    """A KServe v2 server with a model of token ids, read pair by pair."""

    def answer(path: str, body: Any) -> Any:
        inputs = ("input_ids", "attention_mask", "token_type_ids")
        if path == "/v2/models/judge":
            tensors = [{"name": n, "datatype": "INT64", "shape": [-1, -1]} for n in inputs]
            output = {"name": "logits", "datatype": "FP32", "shape": [-1, len(model.labels)]}
            card = {"name": "judge", "versions": ["1"], "platform": "onnxruntime_onnx"}
            return conforms("kserve", "model", {**card, "inputs": tensors, "outputs": [output]})
        assert path == "/v2/models/judge/infer", path
        conforms("kserve", "infer", body)
        given = {
            each["name"]: np.array(each["data"]).reshape(each["shape"]) for each in body["inputs"]
        }
        rows = []
        for ids, mask, kinds in zip(*(given[name] for name in inputs), strict=True):
            rows.append(model.logits(ids[: mask.sum()].tolist(), kinds[: mask.sum()].tolist()))
        values = np.array(rows, dtype=np.float32)
        output = {"name": "logits", "datatype": "FP32", "shape": list(values.shape)}
        output["data"] = [float(each) for each in values.ravel()]
        return conforms(
            "kserve",
            "inferred",
            {"model_name": "judge", "model_version": "1", "outputs": [output]},
        )

    return answer


CUT = "cut"
"""The connection is reset in the middle of the reply."""
HELD = "held"
"""No reply until the server is released or the client hangs up."""

Fault = Refused | str | None


@dataclass
class ModelServer:
    """``answer(path, body)`` is what it says; ``fault(number, path)`` what goes wrong with the
    request of that number, from 0. ``paths``, ``bodies`` and ``keys`` record what came."""

    answer: Callable[[str, Any], Any]
    fault: Callable[[int, str], Fault] = lambda number, path: None
    wait_for: int = 0
    paths: list[str] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    most_at_once: int = 0
    hung_up: int = 0
    released: threading.Event = field(default_factory=threading.Event)
    _open: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def asked(self, path: str) -> list[Any]:
        return [body for each, body in zip(self.paths, self.bodies, strict=True) if each == path]

    def __enter__(self) -> ModelServer:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.served(None)

            def do_POST(self) -> None:
                self.served(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def served(self, body: Any) -> None:
                with owner._lock:
                    number = len(owner.paths)
                    owner.paths.append(self.path)
                    owner.bodies.append(body)
                    owner.keys.append(self.headers.get("Authorization", ""))
                    owner._open += 1
                    owner.most_at_once = max(owner.most_at_once, owner._open)
                try:
                    self.answered(body, owner.fault(number, self.path))
                except OSError:
                    self.close_connection = True
                finally:
                    with owner._lock:
                        owner._open -= 1

            def answered(self, body: Any, fault: Fault) -> None:
                if fault == HELD:
                    while not owner.released.is_set():
                        if select.select([self.connection], [], [], 0.01)[0]:
                            with owner._lock:
                                owner.hung_up += 1
                            self.close_connection = True
                            return
                owner.crowded()
                try:
                    if isinstance(fault, Refused):
                        raise fault
                    status, value, headers = 200, owner.answer(self.path, body), {}
                except Refused as refused:
                    status, value, headers = refused.status, refused.body, refused.headers
                data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                for name, each in headers.items():
                    self.send_header(name, each)
                self.end_headers()
                if fault == CUT:
                    self.wfile.write(data[: len(data) // 2])
                    self.wfile.flush()
                    self.close_connection = True
                    self.connection.close()
                    return
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def crowded(self) -> None:
        """Waits until ``wait_for`` requests were open at a time, and lets a further one come."""
        if self.wait_for:
            end = time.monotonic() + 30
            while self.most_at_once < self.wait_for and time.monotonic() < end:
                time.sleep(0.005)
            time.sleep(0.02)

    def __exit__(self, *exception: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
