"""Outcomes kept question by question, so that a run that was cut off goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from perspective_rag.ledger import slug as slug


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one configuration did with one question.

    ``ranking`` are the passage ids returned, ``seconds`` the wall time of the call, ``stages`` the
    seconds of each stage in it; ``complete`` is the pipeline's own word on whether every
    perspective is covered, None where it judged nothing.
    """

    question: str
    ranking: tuple[str, ...]
    seconds: float
    stages: Mapping[str, float] = field(default_factory=dict)
    searches: int = 0
    judged_pairs: int = 0
    complete: bool | None = None
    degradations: Sequence[str] = ()

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Outcome:
        """An outcome as it was stored; raises TypeError or KeyError when it is something else."""
        return cls(**{**values, "ranking": tuple(values["ranking"])})


class Cell:
    """The outcomes of one configuration in a JSON lines file of their own.

    ``key`` is everything that the outcomes depend on. It names the file and is its first line, so
    outcomes of other data, another judge or other code are never taken for these.
    """

    def __init__(self, folder: Path, name: str, key: Mapping[str, Any]) -> None:
        head = json.dumps({"key": key}, sort_keys=True)
        self.path = folder / f"{slug(name)}-{hashlib.sha256(head.encode()).hexdigest()[:16]}.jsonl"
        self.outcomes: dict[str, Outcome] = {}
        whole = self._read(head) if self.path.is_file() else None
        if whole is None:
            folder.mkdir(parents=True, exist_ok=True)
            self.path.write_text(head + "\n", encoding="utf-8")
        else:
            # A process killed while writing leaves half a line, which the next one would follow.
            with self.path.open("rb+") as stream:
                stream.truncate(whole)

    def add(self, outcome: Outcome) -> None:
        """Keeps an outcome, on disk before this returns."""
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(outcome)) + "\n")
        self.outcomes[outcome.question] = outcome

    def _read(self, head: str) -> int | None:
        """Takes the outcomes in; the bytes that are whole lines, or None for another file."""
        data = self.path.read_bytes()
        first, _, rest = data.partition(b"\n")
        if first != head.encode():
            return None
        whole = len(first) + 1
        for line in rest.splitlines(keepends=True):
            try:
                outcome = Outcome.from_dict(json.loads(line))
            except (ValueError, TypeError, KeyError):
                break
            if not line.endswith(b"\n"):
                break
            self.outcomes[outcome.question] = outcome
            whole += len(line)
        return whole
