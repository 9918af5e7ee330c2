"""The values that flow through the library: immutable, plain, and free of any framework."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError

Vector = NDArray[np.floating[Any]]  # (d,)
Matrix = NDArray[np.floating[Any]]  # (n, d), or support: (n_passages, n_perspectives)

Stance = Literal["support", "oppose"]


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that can be retrieved.

    ``source`` is the caller's own object (a LangChain document, a LlamaIndex node, a database row);
    it is never read and is handed back untouched.
    """

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict, hash=False)
    source: Any = field(default=None, repr=False, compare=False)

    @property
    def title(self) -> str:
        """The title in the metadata, or an empty string."""
        return str(self.metadata.get("title") or "")


@dataclass(frozen=True, slots=True)
class Perspective:
    """One side of a question: something a passage can support.

    ``text`` states the perspective in a sentence. When it is the acceptance or the denial of a
    claim, ``claim`` holds that claim and ``stance`` the side taken, so that one judgement serves
    both sides. ``weight``, above 0: how much its coverage counts in the selection, relative to the
    others. ``share`` in [0, 1]: the least share of the k passages that is to support it.
    """

    id: str
    text: str
    stance: Stance | None = None
    claim: str | None = None
    weight: float = 1.0
    share: float = 0.0

    def __post_init__(self) -> None:
        if not (0.0 < self.weight < math.inf and 0.0 <= self.share <= 1.0):
            raise ConfigError(f"weight must be above 0 and share in [0, 1]; got {self!r}")


@dataclass(frozen=True, slots=True)
class Extraction:
    """What a question was understood to be.

    ``root`` is the question without the perspective it carries ("find a claim that opposes: X" has
    root X), ``instruction`` what was split off. ``settled``: it invites no perspectives.
    """

    root: str
    perspectives: tuple[Perspective, ...] = ()
    instruction: str | None = None
    settled: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """A text to search with, and the id of the perspective it was written for, if any."""

    text: str
    perspective: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """What a store returned: a passage, its score (higher is better; None: only the order is
    known), its vector.
    """

    passage: Passage
    score: float | None = None
    embedding: Vector | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage on its way to the result, with the score of every stage it went through.

    ``score`` is the score of the last stage that ordered it. ``scores`` keeps all of them by name:
    ``fused``, ``relevance`` (cosine to the question), ``selected`` (the value of the pick) and
    ``search:<query>`` (what the store said). ``support`` maps a perspective's id to P(the passage
    supports it); a perspective that was not judged is absent.
    """

    passage: Passage
    score: float
    scores: Mapping[str, float] = field(default_factory=dict, hash=False)
    found_by: tuple[str, ...] = ()
    support: Mapping[str, float] = field(default_factory=dict, hash=False)
    embedding: Vector | None = field(default=None, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The candidate as JSON-ready values, without its embedding."""
        return {
            "id": self.passage.id,
            "text": self.passage.text,
            "metadata": dict(self.passage.metadata),
            "score": self.score,
            "scores": dict(self.scores),
            "found_by": list(self.found_by),
            "support": dict(self.support),
        }


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """Which perspectives a set of passages supports.

    ``support`` has shape (n_passages, n_perspectives), rows in the order of the passages:
    P(support) in [0, 1], NaN where the judge gave no answer. A perspective is covered when any
    passage reaches ``threshold``.
    """

    perspectives: tuple[Perspective, ...]
    support: Matrix
    threshold: float

    @property
    def covered(self) -> tuple[Perspective, ...]:
        """Perspectives that at least one passage supports."""
        return self._where(lambda column: bool(np.any(column >= self.threshold)))

    @property
    def missing(self) -> tuple[Perspective, ...]:
        """Perspectives that were judged on every passage and found in none."""
        return self._where(lambda column: bool(np.all(column < self.threshold)))

    @property
    def unjudged(self) -> tuple[Perspective, ...]:
        """Perspectives not found so far, with passages that could not be judged."""
        return self._where(
            lambda column: bool(np.any(np.isnan(column)) and not np.any(column >= self.threshold))
        )

    @property
    def complete(self) -> bool:
        """True when every perspective is covered."""
        return len(self.covered) == len(self.perspectives)

    def _where(self, holds: Callable[[Vector], bool]) -> tuple[Perspective, ...]:
        return tuple(p for j, p in enumerate(self.perspectives) if holds(self.support[:, j]))

    def to_dict(self) -> dict[str, Any]:
        """The coverage as JSON-ready values; NaN becomes None."""
        return {
            "threshold": self.threshold,
            "covered": [p.id for p in self.covered],
            "missing": [p.id for p in self.missing],
            "unjudged": [p.id for p in self.unjudged],
            "support": [[None if math.isnan(v) else float(v) for v in row] for row in self.support],
        }


