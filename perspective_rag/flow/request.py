"""What belongs to one question while it is answered."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from perspective_rag.flow.driver import Limits
from perspective_rag.flow.limiter import Limiter
from perspective_rag.flow.trace import Recorder, Telemetry
from perspective_rag.identity import passage_key
from perspective_rag.listing import RelevanceFloor
from perspective_rag.options import PipelineOptions
from perspective_rag.protocols import (
    Embedder,
    Judge,
    Projection,
    SecondJudge,
    Selector,
    Store,
)
from perspective_rag.types import Passage, Vector


@dataclass(slots=True)
class Request:
    """One question with its options, the components that answer it, and what is known so far.

    ``pipeline.request(question)`` makes one.

    Attributes:
        question: The question.
        options: The options of this request.
        store: What is searched.
        projection: Changes the vectors of queries.
        embedder: Embeds texts; None: a store that searches by text.
        judge: Says what supports what; None: nothing is judged.
        second_judge: Reads again what is about to be listed; None: nothing is.
        selector: Chooses the k passages; None: ``PlainFirst``.
        filter: The store's filter for every search; None: no filter.
        floor: From which relevance a passage is about the question; None: all are.
        scale: What the embedder's cosines mean to a judge that counts them; None: unknown.
        limiter: What all requests together may do; None: no limit.
        telemetry: Makes the observer of this request; None: nobody observes.
        identity: The key of a passage; passages with equal keys are one.
        recorder: Gathers the trace.
        limits: The limits of calls: time-out, concurrency, limiter.
        vectors: Vector by text, so that no text is embedded twice.
        found: The keys of all passages that were found.
        read_in_lists: The Python ids of the passages that a judge of lists was asked about, with or
            without an answer.
        started: When the request began, by ``time.monotonic``.
    """

    question: str
    options: PipelineOptions
    store: Store
    projection: Projection
    embedder: Embedder | None = None
    judge: Judge | None = None
    second_judge: SecondJudge | None = None
    selector: Selector | None = None
    filter: Any = None
    floor: RelevanceFloor | None = None
    scale: RelevanceFloor | None = None
    limiter: Limiter | None = None
    telemetry: Telemetry | None = None
    identity: Callable[[Passage], str] = passage_key
    recorder: Recorder = field(init=False)
    limits: Limits = field(init=False)
    vectors: dict[str, Vector] = field(default_factory=dict)
    found: set[str] = field(default_factory=set)
    read_in_lists: set[int] = field(default_factory=set)
    started: float = field(default_factory=time.monotonic)
    _keys: dict[int, tuple[Passage, str]] = field(default_factory=dict)
    _identity_failed: bool = False

    def __post_init__(self) -> None:
        options = self.options
        self.recorder = Recorder(options.strict)
        if self.telemetry is not None:
            self.recorder.observed_by(self.telemetry, self.question, options)
        self.limits = Limits(options.timeout, options.max_concurrency, self.limiter)

    def keys(self, passages: Sequence[Passage]) -> list[str]:
        """Identifies passages.

        A passage is asked about once, and keeps its key. Where ``identity`` fails, the passage's
        own id takes its place, and the trace records that once.

        Args:
            passages: n passages.

        Returns:
            n keys, in their order.
        """
        failed = None
        for passage in passages:
            if id(passage) in self._keys:
                continue
            try:
                key = self.identity(passage)
            except Exception as error:
                key, failed = passage_key(passage), failed or error
            self._keys[id(passage)] = passage, key  # held, so that no other gets its id
        if failed is not None and not self._identity_failed:
            self._identity_failed = True
            problem = "dedup_key failed: passages are told apart by their ids"
            self.recorder.degrade("merge", problem, failed)
        return [self._keys[id(passage)][1] for passage in passages]

    @property
    def elapsed(self) -> float:
        """Seconds since the request began."""
        return time.monotonic() - self.started
