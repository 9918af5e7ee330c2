"""An answer written by a language model from the passages, with a citation for each claim."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from perspective_rag.answer.citations import MARK, citation_keys, without_marks
from perspective_rag.answer.extractive import ExtractiveAnswerer
from perspective_rag.answer.standing import standing, unread
from perspective_rag.answer.streaming import StreamedReply
from perspective_rag.errors import LLMError, LLMReplyError, count
from perspective_rag.flow.request import degrade
from perspective_rag.flow.steps import Flow, Reply, ask, call, complete
from perspective_rag.prompts import fence, load_prompt, shorten
from perspective_rag.prompts.replies import bad_reply, parse_json, parse_list, reply_text
from perspective_rag.protocols import LLM, Answerer, StreamsText
from perspective_rag.text import split_sentences, text_key
from perspective_rag.types import Answer, Claim, Completion, Prompt, RetrievalResult

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "quote": {"type": "string"},
                    "citations": {"type": "array", "items": {"type": "integer"}},
                    "perspective": {"type": ["string", "null"]},
                },
                "required": ["text", "quote", "citations", "perspective"],
                "additionalProperties": False,
            },
        },
        "missing": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["claims", "missing"],
    "additionalProperties": False,
}

_MOST_MISSING, _LONGEST_MISSING = 3, 300
# "Zoos help. [1] They ..." cites for the sentence before.
_LATE_MARK = re.compile(
    rf"([.!?。！？])((?:{MARK.pattern})+)".replace("(\\d{1,3}(", "(?:\\d{1,3}(")
)


@dataclass(slots=True)
class _Reading:
    """The claims of a reply, and what of it could not stand."""

    claims: list[Claim] = field(default_factory=list)
    missing: tuple[str, ...] = ()
    invented: list[int] = field(default_factory=list)
    dropped: int = 0
    broken: bool = False


class GroundedAnswerer:
    """Asks a language model for claims with citations, perspective by perspective.

    Args:
        llm: The model.
        prompt: A file that replaces ``prompts/grounded_answer.txt``.
        max_characters_per_passage: A longer passage is cut. More: the model reads more, and costs
            more.
        max_tokens: Maximum number of tokens of the reply.
        fallback: Answers when the model fails or its reply holds no claim that cites a passage.
            None: ``ExtractiveAnswerer``.

    Raises:
        ConfigError: A number is below 1, or the prompt cannot be used.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        prompt: str | Path | None = None,
        max_characters_per_passage: int = 1500,
        max_tokens: int = 1024,
        fallback: Answerer | None = None,
    ) -> None:
        self.llm = llm
        self.template = load_prompt("grounded_answer", prompt)
        self.max_characters = count("max_characters_per_passage", max_characters_per_passage)
        self.max_tokens = count("max_tokens", max_tokens)
        self.fallback: Answerer = fallback or ExtractiveAnswerer()

    def answer(self, result: RetrievalResult) -> Flow[Answer]:
        """Writes the answer; the pipeline then checks its citations and adds the trace.

        Citations of passages that do not exist are removed, and claims left without one are
        dropped; both are recorded. No passages, or none about the question, give no claims and cost
        no call.

        Args:
            result: What the pipeline found.

        Returns:
            The claims; ``unsupported`` are the perspectives that no passage supports and no claim
            speaks for.
        """
        return self.answer_telling(result, None)

    def answer_telling(
        self, result: RetrievalResult, tell: Callable[[Claim], None] | None
    ) -> Flow[Answer]:
        """Writes the answer and tells of each claim as soon as it is complete.

        Claims come early only from a model that gives its reply piece by piece (``StreamsText``).

        Args:
            result: What the pipeline found.
            tell: Called with each claim. None: nobody is told.

        Returns:
            As ``answer``.
        """
        summary = standing(result)
        places = _arranged(result)
        if not places or result.says_nothing:
            return Answer((), result.perspectives, summary=summary)
        prompt = self._prompt(result, places)
        own_keys = citation_keys(result.candidates)
        keys = [own_keys[place] for place in places]
        known = {p.id for p in result.perspectives}
        reply = Reply()
        if tell is not None and isinstance(self.llm, StreamsText):
            hear = partial(_tell, keys=keys, known=known, tell=tell)
            reply = yield from _streamed(self.llm, prompt, hear)
        if reply.value is None:  # not streamed, or the server cannot
            reply = (yield from ask("answer", self.llm, [prompt]))[0]
        try:
            text = reply_text(reply, prompt)
            reading = _read(text, prompt, keys, known)
            if not reading.claims:
                raise bad_reply("no claim cites a passage that was shown", text, prompt)
        except LLMError as error:
            degrade("answer", "no answer by the model: the fallback was used", error)
            instead = self.fallback.answer(result)
            answer: Answer = yield from complete(instead, "fallback answerer", "an Answer")
            return answer
        for message in _complaints(reading):
            degrade("answer", message, bad_reply(message, text, prompt))
        claimed = {claim.perspective for claim in reading.claims}
        unsupported = tuple(
            p
            for p in result.perspectives
            if result.coverage.judged and not result.supporting(p) and p.id not in claimed
        )
        claims = tuple(reading.claims)
        return Answer(claims, unsupported, summary=summary, missing=reading.missing)

    def _prompt(self, result: RetrievalResult, places: Sequence[int]) -> Prompt:
        number = {place: i for i, place in enumerate(places, start=1)}
        passages = [result.candidates[place].passage for place in places]
        lines = []
        for perspective in result.perspectives:
            shown = [f"[{number[place]}]" for place in result.places("clear", perspective)]
            if not result.coverage.judged or unread(result):
                held = "passages were not assigned"
            else:
                held = f"supported by {', '.join(shown)}" if shown else "supported by no passage"
            lines.append(f"{perspective.id}: {perspective.text} ({held})")
        filled = self.template.fill(
            question=result.question,
            perspectives="\n".join(lines) or "(none)",
            # A mark in a passage is not ours: copied into a claim it would cite another passage.
            passages=fence([shorten(without_marks(p.text), self.max_characters) for p in passages]),
        )
        return replace(filled, schema=SCHEMA, max_tokens=self.max_tokens)


