"""One question of a client, from the request to the view and the answer."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from perspective_rag import (
    Claim,
    ConfigError,
    Extraction,
    Perspective,
    PerspectivePipeline,
    RetrievalResult,
)
from perspective_rag.addons import (
    extract_by_rule,
    extraction_of,
    follow_up,
    printable,
    quick_judge,
    supporting_sentences,
    text_key,
)
from perspective_rag.extend import Extractor, Flow, as_perspectives, complete
from perspective_rag_serve.failures import Failure, told
from perspective_rag_serve.key_points import key_points
from perspective_rag_serve.settings import ServeSettings
from perspective_rag_serve.view import View, view_of

Emit = Callable[[str, dict[str, Any]], None]
"""Called with the name of an event and its data."""

LONGEST_SIDE = 300
MOST_TURNS = 10
"""Earlier questions of a conversation that a follow-up is read with, the last ones."""

FURTHER = 3
"""How much more is fetched, judged and searched again for a side that is searched for further."""


class Side(BaseModel):
    """A side to cover; a higher weight makes its coverage count more in the choice."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(min_length=1, max_length=LONGEST_SIDE)
    weight: float = Field(default=1.0, gt=0.0, le=100.0)

    @field_validator("text")
    @classmethod
    def _says_something(cls, text: str) -> str:
        if not text_key(text):
            raise ValueError("a side must hold a word")
        return " ".join(text.split())


class Asked(BaseModel):
    """The body of ``POST /api/ask``; ``previous`` holds the questions before, oldest first, or the
    last one alone.
    """

    model_config = ConfigDict(extra="forbid")
    question: str = Field(min_length=1, max_length=20_000)
    perspectives: list[Side] | None = Field(default=None, max_length=50)
    previous: Annotated[list[str], Field(max_length=MOST_TURNS)] | str | None = None
    further: str | None = Field(default=None, max_length=LONGEST_SIDE)
    k: int | None = Field(default=None, ge=1)

    @field_validator("question")
    @classmethod
    def _holds_a_word(cls, question: str) -> str:
        if not text_key(question):
            raise ValueError("ask a question: there is no word in it")
        return " ".join(question.split())

    @field_validator("perspectives")
    @classmethod
    def _differ(cls, sides: list[Side] | None) -> list[Side] | None:
        as_perspectives([each.text for each in sides or ()])
        return sides

    def check(self, settings: ServeSettings) -> None:
        """Raises Failure for what passes the operator's limits."""
        earlier = self.previous or []
        for each in (self.question, *([earlier] if isinstance(earlier, str) else earlier)):
            if len(each) > settings.longest_question:
                said = f"a question may have at most {settings.longest_question} characters"
                raise Failure(413, "request", said)
        if len(self.perspectives or ()) > settings.most_perspectives:
            said = f"at most {settings.most_perspectives} sides can be asked for"
            raise Failure(422, "request", said)
        if (self.k or 1) > settings.most_k:
            raise Failure(422, "request", f"k may be at most {settings.most_k}")


@dataclass(frozen=True, slots=True)
class Reply:
    """Everything that came of a question; ``answer_tokens`` are those of the answer's prompts and
    of what was written.
    """

    reading: dict[str, Any]
    view: View
    answer: dict[str, Any]
    done: dict[str, Any]
    result: RetrievalResult
    answer_tokens: tuple[int, int] = (0, 0)

    def to_dict(self) -> dict[str, Any]:
        """The JSON reply of ``POST /api/ask``."""
        return {
            "reading": self.reading,
            "view": self.view.to_dict(),
            "answer": self.answer,
            "done": self.done,
        }


