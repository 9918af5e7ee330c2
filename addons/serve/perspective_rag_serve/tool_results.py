"""What the tools return: typed, so that their schemas tell a model what to expect."""

from __future__ import annotations

from pydantic import BaseModel, Field

from perspective_rag.addons import State, Verdict, first_copies, printable
from perspective_rag_serve.asking import Reply
from perspective_rag_serve.failures import told
from perspective_rag_serve.judging import Chosen
from perspective_rag_serve.view import Card


class FoundPassage(BaseModel):
    """A passage; ``sentence`` is the one that supports the side it stands under."""

    n: int = Field(description="the number to cite it by")
    id: str
    title: str
    source: str
    url: str | None
    date: str | None
    text: str
    sentence: str | None
    reported: bool = Field(description="it tells what others say")
    copies: int = Field(description="near-duplicates folded into it")


class FoundSide(BaseModel):
    """A side and the passages sorted under it; none: the judge could sort none under it."""

    id: str
    text: str
    passages: list[FoundPassage]
    one_source: bool = Field(description="all of one known author, address or debate")


class FoundClaim(BaseModel):
    """A sentence of the answer, and the numbers of the passages it rests on."""

    text: str
    citations: list[int]
    side: str | None


class SearchResult(BaseModel):
    """Every side of a question."""

    question: str
    reading: str
    headline: str
    says_nothing: bool = Field(description="the corpus holds nothing about the question")
    caution: str
    sides: list[FoundSide]
    missing: list[str] = Field(description="the sides under which no passage is sorted")
    mixed: list[FoundPassage] = Field(description="argue both ways")
    neither: list[FoundPassage] = Field(description="about the question, surely taking no side")
    unsorted: list[FoundPassage] = Field(description="the judge cannot tell: read them")
    answer: list[FoundClaim]
    degradations: list[str]


class JudgedSide(BaseModel):
    """What a passage says of a side; the probability is null where the judge did not read it."""

    side: str
    verdict: Verdict
    probability: float | None


class JudgedPassage(BaseModel):
    """A passage by its place among those given, from 1."""

    n: int
    state: State = Field(description="how it stands to the sides; not sorted: read it")
    related: bool | None = Field(description="about the question; null: not known")
    sides: list[JudgedSide]


class JudgeResult(BaseModel):
    """The judge's verdicts on the caller's passages."""

    question: str
    sides: list[str]
    passages: list[JudgedPassage]
    degradations: list[str]


class AuditedSide(BaseModel):
    """How often a side is shown, and how early; ``first`` is null where it is not."""

    side: str
    passages: int
    first: int | None


class AuditResult(BaseModel):
    """Whether a retrieved list shows every side of its question."""

    question: str
    complete: bool
    sides: list[AuditedSide]
    missing: list[str]
    mixed: list[int]
    unrelated: list[int]
    copies: list[list[int]] = Field(description="groups of passages that say the same")
    next_queries: list[str] = Field(description="what to search for to complete it")
    degradations: list[str]


def searched(reply: Reply) -> SearchResult:
    """What ``search_perspectives`` returns."""
    view = reply.view
    return SearchResult(
        question=view.question,
        reading=reply.reading["text"],
        headline=view.headline,
        says_nothing=view.says_nothing,
        caution=view.caution,
        sides=[
            FoundSide(
                id=side.id,
                text=side.text,
                passages=[_passage(card) for card in side.cards],
                one_source=side.one_source,
            )
            for side in view.sides
        ],
        missing=[side.text for side in view.sides if not side.cards],
        mixed=[_passage(card) for card in view.mixed],
        neither=[_passage(card) for card in view.neither],
        unsorted=[_passage(card) for card in view.unsorted],
        answer=[
            FoundClaim(text=each["text"], citations=each["citations"], side=each["perspective"])
            for each in reply.answer["claims"]
        ],
        degradations=reply.done["degradations"],
    )


def _passage(card: Card) -> FoundPassage:
    sentence = None
    if card.highlight is not None:
        start, end = card.highlight
        sentence = card.text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")
    names = ("n", "id", "title", "source", "url", "date", "text", "reported", "copies")
    return FoundPassage(sentence=sentence, **{name: getattr(card, name) for name in names})


def judged(chosen: Chosen) -> JudgeResult:
    """What ``judge_support`` returns of a result that was judged."""
    result, coverage = chosen.result, chosen.result.coverage
    rows = []
    for row, place in enumerate(chosen.places):
        sides = []
        for column, each in enumerate(coverage.perspectives):
            value = float(coverage.support[row, column])
            verdict = coverage.verdicts[row, column].item()
            known = None if value != value else value  # NaN: not judged
            sides.append(JudgedSide(side=printable(each.text), verdict=verdict, probability=known))
        about = None if result.related is None else bool(result.related[row])
        rows.append(
            JudgedPassage(n=place + 1, state=coverage.states[row], related=about, sides=sides)
        )
    return JudgeResult(
        question=printable(result.question),
        sides=[printable(each.text) for each in coverage.perspectives],
        passages=sorted(rows, key=lambda each: each.n),
        degradations=list(dict.fromkeys(map(told, result.trace.degradations))),
    )


def audited(chosen: Chosen, passages: list[str]) -> AuditResult:
    """What ``audit_retrieval`` returns of a result that was judged."""
    result, coverage = chosen.result, chosen.result.coverage
    sides = []
    for each in coverage.perspectives:
        places = sorted(chosen.places[row] + 1 for row in result.places("clear", each))
        text = printable(each.text)
        sides.append(AuditedSide(side=text, passages=len(places), first=min(places, default=None)))
    mixed = (coverage.verdicts == "mixed").any(axis=1).tolist()
    about = [True] * len(mixed) if result.related is None else result.related.tolist()
    groups: dict[int, list[int]] = {}
    for place, first in enumerate(first_copies(passages)):
        groups.setdefault(first, []).append(place + 1)
    return AuditResult(
        question=printable(result.question),
        complete=coverage.complete,
        sides=sides,
        missing=[side.side for side in sides if not side.passages],
        mixed=sorted(p + 1 for p, there in zip(chosen.places, mixed, strict=True) if there),
        unrelated=sorted(p + 1 for p, there in zip(chosen.places, about, strict=True) if not there),
        copies=[group for group in groups.values() if len(group) > 1],
        next_queries=list(coverage.next_queries),
        degradations=list(dict.fromkeys(map(told, result.trace.degradations))),
    )
