"""What of an answer holds, which sides it has, and how even they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.answers.data import Case
from benchmarks.answers.methods import Reply, Said
from perspective_rag import Claim, run
from perspective_rag.answer.answer import check_claim
from perspective_rag.extend import Judge
from perspective_rag.text import words

FIGURES = {
    "cited": "sentences with a valid citation",
    "precision": "of those, borne out by what they cite (judge)",
    "overlap": "of a sentence's longer words, in what it cites",
    "covered": "sides covered, of those in the corpus (labels)",
    "balance": "balance of the sides cited (labels)",
    "words": "words of an answer",
    "abstained": "no answer where the corpus is silent",
    "answered": "an answer where it is not",
    "dropped": "sentences dropped by the check, an answer",
    "fallback": "answers quoted instead, as the model's reply held no citation",
}
_LEAST_LETTERS = 5


def row(case: Case, reply: Reply, judge: Judge) -> dict[str, Any]:
    """The counts of one answer."""
    said = reply.sentences
    cited = [each for each in said if each.citations]
    texts = {c.passage.id: c.passage.text for c in reply.result.candidates}
    said_of = [Claim(each.text, each.citations) for each in cited]
    held = [run(check_claim(each, reply.result, judge)) for each in said_of]
    counts = [
        sum(place in case.gold.get(name, ()) for each in cited for name in set(each.citations))
        for place in range(len(case.sides))
    ]
    there = {side for sides in case.gold.values() for side in sides}
    return {
        "case": case.id,
        "answerable": case.answerable,
        "sentences": len(said),
        "cited": sum(_valid(each) for each in said),
        "borne_out": sum(claim.verified is True or claim.checked == "quoted" for claim in held),
        "overlap": [_overlap(each, texts) for each in cited],
        "words": sum(len(words(each.text)) for each in said),
        "sides": counts,
        "sides_there": sorted(there),
        "dropped": reply.dropped,
        "failed": reply.failed,
    }


def figures(rows: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """The figures of one way to answer, over all answers; None where nothing can be said."""
    asked = [each for each in rows if each["answerable"]]
    silent = [each for each in rows if not each["answerable"]]
    said = sum(each["sentences"] for each in asked)
    cited = sum(each["cited"] for each in asked)
    labelled = [each for each in asked if each["sides_there"]]
    two = [each for each in labelled if len(each["sides_there"]) > 1]
    return {
        "cited": _share(cited, said),
        "precision": _share(sum(each["borne_out"] for each in asked), cited),
        "overlap": mean(value for each in asked for value in each["overlap"]),
        "covered": mean(_covered(each) for each in labelled),
        "balance": mean(_balance(each) for each in two),
        "words": mean(each["words"] for each in asked),
        "abstained": mean(float(not each["sentences"]) for each in silent),
        "answered": mean(float(each["sentences"] > 0) for each in asked),
        "dropped": mean(each["dropped"] for each in asked),
        "fallback": mean(float(each["failed"]) for each in asked),
    }


def _valid(said: Said) -> bool:
    """At least one citation, and none of a passage that does not exist."""
    return bool(said.citations) and said.marks <= len(said.citations)


def _overlap(said: Said, texts: Mapping[str, str]) -> float:
    """The share of the sentence's words of five letters or more that stand in what it cites."""
    own = [word for word in words(said.text) if len(word) >= _LEAST_LETTERS]
    there = {word for name in said.citations for word in words(texts.get(name, ""))}
    return sum(word in there for word in own) / len(own) if own else 1.0


def _covered(found: Mapping[str, Any]) -> float:
    there = found["sides_there"]
    return float(sum(found["sides"][side] > 0 for side in there) / len(there))


def _balance(found: Mapping[str, Any]) -> float:
    """The least cited side over the most cited: 1 is even, 0 leaves one out."""
    counts = [found["sides"][side] for side in found["sides_there"]]
    return min(counts) / max(counts) if max(counts) else 0.0


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def mean(values: Iterable[float]) -> float | None:
    """Their mean; None of nothing."""
    found = list(values)
    return sum(found) / len(found) if found else None
