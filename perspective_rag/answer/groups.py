"""The candidates of a result in the groups that people are shown, and what stands above each."""

from __future__ import annotations

from dataclasses import dataclass

from perspective_rag.answer.standing import unread
from perspective_rag.types import RetrievalResult

MIXED = "Arguing both ways"
NEITHER = "Taking no side"


@dataclass(frozen=True, slots=True)
class Groups:
    """Places of candidates in a result, each place in one group.

    ``listed`` is by perspective id, strongest first; a passage may stand there under several
    perspectives that do not exclude each other. ``mixed`` argues both ways, ``neither`` surely
    takes no side, ``unsorted`` is all else; what is about the question stands before the rest.
    ``titles`` says what stands above each of the last three.
    """

    listed: dict[str, list[int]]
    mixed: list[int]
    neither: list[int]
    unsorted: list[int]
    titles: dict[str, str]

    @property
    def others(self) -> list[tuple[str, list[int]]]:
        """Title and places of the groups beside the sides that hold any."""
        groups = {"mixed": self.mixed, "neither": self.neither, "unsorted": self.unsorted}
        return [(self.titles[name], places) for name, places in groups.items() if places]


def grouped(result: RetrievalResult) -> Groups:
    """The candidates by side and state."""
    states = result.coverage.states
    places: dict[str, list[int]] = {}
    for place, state in enumerate(states):
        places.setdefault(state, []).append(place)
    unsorted = places.get("not sorted", []) + places.get("not judged", [])
    if result.related is not None:
        about = result.related.tolist()
        unsorted.sort(key=lambda place: not about[place])
    return Groups(
        {each.id: result.places("clear", each) for each in result.perspectives},
        places.get("argues both ways", []),
        places.get("takes no side", []),
        unsorted,
        {"mixed": MIXED, "neither": NEITHER, "unsorted": _unsorted(result, len(unsorted))},
    )


def _unsorted(result: RetrievalResult, count: int) -> str:
    if unread(result):
        return "The passages nearest to the question, not judged"
    if not result.coverage.judged or not result.perspectives:
        return "Passages"
    these = "this one; read it" if count == 1 else f"these {count}; read them"
    return f"Not sorted: the judge cannot tell for {these}"