async def reply_to(
    pipeline: PerspectivePipeline,
    asked: Asked,
    settings: ServeSettings,
    emit: Emit = lambda name, data: None,
) -> Reply:
    """Retrieves, marks and answers, telling ``emit`` of each part as soon as it is known.

    Raises Failure for a request that cannot be used, and what the pipeline raises.
    """
    asked.check(settings)
    started = time.monotonic()
    question = asked.question
    if asked.previous:
        question = follow_up(question, asked.previous)
    told_reading: list[dict[str, Any]] = []

    def tell_reading(reading: dict[str, Any]) -> None:
        if reading not in told_reading:
            told_reading.append(reading)
            emit("reading", reading)

    def found(extraction: Extraction) -> None:
        if extraction.perspectives:
            tell_reading(_reading(question, extraction.reading, extraction.kind,
                                  extraction.perspectives))  # fmt: skip

    one = copy.copy(pipeline)  # holds nothing of a request but its extractor
    one.extractor = _Telling(pipeline.extractor, found)
    options = _options(pipeline, asked, settings)
    try:
        perspectives = None if asked.perspectives is None else sides_of(question, asked)
        one.request(question, **options)
    except ConfigError as error:
        raise Failure(422, "request", str(error)) from error
    result = await one.aretrieve(question, perspectives=perspectives, **options)
    reading = _reading(question, result.reading, result.kind, result.perspectives, result.caution)
    tell_reading(reading)
    request = one.request(question, **options)
    marking = supporting_sentences(quick_judge(pipeline.judge), result)
    sentences = await one.arun_step(marking, request)
    points = await one.arun_step(key_points(pipeline.embedder, result, sentences), request)
    view = view_of(result, sentences, points)
    emit("result", view.to_dict())
    answer = await one.aanswer(
        result, on_claim=lambda claim: emit("claim", shown_claim(claim, view))
    )
    claims = [shown_claim(claim, view) for claim in answer.claims]
    said = {
        "summary": printable(answer.summary),
        "unsupported": [each.id for each in answer.unsupported],
        "missing": [printable(each) for each in answer.missing],
        "strength": {name: printable(text) for name, text in answer.strength.items()},
    }
    emit("answer", said)
    problems = [*result.trace.degradations, *request.recorder.degradations]
    problems += answer.trace.degradations
    done = {
        "seconds": round(time.monotonic() - started, 3),
        "searches": len(result.trace.queries),
        "judged_pairs": result.trace.counts.get("judged_pairs", 0),
        "degradations": list(dict.fromkeys(map(told, problems))),
    }
    emit("done", done)
    tokens = answer.trace.prompt_tokens, answer.trace.completion_tokens
    return Reply(reading, view, {**said, "claims": claims}, done, result, tokens)


def shown_claim(claim: Claim, view: View) -> dict[str, Any]:
    """A claim with the numbers of the cards it cites."""
    numbers = [view.citations[key] for key in claim.citations if key in view.citations]
    return {
        "text": printable(claim.text),
        "citations": list(dict.fromkeys(numbers)),
        "perspective": claim.perspective,
        "reported": claim.reported,
        "verified": claim.verified,
        "checked": claim.checked,
        "quote": printable(claim.quote),
    }


def sides_of(question: str, asked: Asked) -> list[Perspective]:
    """The sides of a request as perspectives. Those that the question itself has keep their claim
    and stance, so that the two of them still exclude each other.
    """
    given = asked.perspectives or []
    texts = [each.text for each in given]
    own = {text_key(each.text): each for each in extract_by_rule(question).perspectives}
    made: list[Perspective] = []
    stated = extraction_of(question, texts).perspectives
    for number, (side, each) in enumerate(zip(given, stated, strict=True), start=1):
        known = own.pop(text_key(each.text), None)
        made.append(replace(known or replace(each, id=f"p{number}"), weight=side.weight))
    return made


def _options(
    pipeline: PerspectivePipeline, asked: Asked, settings: ServeSettings
) -> dict[str, Any]:
    options: dict[str, Any] = {"k": asked.k or settings.k}
    if asked.further is not None:
        given = pipeline.options
        for name in ("fetch_k", "judge_k", "guard_searches", "max_queries"):
            options[name] = FURTHER * getattr(given, name)
    return options


def _reading(
    question: str,
    text: str,
    kind: str,
    perspectives: Sequence[Perspective],
    caution: str = "",
) -> dict[str, Any]:
    sides = [
        {"id": each.id, "text": printable(each.text), "weight": each.weight}
        for each in perspectives
    ]
    if not text and sides:
        text = "I understood: " + " / ".join(f"'{side['text']}'" for side in sides)
    return {
        "text": printable(text),
        "question": printable(question),
        "kind": kind,
        "perspectives": sides,
        "caution": caution,
    }


class _Telling:
    """An extractor that tells what another one found, as soon as it is known."""

    def __init__(self, inner: Extractor, tell: Callable[[Extraction], None]) -> None:
        self.inner = inner
        self.tell = tell

    def extract(self, question: str) -> Flow[Extraction]:
        """What the other one finds."""
        name = f"extractor {type(self.inner).__name__}"
        returns = "an Extraction or a list of perspectives"
        found: Extraction = yield from complete(self.inner.extract(question), name, returns)
        if isinstance(found, Extraction):
            self.tell(found)
        return found
