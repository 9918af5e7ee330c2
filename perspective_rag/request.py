"""What belongs to one question while it is answered."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from perspective_rag.flow import Limits, Recorder
from perspective_rag.gate import Gate
from perspective_rag.options import PipelineOptions
from perspective_rag.types import Vector


def books(options: PipelineOptions, gate: Gate | None = None) -> tuple[Recorder, Limits]:
    """A recorder and the limits that these options and a gate ask for."""
    return Recorder(options.strict), Limits(options.timeout, options.max_concurrency, gate)


@dataclass(slots=True)
class Request:
    """A question with its options, its books, and the query vectors already paid for.

    ``threshold`` is the P(support) from which a passage counts as supporting; ``vectors`` maps a
    text to its vector, so that no text is embedded twice.
    """

    question: str
    options: PipelineOptions
    filter: Any = None
    threshold: float = 0.5
    gate: Gate | None = None
    recorder: Recorder = field(init=False)
    limits: Limits = field(init=False)
    vectors: dict[str, Vector] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.recorder, self.limits = books(self.options, self.gate)

    @property
    def elapsed(self) -> float:
        """Seconds since the request began."""
        return time.monotonic() - self.started
