"""What a result shows its reader: the only place that knows how the library says it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from perspective_rag import Candidate, Perspective, RetrievalResult

OTHER = "other"
"""The side of a perspective that is neither of the two statements."""


ORIGINS = ("question", "perspectives", "guard")
"""Whose query brought a passage."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A returned passage and a side: the probability of support shown for them (None where it was
    not judged), and whether the passage is listed as support of that side.
    """

    side: str
    passage: str
    probability: float | None
    listed: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one row did with one question.

    ``ranking`` are the ids returned, best first. ``lists``: it lists supports at all, as rows
    without a judge do not; only then ``shown``, ``claimed`` (every side is said to be covered) and
    ``abstained`` (no passage is about the question) say something. ``pairs`` are those that the
    judge was asked about, those that it ruled out unread or knew from before among them.
    ``brought`` counts the passages returned by whose query brought them (``ORIGINS``).
    """

    ranking: tuple[str, ...]
    lists: bool = False
    shown: tuple[Shown, ...] = ()
    claimed: bool = False
    abstained: bool = False
    pairs: int = 0
    searches: int = 0
    seconds: float = 0.0
    degradations: tuple[str, ...] = ()
    brought: Mapping[str, int] = field(default_factory=dict)

    @property
    def listed(self) -> tuple[Shown, ...]:
        """What is listed as support."""
        return tuple(each for each in self.shown if each.listed)


def listed_under(result: RetrievalResult, perspective: Perspective) -> list[Candidate]:
    """The candidates that the result lists as support of a perspective."""
    return result.supporting(perspective)


def claims_coverage(result: RetrievalResult) -> bool:
    """Whether the result says that every perspective is covered."""
    return result.coverage.complete


def abstains(result: RetrievalResult) -> bool:
    """Whether the result says that the corpus holds nothing about the question."""
    return result.says_nothing


SideOf = Callable[[str], str]
"""The side of a perspective, by its text."""


def outcome_of(
    result: RetrievalResult, side_of: SideOf, *, pairs: int = 0, seconds: float = 0.0
) -> Outcome:
    """A result as an outcome; the perspectives are named by their sides."""
    shown = []
    for perspective in result.perspectives:
        listed = {each.passage.id for each in listed_under(result, perspective)}
        shown += [
            Shown(
                side_of(perspective.text),
                each.passage.id,
                each.support.get(perspective.id),
                each.passage.id in listed,
            )
            for each in result.candidates
        ]
    lists = result.coverage.judged
    trace = result.trace
    return Outcome(
        ranking=tuple(passage.id for passage in result.passages),
        lists=lists,
        shown=tuple(shown) if lists else (),
        claimed=claims_coverage(result),
        abstained=lists and abstains(result),
        pairs=pairs,
        searches=trace.calls.get("search", 0),
        seconds=seconds,
        degradations=tuple(f"{each.stage}: {each.message}" for each in trace.degradations),
        brought={by: trace.counts.get(f"chosen_by_{by}", 0) for by in ORIGINS},
    )
