"""A result as a page shows it: one column a side, one card a passage, everything plain values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from perspective_rag import Candidate, Perspective, Proof, RetrievalResult
from perspective_rag.addons import (
    Origin,
    State,
    citation_keys,
    first_copies,
    grouped,
    nothing_for,
    one_source,
    only_reports,
    origin_of,
    printable,
    side_name,
    standing,
    without_headings,
)
from perspective_rag.addons import span_of as span_of
from perspective_rag_serve.key_points import KeyPoint

LONGEST_TEXT = 20_000
"""Characters of a passage that a card shows."""


@dataclass(frozen=True, slots=True)
class Why:
    """Why a passage is there: its scores by stage, the queries that found it, and P(support) by the
    perspective's text, None where it was not judged.
    """

    scores: dict[str, float]
    found_by: tuple[str, ...]
    support: dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Card:
    """One passage, with the others that say the same folded into it.

    ``n`` is the number it is cited by, from 1. ``highlight`` is the judge's own proof of its side,
    else the sentence that supports it, as (start, end) in ``text``, counted in UTF-16 code units as
    JavaScript does. ``reported``: it tells what others say. ``copies`` counts the near-duplicates
    that it stands for.
    """

    n: int
    id: str
    title: str
    source: str
    url: str | None
    date: str | None
    leaning: str | None
    text: str
    highlight: tuple[int, int] | None
    state: State
    reported: bool
    copies: int
    why: Why


@dataclass(frozen=True, slots=True)
class Point:
    """An argument that several cards make, by their numbers."""

    text: str
    cards: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SideView:
    """A perspective with its cards, strongest first, and the queries that searched for it.

    ``name``: "For" or "Against", where it has one; ``empty``: what stands where there is no card.
    ``one_source``: all of several cards are from one source, while the whole result is not.
    ``points``: the arguments that several of the cards share.
    """

    id: str
    text: str
    name: str
    weight: float
    cards: tuple[Card, ...]
    searched: tuple[str, ...]
    one_source: bool
    empty: str = ""
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class View:
    """A whole result.

    ``titles`` says what stands above ``mixed``, ``neither`` and ``unsorted`` (``Groups``), and
    ``citations`` by which card's number a claim's citation is shown.
    """

    question: str
    headline: str
    says_nothing: bool
    caution: str
    sides: tuple[SideView, ...]
    mixed: tuple[Card, ...]
    neither: tuple[Card, ...]
    unsorted: tuple[Card, ...]
    titles: Mapping[str, str] = field(default_factory=dict)
    citations: Mapping[str, int] = field(default_factory=dict)

    @property
    def cards(self) -> dict[int, Card]:
        """Every card by its number."""
        columns = [side.cards for side in self.sides]
        columns += [self.mixed, self.neither, self.unsorted]
        return {card.n: card for column in columns for card in column}

    def to_dict(self) -> dict[str, Any]:
        """The view as JSON-ready values, without ``citations``."""
        from dataclasses import asdict

        values = asdict(self)
        del values["citations"]
        return values


def view_of(
    result: RetrievalResult,
    sentences: Mapping[tuple[int, str], str] | None = None,
    points: Mapping[str, Sequence[KeyPoint]] | None = None,
) -> View:
    """The view of a result; ``sentences`` are those of ``supporting_sentences``, to be marked, and
    ``points`` those of ``key_points``.
    """
    marked = sentences or {}
    groups = grouped(result)
    shown: dict[int, int] = {}  # each place, and the place of the card that stands for it

    def cards(places: Sequence[int], perspective: Perspective | None = None) -> tuple[Card, ...]:
        first = first_copies([result.candidates[i].passage.text for i in places])
        copies: dict[int, list[int]] = {}
        for place, same in zip(places, first, strict=True):
            copies.setdefault(places[same], []).append(place)
            shown.setdefault(place, places[same])
        return tuple(
            _card(
                result,
                place,
                marked.get((place, perspective.id)) if perspective else None,
                len(same) - 1,
                result.candidates[place].proofs.get(perspective.id) if perspective else None,
            )
            for place, same in copies.items()
        )

    every_from_one = one_source(result.candidates)
    sides = []
    for each in result.perspectives:
        places = groups.listed[each.id]
        own = cards(places, each)
        sides.append(
            SideView(
                each.id,
                printable(each.text),
                printable(side_name(result, each)),
                each.weight,
                own,
                _searched(result, each),
                one_source([result.candidates[i] for i in places]) and not every_from_one,
                "" if own else nothing_for(result),
                _points((points or {}).get(each.id, ()), shown),
            )
        )
    mixed, neither, unsorted = map(cards, (groups.mixed, groups.neither, groups.unsorted))
    keys = citation_keys(result.candidates)
    return View(
        printable(result.question),
        standing(result),
        result.says_nothing,
        result.caution,
        tuple(sides),
        mixed,
        neither,
        unsorted,
        groups.titles,
        {keys[place]: stands + 1 for place, stands in shown.items()},
    )


def _points(points: Sequence[KeyPoint], shown: Mapping[int, int]) -> tuple[Point, ...]:
    """Points of two cards or more, near-duplicates counted as the card that stands for them."""
    numbered = [
        Point(printable(each.text), tuple(dict.fromkeys(shown[i] + 1 for i in each.places)))
        for each in points
    ]
    return tuple(each for each in numbered if len(each.cards) > 1)


def _searched(result: RetrievalResult, perspective: Perspective) -> tuple[str, ...]:
    own = [q.text for q in result.trace.queries if q.perspective == perspective.id]
    return tuple(dict.fromkeys(map(printable, own)))


def _card(
    result: RetrievalResult, place: int, sentence: str | None, copies: int, proof: Proof | None
) -> Card:
    candidate = result.candidates[place]
    passage = candidate.passage
    text = without_headings(printable(passage.text))
    span = span_of(sentence, text) if sentence else None
    if proof is not None:
        span = span_of(proof.of(passage), text) or span
    text, span = _shortened(text, span)
    origin: Origin = origin_of(passage)
    return Card(
        n=place + 1,
        id=printable(passage.id),
        title=origin.title,
        source=origin.source,
        url=origin.url,
        date=origin.date,
        leaning=origin.leaning,
        text=text,
        highlight=None if span is None else in_utf16(text, span),
        state=result.coverage.states[place],
        reported=only_reports(passage.text),
        copies=copies,
        why=_why(result, candidate),
    )


def _why(result: RetrievalResult, candidate: Candidate) -> Why:
    support: dict[str, float | None] = {}
    for each in result.perspectives:
        known = candidate.support.get(each.id)
        support[printable(each.text)] = None if known is None or math.isnan(known) else float(known)
    return Why(
        {printable(name): float(v) for name, v in candidate.scores.items() if math.isfinite(v)},
        tuple(map(printable, candidate.found_by)),
        support,
    )


def in_utf16(text: str, span: tuple[int, int]) -> tuple[int, int]:
    """A span in characters as one in UTF-16 code units."""
    start = len(text[: span[0]].encode("utf-16-le")) // 2
    return start, start + len(text[span[0] : span[1]].encode("utf-16-le")) // 2


def _shortened(text: str, span: tuple[int, int] | None) -> tuple[str, tuple[int, int] | None]:
    """At most ``LONGEST_TEXT`` characters of a text, with the span in them if it fits."""
    if len(text) <= LONGEST_TEXT:
        return text, span
    start = 0 if span is None or span[1] <= LONGEST_TEXT else max(0, span[0] - LONGEST_TEXT // 4)
    cut = text[start : start + LONGEST_TEXT]
    head, tail = "… " if start else "", " …" if start + LONGEST_TEXT < len(text) else ""
    if span is not None and span[1] - start <= len(cut):
        span = span[0] - start + len(head), span[1] - start + len(head)
    else:
        span = None
    return f"{head}{cut}{tail}", span
