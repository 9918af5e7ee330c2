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
    """A question with its options, the components that answer it, and the query vectors already
    paid for.

    ``floor`` says from which relevance a passage is about the question, ``scale`` what the
    embedder's cosines mean to a judge that counts them (None: unknown); ``vectors`` maps a text to
    its vector, so that no text is embedded twice; ``identity`` tells passages apart; ``found``
    holds the identities of all that was found, ``read_in_lists`` the Python ids of the passages
    that a judge of lists was asked about, with an answer or without. ``recorder`` gathers the
    trace.
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
        """The identities of passages; where one cannot be had, which is recorded once, its own.

        A passage is asked about once: one that says something else each time is still one passage.
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
