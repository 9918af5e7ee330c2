"""What belongs to one question while it is answered."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from perspective_rag.dedup import passage_key
from perspective_rag.flow import Limits, Recorder
from perspective_rag.gate import Gate
from perspective_rag.options import PipelineOptions
from perspective_rag.types import Degradation, Passage, Vector


def books(options: PipelineOptions, gate: Gate | None = None) -> tuple[Recorder, Limits]:
    """A recorder and the limits that these options and a gate ask for."""
    return Recorder(options.strict), Limits(options.timeout, options.max_concurrency, gate)


@dataclass(slots=True)
class Request:
    """A question with its options, its books, and the query vectors already paid for.

    ``threshold`` is the P(support) from which a passage counts as supporting; ``vectors`` maps a
    text to its vector, so that no text is embedded twice. ``identity`` tells passages apart.
    """

    question: str
    options: PipelineOptions
    filter: Any = None
    threshold: float = 0.5
    gate: Gate | None = None
    identity: Callable[[Passage], str] = passage_key
    recorder: Recorder = field(init=False)
    limits: Limits = field(init=False)
    vectors: dict[str, Vector] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.recorder, self.limits = books(self.options, self.gate)

    def key(self, passage: Passage) -> str:
        """The passage's identity; where it cannot be had, which is recorded once, its own."""
        try:
            return self.identity(passage)
        except Exception as error:
            problem = "dedup_key failed: passages are told apart by their ids"
            if all(each.message != problem for each in self.recorder.degradations):
                self.recorder.degradation(Degradation("merge", problem, error))
            return passage_key(passage)

    @property
    def elapsed(self) -> float:
        """Seconds since the request began."""
        return time.monotonic() - self.started
