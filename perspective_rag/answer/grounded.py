"""An answer written by a language model from the passages, with a citation for each claim."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perspective_rag.answer.extractive import ExtractiveAnswerer
from perspective_rag.answer.passages import MARK, citation_keys, without_marks
from perspective_rag.answer.standing import standing, unread
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

LONGEST = 200_000  # characters of a reply that are read
_LONGEST_CLAIM = 8_000  # after more without an end nothing is told before the reply's end
_MOST_MISSING, _LONGEST_MISSING = 3, 300
# "Zoos help. [1] They ..." cites for the sentence before.
_LATE_MARK = re.compile(
    rf"([.!?。！？])((?:{MARK.pattern})+)".replace("(\\d{1,3}(", "(?:\\d{1,3}(")
)


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
        # By the perspective they support, each once, then those that support none.
        supporting = [place for p in result.perspectives for place in result.places("clear", p)]
        places = list(dict.fromkeys([*supporting, *range(len(result.candidates))]))
        if not places or result.says_nothing:
            return Answer((), result.perspectives, summary=summary)
        prompt = self._prompt(result, places)
        own_keys = citation_keys(result.candidates)
        keys = [own_keys[place] for place in places]
        known = {p.id for p in result.perspectives}
        reply = Reply()
        if tell is not None and isinstance(self.llm, StreamsText):

            def hear(item: Any) -> None:
                reading = _Reading(keys, known)
                reading.take(item)
                for claim in reading.claims:
                    tell(claim)

            reply = yield from _streamed(self.llm, prompt, hear)
        if reply.value is None:  # not streamed, or the server cannot
            reply = (yield from ask("answer", self.llm, [prompt]))[0]
        try:
            text = reply_text(reply, prompt)
            reading = _Reading(keys, known)
            reading.read(text, prompt)
            if not reading.claims:
                raise bad_reply("no claim cites a passage that was shown", text, prompt)
        except LLMError as error:
            degrade("answer", "no answer by the model: the fallback was used", error)
            instead = self.fallback.answer(result)
            answer: Answer = yield from complete(instead, "fallback answerer", "an Answer")
            return answer
        for message in reading.complaints():
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
    writing = _Writing()
    try:
        opened = yield from call("answer", writing.open, llm, prompt)
        if opened.error is not None:
            return opened
        while True:
            item = yield from call("answer", next, opened.value, None)
            if item.error is not None:
                if not writing.text:
                    return item
                degrade("answer", "the reply broke off", item.error)
                break
            if item.value is None:
                break
            hear(item.value)
        return Reply(Completion(writing.text))
    finally:
        writing.stopped = True  # interrupted: nobody reads on


@dataclass(slots=True)
class _Writing:
    """A reply that is being written: what has come of it, and whether to stop at the next piece."""

    parts: list[str] = field(default_factory=list)
    stopped: bool = False

    @property
    def text(self) -> str:
        """What has come so far."""
        return "".join(self.parts)

    def open(self, llm: StreamsText, prompt: Prompt) -> Iterator[Any]:
        """The items of its claims, one by one; each blocks until it is complete."""
        return claims_in(self._pieces(iter(llm.stream(prompt))))

    def _pieces(self, pieces: Iterator[str]) -> Iterator[str]:
        length = 0
        for piece in pieces:
            if self.stopped or length > LONGEST:
                break
            self.parts.append(piece)
            length += len(piece)
            yield piece
        close = getattr(pieces, "close", None)
        if close is not None:
            close()


def claims_in(pieces: Iterable[str]) -> Iterator[Any]:
    """The complete objects of the list "claims" in a reply that grows, in time linear in its
    length; a reply without such a list gives none.
    """
    decoder = json.JSONDecoder(strict=False)
    pending, opened, lost = "", False, False
    for piece in pieces:
        if lost:
            continue
        pending += piece
        if not opened:
            name = pending.find('"claims"')
            bracket = pending.find("[", name) if name >= 0 else -1
            opened, pending = bracket >= 0, pending[bracket + 1 :]
        while opened and "}" in piece:
            place = pending.find("{")
            if place < 0 or pending[:place].strip(" \t\r\n,"):
                break
            try:
                value, end = decoder.raw_decode(pending, place)
            except (json.JSONDecodeError, RecursionError):
                break
            pending = pending[end:]
            yield value
        lost = len(pending) > _LONGEST_CLAIM


@dataclass(slots=True)
class _Reading:
    """The claims of a reply, and what of it could not stand.

    ``keys`` are those of the passages shown, in their order; ``known`` the perspectives' ids.
    """

    keys: Sequence[str]
    known: set[str]
    claims: list[Claim] = field(default_factory=list)
    missing: tuple[str, ...] = ()
    invented: list[int] = field(default_factory=list)
    dropped: int = 0
    broken: bool = False
    _seen: set[str] = field(default_factory=set)

    def read(self, text: str, prompt: Prompt) -> None:
        """Takes in a whole reply; raises LLMReplyError for one without claims."""
        try:
            parsed = parse_json(text, prompt)
        except LLMReplyError:
            # Sentences without JSON; those that cite nothing are listed too, to be counted.
            moved = _LATE_MARK.sub(lambda m: m[2] + m[1], text)
            items: Any = [each for line in parse_list(moved) for each in split_sentences(line)]
        else:
            self.broken, items = parsed.broken, parsed.value
            if isinstance(parsed.value, dict):
                items = parsed.value.get("claims")
                self.missing = _missing(parsed.value.get("missing"))
        if not isinstance(items, list):
            raise bad_reply("the reply holds no claims", text, prompt)
        for item in items:
            self.take(item)

    def take(self, item: Any) -> None:
        """Adds an item of a reply, as a claim or as what could not stand."""
        item = {"text": item} if isinstance(item, str) else item
        words = _line(item.get("text")) if isinstance(item, Mapping) else ""
        claim = MARK.sub("", words).strip()
        if not text_key(claim):
            self.dropped += 1
            return
        cited = dict.fromkeys([*_numbers(item.get("citations")), *_marks(words)])
        ids = tuple(self.keys[n - 1] for n in cited if 1 <= n <= len(self.keys))
        self.invented += [n for n in cited if not 1 <= n <= len(self.keys)]
        if not ids:
            self.dropped += 1
        elif text_key(claim) not in self._seen:
            self._seen.add(text_key(claim))
            side = item.get("perspective")
            side = side if isinstance(side, str) and side in self.known else None
            quote = MARK.sub("", _line(item.get("quote"))).strip()
            self.claims.append(Claim(claim, ids, side, quote=quote))

    def complaints(self) -> list[str]:
        """What of the reply could not stand."""
        complaints = ["the reply broke off"] if self.broken else []
        if self.invented:
            numbers = ", ".join(str(n) for n in sorted(set(self.invented)))
            complaints.append(f"citations of passages that do not exist were removed: {numbers}")
        if self.dropped:
            complaints.append(f"{self.dropped} claims without a text or a citation were dropped")
        return complaints


def _missing(value: Any) -> tuple[str, ...]:
    """What a reply says that no passage says: a few short lines."""
    lines = [line for each in (value if isinstance(value, list) else []) if (line := _line(each))]
    return tuple(line for line in lines[:_MOST_MISSING] if len(line) <= _LONGEST_MISSING)


def _line(value: Any) -> str:
    """A text with single spaces; empty for what is no text or holds no word."""
    return " ".join(value.split()) if isinstance(value, str) and text_key(value) else ""


def _marks(text: str) -> list[int]:
    return [int(number) for mark in MARK.findall(text) for number in re.findall(r"\d+", mark)]


def _numbers(value: Any) -> list[int]:
    items = value if isinstance(value, list) else [value]
    digits = (re.fullmatch(r"\s*\[?(\d{1,3})\]?\s*", str(item)) for item in items)
    return [int(match[1]) for match in digits if match]