def _streamed(llm: StreamsText, prompt: Prompt, hear: Callable[[Any], None]) -> Flow[Reply]:
    """The whole reply, or what came of it before it broke off; without a value where nothing came.
    ``hear`` gets each item of its claims once it is complete.
    """
    writing: StreamedReply | None = None
    try:
        opened = yield from call("answer", StreamedReply, llm, prompt)
        if opened.error is not None:
            return opened
        writing = opened.value
        assert writing is not None
        while not writing.done:
            reply = yield from call("answer", writing.step)
            if reply.error is not None:
                if not writing.text:
                    return reply
                degrade("answer", "the reply broke off", reply.error)
                break
            for item in reply.value:
                hear(item)
        return Reply(Completion(writing.text))
    finally:
        if writing is not None:
            writing.stop()  # interrupted: nobody reads on


def _tell(item: Any, keys: Sequence[str], known: set[str], tell: Callable[[Claim], None]) -> None:
    reading = _Reading()
    _take(item, keys, known, reading, set())
    for claim in reading.claims:
        tell(claim)


def _arranged(result: RetrievalResult) -> list[int]:
    """The places of the candidates by the perspective they support, each once, then those that
    support none.
    """
    ordered = [place for p in result.perspectives for place in result.places("clear", p)]
    return list(dict.fromkeys([*ordered, *range(len(result.candidates))]))


def _read(text: str, prompt: Prompt, keys: Sequence[str], known: set[str]) -> _Reading:
    broken = False
    missing: tuple[str, ...] = ()
    try:
        parsed = parse_json(text, prompt)
    except LLMReplyError:
        items: Any = _plain_claims(text)
    else:
        items = parsed.value.get("claims") if isinstance(parsed.value, dict) else parsed.value
        broken = parsed.broken
        if isinstance(parsed.value, dict):
            missing = _missing(parsed.value.get("missing"))
    if not isinstance(items, list):
        raise bad_reply("the reply holds no claims", text, prompt)
    reading = _Reading(broken=broken, missing=missing)
    seen: set[str] = set()
    for item in items:
        _take(item, keys, known, reading, seen)
    return reading


def _take(
    item: Any, keys: Sequence[str], known: set[str], reading: _Reading, seen: set[str]
) -> None:
    """Adds an item of a reply to the reading, as a claim or as what could not stand."""
    item = {"text": item} if isinstance(item, str) else item
    given = item.get("text") if isinstance(item, Mapping) else None
    words = " ".join(given.split()) if isinstance(given, str) else ""
    claim = MARK.sub("", words).strip()
    if not text_key(claim):
        reading.dropped += 1
        return
    cited = dict.fromkeys([*_numbers(item.get("citations")), *_marks(words)])
    ids = [keys[n - 1] for n in cited if 1 <= n <= len(keys)]
    reading.invented += [n for n in cited if not 1 <= n <= len(keys)]
    perspective = item.get("perspective")
    if not ids:
        reading.dropped += 1
    elif text_key(claim) not in seen:
        seen.add(text_key(claim))
        side = perspective if isinstance(perspective, str) and perspective in known else None
        quote = item.get("quote")
        words = " ".join(quote.split()) if isinstance(quote, str) and text_key(quote) else ""
        reading.claims.append(Claim(claim, tuple(ids), side, quote=MARK.sub("", words).strip()))


def _missing(value: Any) -> tuple[str, ...]:
    """What a reply says that no passage says: a few short lines."""
    items = value if isinstance(value, list) else []
    lines = [" ".join(each.split()) for each in items if isinstance(each, str) and text_key(each)]
    return tuple(line for line in lines[:_MOST_MISSING] if len(line) <= _LONGEST_MISSING)


def _plain_claims(text: str) -> list[Any]:
    """Sentences of a reply without JSON; those that cite nothing are listed too, to be counted."""
    moved = _LATE_MARK.sub(lambda m: m[2] + m[1], text)
    return [sentence for line in parse_list(moved) for sentence in split_sentences(line)]


def _marks(text: str) -> list[int]:
    return [int(number) for mark in MARK.findall(text) for number in re.findall(r"\d+", mark)]


def _numbers(value: Any) -> list[int]:
    items = value if isinstance(value, list) else [value]
    digits = (re.fullmatch(r"\s*\[?(\d{1,3})\]?\s*", str(item)) for item in items)
    return [int(match[1]) for match in digits if match]


def _complaints(reading: _Reading) -> list[str]:
    complaints = ["the reply broke off"] if reading.broken else []
    if reading.invented:
        numbers = ", ".join(str(n) for n in sorted(set(reading.invented)))
        complaints.append(f"citations of passages that do not exist were removed: {numbers}")
    if reading.dropped:
        complaints.append(f"{reading.dropped} claims without a text or a citation were dropped")
    return complaints
