"""How the passages found stand to a question, in a sentence or two."""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag.answer.reported import only_reports
from perspective_rag.results import RetrievalResult
from perspective_rag.select.near_duplicates import first_copies
from perspective_rag.select.sources import source_of
from perspective_rag.types import Candidate, Perspective

NOTHING = "This corpus says nothing about it: no passage is near enough to the question."
NEAREST = "The passages nearest to the question; whether they answer it was not judged."

_NUMBERS = "no one two three four five six seven eight nine ten".split()


def standing(result: RetrievalResult) -> str:
    """ "3 for, 2 against, 1 mixed; all from two sources", or that nothing is said.

    Counted are the passages listed under each perspective, repeats once. What is only leaning "may
    bear on this": which side it takes is too often wrong to be named, and while there is such a
    passage a side without one is "nothing clear enough", not "none". Empty where no judge looked at
    the passages, or no perspective was asked for.
    """
    if not result.candidates:
        return "No passage was found."
    if result.says_nothing or (result.coverage is not None and result.coverage.says_nothing):
        # Of another language, and of what is one's own, nearness says too little.
        return NEAREST if result.caution or result.kind in ("personal", "chat") else NOTHING
    if result.coverage is None or not result.perspectives:
        return ""
    listed = {each.id: distinct(result.supporting(each)) for each in result.perspectives}
    mixed, leaning = len(distinct(result.mixed)), len(distinct(leaning_only(result)))
    further = [f"{mixed} mixed"] if mixed else []
    further += [f"{leaning} that may bear on this"] if leaning else []
    if not any(listed.values()):
        known = f": {', '.join(further)}" if further else ""
        if leaning:
            return f"Nothing clear enough was found{known}."
        return f"No passage found clearly takes a side{known}."
    empty = "nothing clear enough" if leaning else "none"
    sides = [
        f"{len(listed[each.id]) or empty} {_side(each, result.perspectives)}"
        for each in result.perspectives
    ]
    every = distinct([c for found in listed.values() for c in found])
    reports = sum(only_reports(each.passage.text) for each in every)
    if reports:
        further.append(f"{reports} of those listed only {'reports' if reports == 1 else 'report'}")
    return f"{', '.join([*sides, *further])}; {_from(every)}{_resting(result, listed)}."


def strengths(result: RetrievalResult) -> dict[str, str]:
    """On how much each covered perspective rests, by its id: "3 passages from two sources, 1 of
    which only reports it"; repeats count once.
    """
    if result.coverage is None:
        return {}
    said = {}
    for each in result.coverage.covered:
        found = distinct(result.supporting(each))
        reports = sum(only_reports(c.passage.text) for c in found)
        text = "1 passage" if len(found) == 1 else f"{len(found)} passages"
        sources = _from(found)
        text += f", {sources}" if sources.startswith("all") else f" {sources}"
        if reports:
            whom = "it" if len(found) == 1 else f"{reports} of them"
            text += f"; {whom} only {'reports' if reports == 1 else 'report'} what others say"
        said[each.id] = text
    return said


def distinct(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates without those that repeat an earlier one."""
    first = first_copies([each.passage.text for each in candidates])
    return [each for place, each in enumerate(candidates) if first[place] == place]


def leaning_only(result: RetrievalResult) -> list[Candidate]:
    """The candidates that perhaps support a perspective and are listed under none, nor mixed."""
    found = []
    for candidate in result.candidates:
        verdicts = set(result.verdicts_on(candidate).values())
        if "leaning" in verdicts and not verdicts & {"clear", "mixed"}:
            found.append(candidate)
    return found


def one_source(candidates: Sequence[Candidate]) -> bool:
    """Whether several candidates are all from one source."""
    return len(candidates) > 1 and len({source_of(each.passage) for each in candidates}) == 1


def _side(perspective: Perspective, among: Sequence[Perspective]) -> str:
    if len({each.claim for each in among}) == 1 and perspective.stance is not None:
        return "for" if perspective.stance == "support" else "against"
    return f'for "{perspective.text.rstrip(" .")}"'


def _from(candidates: Sequence[Candidate]) -> str:
    count = len({source_of(each.passage) for each in candidates})
    number = _NUMBERS[count] if count < len(_NUMBERS) else str(count)
    every = "all from" if len(candidates) > count else "from"
    return f"{every} {number} source{'' if count == 1 else 's'}"


def _resting(result: RetrievalResult, listed: dict[str, list[Candidate]]) -> str:
    """Which of several sides rest on one source."""
    if len(result.perspectives) < 2:
        return ""
    said = [
        f"what is {_side(each, result.perspectives)} rests on one source"
        for each in result.perspectives
        if one_source(listed[each.id])
    ]
    every = {source_of(c.passage) for found in listed.values() for c in found}
    return f"; {', '.join(said)}" if said and len(every) > 1 else ""