@dataclass(frozen=True, slots=True)
class Degradation:
    """Something that failed or was left out, and what was done instead. It never passes silently.

    Yielding one from a flow records it; in strict mode the driver raises ``error`` instead.
    """

    stage: str
    message: str
    error: Exception | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, str]:
        """Stage, message and error as text."""
        return {
            "stage": self.stage,
            "message": self.message,
            "error": repr(self.error) if self.error else "",
        }


@dataclass(frozen=True, slots=True)
class Trace:
    """What one request did: how often each stage called out, its wall seconds, tokens, and what
    went wrong.

    ``calls`` and ``seconds`` are by stage; ``counts`` holds named quantities such as
    ``judged_pairs`` and ``embedded_texts``; ``decisions`` what was chosen by itself, and why.
    """

    queries: tuple[Query, ...] = ()
    calls: Mapping[str, int] = field(default_factory=dict, hash=False)
    seconds: Mapping[str, float] = field(default_factory=dict, hash=False)
    counts: Mapping[str, int] = field(default_factory=dict, hash=False)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    degradations: tuple[Degradation, ...] = ()
    decisions: tuple[Mapping[str, Any], ...] = field(default=(), hash=False)

    def to_dict(self) -> dict[str, Any]:
        """The trace as JSON-ready values."""
        return {
            "queries": [asdict(q) for q in self.queries],
            "calls": dict(self.calls),
            "seconds": {stage: round(value, 6) for stage, value in self.seconds.items()},
            "counts": dict(self.counts),
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "degradations": [d.to_dict() for d in self.degradations],
            "decisions": [dict(d) for d in self.decisions],
        }


@dataclass(frozen=True, slots=True, eq=False)
class RetrievalResult:
    """The passages for a question, best first, with proof of which perspective each supports.

    ``coverage`` is None when no judge looked at the passages or the question invites no
    perspectives.
    """

    question: str
    candidates: tuple[Candidate, ...]
    perspectives: tuple[Perspective, ...]
    coverage: Coverage | None
    trace: Trace

    @property
    def passages(self) -> list[Passage]:
        """The passages alone, best first."""
        return [candidate.passage for candidate in self.candidates]

    def supporting(self, perspective: Perspective) -> list[Candidate]:
        """The candidates that support a perspective, strongest first."""
        if self.coverage is None:
            return []
        threshold = self.coverage.threshold
        found = [c for c in self.candidates if c.support.get(perspective.id, -1.0) >= threshold]
        return sorted(found, key=lambda c: -c.support[perspective.id])

    def to_dict(self) -> dict[str, Any]:
        """The whole result as JSON-ready values."""
        return {
            "question": self.question,
            "perspectives": [asdict(p) for p in self.perspectives],
            "candidates": [c.to_dict() for c in self.candidates],
            "coverage": self.coverage.to_dict() if self.coverage else None,
            "trace": self.trace.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request to a language model.

    ``name`` is the name of the prompt file, ``schema`` a JSON schema the reply must follow,
    ``choices`` the only replies allowed. ``temperature`` and ``seed`` make equal requests give
    equal replies where the server can.
    """

    name: str
    user: str
    system: str = ""
    schema: Mapping[str, Any] | None = field(default=None, hash=False)
    choices: tuple[str, ...] = ()
    max_tokens: int = 512
    temperature: float = 0.0
    seed: int = 13


@dataclass(frozen=True, slots=True)
class Completion:
    """A language model's reply.

    ``choice_probabilities`` maps each of the prompt's choices to its probability, where the server
    gave log-probabilities.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    choice_probabilities: Mapping[str, float] | None = field(default=None, hash=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an answer and the ids of the passages it rests on."""

    text: str
    citations: tuple[str, ...]
    perspective: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Sentences that each cite a passage, and the perspectives for which nothing was found."""

    claims: tuple[Claim, ...]
    unsupported: tuple[Perspective, ...] = ()
    trace: Trace = field(default_factory=Trace)

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready values."""
        return {
            "claims": [asdict(c) for c in self.claims],
            "unsupported": [p.id for p in self.unsupported],
            "trace": self.trace.to_dict(),
        }
