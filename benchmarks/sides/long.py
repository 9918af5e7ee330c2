"""Long chunks: is a passage that takes a side still found among text that takes none?

Chunks of 500 to 1,000 tokens are composed from one's own debates: a passage that supports one side
of a question, at the start, in the middle or at the end of passages about other questions. A chunk
is a corpus of its own, without a title.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.sides.asking import Bench
from perspective_rag import Corpus, Hit, Passage
from perspective_rag.addons import PACKAGED_FLOOR, json_lines, text_key
from perspective_rag.text import words

PLACES = ("alone", "at the start", "in the middle", "at the end")
WORDS = 500
"""Words of a chunk, about 650 tokens."""
A_SIDE = 2
"""Passages of each side of a question."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A passage that supports one of a question's two sides; ``silence`` are passages about others.

    ``side`` is the place of that side in ``sides``.
    """

    question: str
    sides: tuple[str, str]
    side: int
    passage: Passage
    silence: tuple[str, ...]

    def chunk(self, place: str) -> str:
        """The passage at a place of a text of about ``WORDS`` words."""
        around = [] if place == PLACES[0] else list(self.silence)
        cut = {PLACES[1]: 0, PLACES[2]: len(around) // 2, PLACES[3]: len(around)}.get(place, 0)
        return " ".join([*around[:cut], self.passage.text, *around[cut:]])


def arguments(debates: Path, *, a_side: int = A_SIDE) -> list[Argument]:
    """For each side of every question with two the passages with most of the question's words.

    Of the others many speak of the matter in pictures, and are lost without any silence around.
    """
    passages = {each.id: each for each in Corpus.load(debates / "passages.jsonl").passages}
    labels = [row for _, row in json_lines(debates / "labels.jsonl")]
    found: list[Argument] = []
    for _, row in json_lines(debates / "questions.jsonl"):
        ids = [each["id"] for each in row["perspectives"]]
        if len(ids) != 2:
            continue
        sides = (row["perspectives"][0]["text"], row["perspectives"][1]["text"])
        aside = [each["passage"] for each in labels if each["question"] != row["id"]]
        others = [passages[name].text for name in aside]
        for side, name in enumerate(ids):
            own = [
                passages[each["passage"]]
                for each in labels
                if each["question"] == row["id"] and each["supports"] == [name]
            ]
            asked = set(words(row["question"]))
            own.sort(key=lambda each: -len(asked & set(words(each.text))))
            for number, passage in enumerate(own[:a_side]):
                start = (7 * len(found) + number) % len(others)
                silence = _until(others[start:] + others[:start], WORDS)
                found.append(Argument(row["question"], sides, side, passage, silence))
    return found


def _until(texts: Sequence[str], size: int) -> tuple[str, ...]:
    """The first texts that hold so many words together."""
    kept: list[str] = []
    while texts and sum(len(each.split()) for each in kept) < size - 60:
        kept.append(texts[len(kept)])
    return tuple(kept)


def read_chunks(
    bench: Bench, asked: Sequence[Argument], on_chunk: Callable[[], None]
) -> dict[str, Any]:
    """For each place how many chunks are listed under their side, how many under the other, how
    many count as not about the question, and how many answers quote the passage itself.
    """
    rows: dict[str, Counter[str]] = {place: Counter() for place in PLACES}
    for each in asked:
        for place in PLACES:
            rows[place].update(_outcome(bench, each, place))
            on_chunk()
    return {"chunks": len(asked), "rows": {place: dict(counts) for place, counts in rows.items()}}


def _outcome(bench: Bench, each: Argument, place: str) -> Mapping[str, int]:
    chunk = Passage("chunk", each.chunk(place))
    pipeline = bench.over(Corpus([chunk]))
    hits = [Hit(chunk)]
    # Of one passage alone nobody can ask that the best of many be near: the passage floor counts.
    result = pipeline.choose(
        each.question,
        hits,
        perspectives=list(each.sides),
        k=1,
        relevance_floor=PACKAGED_FLOOR.passage,
    )
    texts = [perspective.text for perspective in result.perspectives]
    listed = [texts.index(p.text) for p in result.supports(result.candidates[0])]
    quoted = [
        claim
        for claim in pipeline.answer(result).claims
        if text_key(claim.text) in text_key(each.passage.text)
    ]
    return {
        "listed": int(each.side in listed),
        "opposing": int(1 - each.side in listed),
        "not_about_it": int(result.says_nothing),
        "quoted": int(bool(quoted)),
        "degradations": len(result.trace.degradations),
    }
