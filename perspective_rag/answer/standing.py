"""How the passages found stand to a question: the groups that people are shown, and what is said of
them, the same in every view.

Counted is what is known. What the judge cannot tell is "not sorted": a statement about the judge,
never about the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perspective_rag.answer.sentences import only_reports
from perspective_rag.maths.vectors import first_copies
from perspective_rag.types import Candidate, Perspective, RetrievalResult, State, voice_of

NOTHING = "This corpus says nothing about it: no passage is near the question or has its words."
NOT_JUDGED = (
    "The passages nearest to the question; whether they answer it, and for which side they speak, "
    "was not judged."
)
NEAREST = "The passages nearest to the question; whether they answer it was not judged."

_MOST_NAMED = 2  # sides whose statements stand in the sentence
_NUMBERS = "no one two three four five six seven eight nine ten".split()


def standing(result: RetrievalResult) -> str:
    """ "3 for, 2 against, 1 arguing both ways, 4 not sorted; all from two sources", or that nothing
    is said.

    Counted are the passages listed under each perspective, repeats once, and of the others those
    that surely take no side and those that are not sorted. Sources are counted where each is known
    (``identity.voice_of``). Empty where no judge looked at the passages, or no perspective was
    asked for.
    """
    if not result.candidates:
        return "No passage was found."
    if result.says_nothing:
        # Of another language, and of what is one's own, nearness says too little.
        return NEAREST if result.caution or result.kind in ("personal", "chat") else NOTHING
    if unread(result):
        return NOT_JUDGED if result.perspectives else NEAREST
    if not result.coverage.judged or not result.perspectives:
        return ""
    listed = {each.id: distinct(result.supporting(each)) for each in result.perspectives}
    counted: tuple[tuple[State, str], ...] = (
        ("argues both ways", "arguing both ways"),
        ("takes no side", "taking no side"),
        ("not sorted", "not sorted"),
    )
    further = [f"{n} {words}" for state, words in counted if (n := _count(result, state))]
    if not any(listed.values()):
        return (
            f"{'; '.join(filter(None, ['No passage is sorted under a side', ', '.join(further)]))}."
        )
    named = [each for each in result.perspectives if listed[each.id]]
    every = distinct([c for found in listed.values() for c in found])
    sides = [f"{len(listed[each.id])} {_side(each, result.perspectives)}" for each in named]
    for each in result.perspectives:
        if not listed[each.id]:
            sides.append(f"none sorted {_side(each, result.perspectives)}")
    if len(result.perspectives) > _MOST_NAMED:
        sides = [f"{len(every)} under {len(named)} of {len(result.perspectives)} sides"]
    reports = sum(only_reports(each.passage.text) for each in every)
    if reports:
        further.append(f"{reports} of those listed only {'reports' if reports == 1 else 'report'}")
    said = [", ".join([*sides, *further]), _from(every), *_resting(result, listed)]
    return f"{'; '.join(filter(None, said))}."


def nothing_for(result: RetrievalResult) -> str:
    """What stands where a perspective has no passage; says nothing of what the corpus holds."""
    if not result.coverage.judged or unread(result):
        return "Whether a passage supports this was not judged."
    count = _count(result, "not sorted")
    return f"No passage is sorted under this{f'; {count} not sorted' if count else ''}."


def strengths(result: RetrievalResult) -> dict[str, str]:
    """On how much each covered perspective rests, by its id: "3 passages from two sources; 1 of
    them only reports what others say"; repeats count once.
    """
    said = {}
    for each in result.coverage.covered:
        found = distinct(result.supporting(each))
        reports = sum(only_reports(c.passage.text) for c in found)
        text = "1 passage" if len(found) == 1 else f"{len(found)} passages"
        if sources := _from(found):
            text += f", {sources}" if sources.startswith("all") else f" {sources}"
        if reports:
            whom = "it" if len(found) == 1 else f"{reports} of them"
            text += f"; {whom} only {'reports' if reports == 1 else 'report'} what others say"
        said[each.id] = text
    return said


def side_name(result: RetrievalResult, perspective: Perspective) -> str:
    """ "For" or "Against" where the perspectives are those of one claim, else the statement."""
    side = _side(perspective, result.perspectives)
    return perspective.text if '"' in side else side.capitalize()


def distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates without those that repeat an earlier one."""
    first = first_copies([each.passage.text for each in candidates])
    return [each for place, each in enumerate(candidates) if first[place] == place]


def unread(result: RetrievalResult) -> bool:
    """Whether the judge read nothing, because no passage is near enough to the question."""
    return result.related is not None and len(result.related) > 0 and not result.related.any()


def one_source(candidates: Sequence[Candidate]) -> bool:
    """Whether several candidates are all of one known author, address or debate."""
    voices = {voice_of(each.passage) for each in candidates}
    return len(candidates) > 1 and len(voices) == 1 and None not in voices


def _count(result: RetrievalResult, state: State) -> int:
    """How many distinct candidates are in a state."""
    states = zip(result.candidates, result.coverage.states, strict=True)
    return len(distinct([candidate for candidate, own in states if own == state]))


def _side(perspective: Perspective, among: Sequence[Perspective]) -> str:
    if len({each.claim for each in among}) == 1 and perspective.stance is not None:
        return "for" if perspective.stance == "support" else "against"
    return f'for "{perspective.text.rstrip(" .")}"'


def _from(candidates: Sequence[Candidate]) -> str:
    """From how many sources they are; empty where that of one is not known."""
    voices = {voice_of(each.passage) for each in candidates}
    count = len(voices)
    if None in voices:
        return ""
    number = _NUMBERS[count] if count < len(_NUMBERS) else str(count)
    every = "all from" if len(candidates) > count else "from"
    return f"{every} {number} source{'' if count == 1 else 's'}"


def _resting(result: RetrievalResult, listed: dict[str, list[Candidate]]) -> list[str]:
    """Which of several sides rest on one source, unless everything does."""
    every = [c for found in listed.values() for c in found]
    if len(result.perspectives) < 2 or one_source(every):
        return []
    sides = [
        _side(each, result.perspectives)
        for each in result.perspectives
        if one_source(listed[each.id])
    ]
    return [f"what is {side} rests on one source" for side in sides]


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
        {
            "mixed": "Arguing both ways",
            "neither": "Taking no side",
            "unsorted": _unsorted(result, len(unsorted)),
        },
    )


def _unsorted(result: RetrievalResult, count: int) -> str:
    if unread(result):
        return "The passages nearest to the question, not judged"
    if not result.coverage.judged or not result.perspectives:
        return "Passages"
    these = "this one; read it" if count == 1 else f"these {count}; read them"
    return f"Not sorted: the judge cannot tell for {these}"
