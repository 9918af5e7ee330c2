"""The candidates of a result in the groups that people are shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from perspective_rag.answer.standing import leaning_only
from perspective_rag.results import RetrievalResult
from perspective_rag.types import Candidate


@dataclass(frozen=True, slots=True)
class Groups:
    """Places of candidates in a result, each place in one group.

    ``listed`` is by perspective id, strongest first; a passage may stand there under several
    perspectives that do not exclude each other. ``silent`` holds what takes no side, and everything
    where nothing was judged; ``unrelated`` what is perhaps not about the question.
    """

    listed: dict[str, list[int]]
    mixed: list[int]
    leaning: list[int]
    silent: list[int]
    unrelated: list[int]


def grouped(result: RetrievalResult) -> Groups:
    """The first group that fits takes a candidate: listed, mixed, leaning, unrelated, silent."""
    place = {id(c): i for i, c in enumerate(result.candidates)}

    def places(candidates: Iterable[Candidate]) -> list[int]:
        return [place[id(each)] for each in candidates]

    listed = {each.id: places(result.supporting(each)) for each in result.perspectives}
    taken = {i for found in listed.values() for i in found}
    related = result.related
    unrelated = [] if related is None else [i for i in place.values() if not related[i]]
    groups: list[list[int]] = []
    for wanted in (places(result.mixed), places(leaning_only(result)), unrelated, place.values()):
        groups.append([i for i in wanted if i not in taken])
        taken.update(groups[-1])
    mixed, leaning, unrelated, silent = groups
    return Groups(listed, mixed, leaning, silent, unrelated)
