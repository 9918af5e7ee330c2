"""What comes out: the coverage of passages, the result of a question, and an answer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError
from perspective_rag.identity import voice_of
from perspective_rag.listing import ListingRule, RelevanceFloor, State, Verdict
from perspective_rag.reporting.display import result_in_a_line, result_in_lines
from perspective_rag.types import Candidate, Kind, Matrix, Passage, Perspective, Trace
from perspective_rag.values import json_ready


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """Which perspectives a set of passages supports.

    ``support`` has shape (n_passages, n_perspectives), rows in the order of the passages:
    P(support) in [0, 1], NaN where the judge gave no answer. ``rule`` says when a passage is
    listed, ``contradicts`` (m, m) which perspectives contradict each other, ``related`` (n,) which
    passages are about the question at all (None: all). ``scale`` says what the encoder's cosines
    mean (``Calibration.scale``; None: unknown). ``judged`` is False where no judge looked at the
    passages, or there was no perspective to look for. A perspective is covered when any passage is
    listed under it.
    """

    perspectives: tuple[Perspective, ...]
    support: Matrix
    rule: ListingRule
    contradicts: NDArray[np.bool_] | None = None
    related: NDArray[np.bool_] | None = None
    scale: RelevanceFloor | None = None
    judged: bool = True

    @property
    def threshold(self) -> float:
        """The P(support) from which a passage is listed."""
        return self.rule.threshold

    @property
    def verdicts(self) -> NDArray[np.str_]:
        """The ``Verdict`` on every passage and perspective, shape (n_passages, n_perspectives)."""
        return self.rule.verdicts(self.support, self.contradicts)

    @property
    def listed(self) -> NDArray[np.bool_]:
        """Which passage is listed under which perspective, shape (n_passages, n_perspectives)."""
        return np.asarray(self.verdicts == "clear")

    @property
    def states(self) -> tuple[State, ...]:
        """How each passage stands to the perspectives, in the order of the passages."""
        if not self.judged or not self.perspectives:
            unjudged: list[State] = ["not judged"] * len(self.support)
            return tuple(unjudged)
        verdicts = self.verdicts
        states = np.full(len(verdicts), "not sorted", dtype="<U16")
        silent = (verdicts == "silent").all(axis=1)
        states[silent if self.related is None else silent & self.related] = "takes no side"
        states[(verdicts == "mixed").any(axis=1)] = "argues both ways"
        states[(verdicts == "clear").any(axis=1)] = "takes a side"
        found: list[State] = states.tolist()
        return tuple(found)

    @property
    def covered(self) -> tuple[Perspective, ...]:
        """Perspectives that at least one passage supports."""
        found = list(map(bool, np.atleast_1d(self.listed.any(axis=0))))
        return tuple(p for p, there in zip(self.perspectives, found, strict=True) if there)

    @property
    def missing(self) -> tuple[Perspective, ...]:
        """Perspectives that were judged on every passage about the question and found in none."""
        return self._uncovered(with_gaps=False)

    @property
    def unjudged(self) -> tuple[Perspective, ...]:
        """Perspectives not found so far, with passages that could not be judged."""
        return self._uncovered(with_gaps=True)

    @property
    def complete(self) -> bool:
        """True when the passages were judged and every perspective is covered."""
        return self.judged and len(self.covered) == len(self.perspectives)

    @property
    def next_queries(self) -> tuple[str, ...]:
        """What to search for next, elsewhere perhaps: a statement for every perspective that is not
        covered. Empty when a research agent can stop.
        """
        covered = {each.id for each in self.covered}
        return tuple(each.text for each in self.perspectives if each.id not in covered)

    @property
    def contradicting(self) -> NDArray[np.bool_]:
        """Which passages contradict each other, shape (n_passages, n_passages): they are listed
        under perspectives that do.
        """
        listed = self.listed.astype(int)
        if self.contradicts is None:
            return np.zeros((len(listed), len(listed)), dtype=bool)
        return np.asarray(listed @ self.contradicts.astype(int) @ listed.T > 0)

    def _uncovered(self, *, with_gaps: bool) -> tuple[Perspective, ...]:
        gaps = np.isnan(self.support)
        if self.related is not None and self.related.any():  # else nothing was read
            gaps = gaps & self.related[:, None]
        unknown = list(map(bool, np.atleast_1d(gaps.any(axis=0))))
        found = list(map(bool, np.atleast_1d(self.listed.any(axis=0))))
        return tuple(
            p
            for p, gap, there in zip(self.perspectives, unknown, found, strict=True)
            if not there and bool(gap) == with_gaps
        )

    def to_dict(self) -> dict[str, Any]:
        """The coverage as JSON-ready values; NaN becomes None."""
        return {
            "judged": self.judged,
            "rule": asdict(self.rule),
            "covered": [p.id for p in self.covered],
            "missing": [p.id for p in self.missing],
            "unjudged": [p.id for p in self.unjudged],
            "next_queries": list(self.next_queries),
            "support": [[None if math.isnan(v) else float(v) for v in row] for row in self.support],
            "verdicts": self.verdicts.tolist(),
            "states": list(self.states),
        }


@dataclass(frozen=True, slots=True, eq=False)
class RetrievalResult:
    """The passages for a question, best first, with proof of which perspective each supports.

    ``coverage.judged`` is False when no judge looked at the passages or the question invites no
    perspectives (None, given for ``coverage``, says so). ``reading`` tells a person how the
    question was understood ("I understood: ..."; empty where nobody read it) and ``kind`` what sort
    it is. ``related`` (n,): which candidates are about the question (None: not known). ``reported``
    (n,): which only tell what others say, by their wording, and take no side themselves (None:
    nothing was judged). ``caution`` says to a person what a question in another language than
    English gets (empty: nothing to say). ``says_nothing``: the corpus holds nothing about the
    question, by two witnesses (``judge.support.says_nothing``). ``print(result)`` shows it in a few
    lines.
    """

    question: str
    candidates: tuple[Candidate, ...]
    perspectives: tuple[Perspective, ...]
    coverage: Coverage
    trace: Trace
    reading: str = ""
    kind: Kind = "open"
    related: NDArray[np.bool_] | None = None
    caution: str = ""
    reported: NDArray[np.bool_] | None = None
    says_nothing: bool = False

    __repr__ = result_in_a_line
    __str__ = result_in_lines

    def __post_init__(self) -> None:
        if self.coverage is None:
            unknown = np.full((len(self.candidates), len(self.perspectives)), np.nan)
            rule = ListingRule(0.5, 0.5)
            coverage = Coverage(
                self.perspectives, unknown, rule, related=self.related, judged=False
            )
            object.__setattr__(self, "coverage", coverage)

    @property
    def passages(self) -> list[Passage]:
        """The passages alone, best first."""
        return [candidate.passage for candidate in self.candidates]

    def supporting(self, perspective: Perspective) -> list[Candidate]:
        """The candidates listed as support of a perspective, strongest first."""
        return self.with_verdict("clear", perspective)

    def with_verdict(self, verdict: Verdict, perspective: Perspective) -> list[Candidate]:
        """The candidates with a verdict on a perspective, strongest first."""
        return [self.candidates[place] for place in self.places(verdict, perspective)]

    def places(self, verdict: Verdict, perspective: Perspective) -> list[int]:
        """Where the candidates with a verdict on a perspective stand, strongest first.

        Raises ConfigError for a perspective that is not the result's.
        """
        ids = [each.id for each in self.perspectives]
        if perspective.id not in ids:
            raise ConfigError(f"the result has the perspectives {ids}, not {perspective.id!r}")
        column = self.coverage.verdicts[:, ids.index(perspective.id)]
        found = np.flatnonzero(column == verdict).tolist()
        strength = [c.support.get(perspective.id, 0.0) for c in self.candidates]
        return sorted(found, key=lambda place: -strength[place])

    def supports(self, candidate: Candidate) -> list[Perspective]:
        """The perspectives under which a candidate is listed."""
        verdicts = self.verdicts_on(candidate)
        return [each for each in self.perspectives if verdicts.get(each.id) == "clear"]

    def verdicts_on(self, candidate: Candidate) -> dict[str, Verdict]:
        """The verdict on a candidate by perspective id; empty where nothing was judged.

        Raises ConfigError for a candidate that is not the result's own.
        """
        if not self.coverage.judged:
            return {}
        # Not by equality: two passages without ids may be equal, and stand on different sides.
        place = next((i for i, own in enumerate(self.candidates) if own is candidate), None)
        if place is None:
            raise ConfigError(f"not a candidate of this result: {candidate!r:.200}")
        row = self.coverage.verdicts[place].tolist()
        return {each.id: verdict for each, verdict in zip(self.perspectives, row, strict=True)}

    @property
    def mixed(self) -> list[Candidate]:
        """The candidates that argue for and against, in their order."""
        rows = (self.coverage.verdicts == "mixed").any(axis=1)
        return [c for c, there in zip(self.candidates, rows, strict=True) if there]

    @property
    def contradictions(self) -> list[tuple[int, int]]:
        """The places of candidates that contradict each other by the judge, each pair once."""
        pairs = np.argwhere(np.triu(self.coverage.contradicting, 1)).tolist()
        return [(first, second) for first, second in pairs]

    @property
    def single_source(self) -> tuple[Perspective, ...]:
        """The perspectives that are covered by passages of one author, address or debate alone.

        Only where that of every passage is known (``identity.voice_of``).
        """
        voices = [
            {voice_of(candidate.passage) for candidate in self.supporting(each)}
            for each in self.perspectives
        ]
        pairs = zip(self.perspectives, voices, strict=True)
        return tuple(p for p, own in pairs if len(own) == 1 and None not in own)

    def to_dict(self) -> dict[str, Any]:
        """The whole result as JSON-ready values."""
        return {
            "question": self.question,
            "kind": self.kind,
            "reading": self.reading,
            "caution": self.caution,
            "says_nothing": self.says_nothing,
            "related": None if self.related is None else self.related.tolist(),
            "reported": None if self.reported is None else self.reported.tolist(),
            "perspectives": json_ready([asdict(p) for p in self.perspectives]),
            "candidates": [c.to_dict() for c in self.candidates],
            "coverage": self.coverage.to_dict(),
            "contradictions": [list(pair) for pair in self.contradictions],
            "single_source": [each.id for each in self.single_source],
            "trace": self.trace.to_dict(),
        }


Checked = Literal["", "quoted", "side", "supported"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an answer and the ids of the passages it rests on.

    ``reported``: the sentence tells what somebody says ("critics say ..."), and does not say it
    itself. ``checked`` says what was checked. "quoted": its words stand in the passage it cites;
    "side": they do, and the judge, which read them alone, lists them under its perspective;
    "supported": the judge finds that a cited passage supports it; "": nothing. ``verified``: True
    for "side" and "supported", False where it was found not to hold, else None. ``quote``: the
    words of a cited passage that prove it, as a language model copied them ("": none given); one
    that stands in no cited passage makes it False.
    """

    text: str
    citations: tuple[str, ...]
    perspective: str | None = None
    reported: bool = False
    verified: bool | None = None
    checked: Checked = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Sentences that each cite a passage, and the perspectives under which no passage is sorted.

    ``summary`` says in a sentence how the passages stand ("3 for, 2 against, 4 not sorted; all from
    two sources"), ``strength``, by the id of a covered perspective, on how much it rests ("2
    passages from one source"), ``missing`` what a language model found that no passage says.
    """

    claims: tuple[Claim, ...]
    unsupported: tuple[Perspective, ...] = ()
    trace: Trace = field(default_factory=Trace)
    summary: str = ""
    strength: Mapping[str, str] = field(default_factory=dict, hash=False)
    missing: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready values."""
        return {
            "summary": self.summary,
            "missing": list(self.missing),
            "claims": [asdict(c) for c in self.claims],
            "unsupported": [p.id for p in self.unsupported],
            "strength": dict(self.strength),
            "trace": self.trace.to_dict(),
        }
