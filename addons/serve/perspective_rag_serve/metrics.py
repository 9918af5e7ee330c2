"""What Prometheus reads: requests, answers, the queue, what degraded."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perspective_rag import RetrievalResult
from perspective_rag_serve.admission import Admission
from perspective_rag_serve.loading import Loading

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The figures of one application; none of them holds a question or an address."""

    def __init__(self, admission: Admission, loading: Loading) -> None:
        self.registry = CollectorRegistry()
        name = "perspective_rag"
        self._requests = Counter(
            f"{name}_requests", "Requests by route and status", ["route", "status"],
            registry=self.registry,
        )  # fmt: skip
        self._seconds = Histogram(
            f"{name}_request_seconds", "Seconds until the reply was sent", ["route"],
            buckets=_SECONDS, registry=self.registry,
        )  # fmt: skip
        self._results = Counter(
            f"{name}_results", "Results by how they stand to the question", ["standing"],
            registry=self.registry,
        )  # fmt: skip
        self._pairs = Counter(
            f"{name}_judged_pairs", "Pairs of passage and side judged", registry=self.registry
        )
        self._degradations = Counter(
            f"{name}_degradations", "Steps that failed or were left out", ["stage"],
            registry=self.registry,
        )  # fmt: skip
        for what, said, read in (
            ("running", "Answers worked on now", lambda: admission.running),
            ("waiting", "Answers that wait", lambda: admission.waiting),
            ("ready", "Whether questions are answered", lambda: loading.status.ready),
        ):
            gauge = Gauge(f"{name}_{what}", said, registry=self.registry)
            gauge.set_function(lambda read=read: float(read()))  # type: ignore[misc]

    def answered(self, result: RetrievalResult) -> None:
        """Counts one result."""
        coverage = result.coverage
        if result.says_nothing:
            standing = "nothing"
        elif not coverage.judged:
            standing = "not judged"
        else:
            standing = "complete" if coverage.complete else "incomplete"
        self._results.labels(standing).inc()
        self._pairs.inc(result.trace.counts.get("judged_pairs", 0))
        for each in result.trace.degradations:
            self._degradations.labels(each.stage).inc()

    def page(self) -> bytes:
        """The figures in Prometheus' text form."""
        return generate_latest(self.registry)

    def observed(self, route: str, status: int, seconds: float) -> None:
        """Counts one request."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)


class Observed:
    """ASGI middleware that counts every request by its route; an unknown address is "other"."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        status, started = 499, time.perf_counter()  # 499: the client left before the reply

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            known = "/mcp" if scope["path"] == "/mcp" else "other"
            route = getattr(scope.get("route"), "path", known)
            self.metrics.observed(route, status, time.perf_counter() - started)
