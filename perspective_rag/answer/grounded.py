"""An answer written by a language model from the passages, with a citation for each claim."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from perspective_rag.answer.extractive import ExtractiveAnswerer
from perspective_rag.checks import count
from perspective_rag.errors import LLMError, LLMReplyError
from perspective_rag.flow import Flow, ask, degrade
from perspective_rag.prompts import fence, load_prompt, shorten
from perspective_rag.protocols import LLM, Answerer
from perspective_rag.replies import bad_reply, parse_json, parse_list, reply_text
from perspective_rag.sentences import split_sentences, text_key
from perspective_rag.types import Answer, Claim, Passage, Prompt, RetrievalResult

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "citations": {"type": "array", "items": {"type": "integer"}},
                    "perspective": {"type": ["string", "null"]},
                },
                "required": ["text", "citations", "perspective"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["claims"],
    "additionalProperties": False,
}

_MARK = re.compile(r"\s*\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
# "Zoos help. [1] They ..." cites for the sentence before.
_LATE_MARK = re.compile(
    rf"([.!?。！？])((?:{_MARK.pattern})+)".replace("(\\d{1,3}(", "(?:\\d{1,3}(")
)


@dataclass(slots=True)
class _Reading:
    """The claims of a reply, and what of it could not stand."""

    claims: list[Claim] = field(default_factory=list)
    invented: list[int] = field(default_factory=list)
    dropped: int = 0
    broken: bool = False


class GroundedAnswerer:
    """Asks a language model for claims with citations, perspective by perspective.

    ``prompt`` is a file that replaces ``prompts/grounded_answer.txt``. Each passage is shown up to
    ``max_characters_per_passage``. ``fallback`` (extractive by default) answers when the model
    fails or its reply holds no claim that cites a passage.
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
        """The claims whose citations exist; no passages give no claims and cost no call.

        Citations of passages that do not exist are removed and claims left without one are dropped;
        both are recorded. ``unsupported`` are the perspectives that no passage supports and no
        claim speaks for. The caller adds the trace.
        """
        passages = _arranged(result)
        if not passages:
            return Answer((), result.perspectives)
        prompt = self._prompt(result, passages)
        replies = yield from ask("answer", self.llm, [prompt])
        try:
            text = reply_text(replies[0], prompt)
            reading = _read(text, prompt, passages, {p.id for p in result.perspectives})
            if not reading.claims:
                raise bad_reply("no claim cites a passage that was shown", text, prompt)
        except LLMError as error:
            yield from degrade("answer", "no answer by the model: the fallback was used", error)
            return (yield from self.fallback.answer(result))
        for message in _complaints(reading):
            yield from degrade("answer", message, bad_reply(message, text, prompt))
        claimed = {claim.perspective for claim in reading.claims}
        unsupported = tuple(
            p
            for p in result.perspectives
            if result.coverage and not result.supporting(p) and p.id not in claimed
        )
        return Answer(tuple(reading.claims), unsupported)

    def _prompt(self, result: RetrievalResult, passages: Sequence[Passage]) -> Prompt:
        number = {passage.id: i for i, passage in enumerate(passages, start=1)}
        lines = []
        for perspective in result.perspectives:
            shown = [f"[{number[c.passage.id]}]" for c in result.supporting(perspective)]
            if result.coverage is None:
                held = "passages were not assigned"
            else:
                held = f"supported by {', '.join(shown)}" if shown else "supported by no passage"
            lines.append(f"{perspective.id}: {perspective.text} ({held})")
        filled = self.template.fill(
            question=result.question,
            perspectives="\n".join(lines) or "(none)",
            passages=fence([shorten(p.text, self.max_characters) for p in passages]),
        )
        return replace(filled, schema=SCHEMA, max_tokens=self.max_tokens)


def _arranged(result: RetrievalResult) -> list[Passage]:
    """The passages by the perspective they support, each once, then those that support none."""
    ordered = [c for p in result.perspectives for c in result.supporting(p)]
    unique = {c.passage.id: c.passage for c in (*ordered, *result.candidates)}
    return list(unique.values())


def _read(text: str, prompt: Prompt, passages: Sequence[Passage], known: set[str]) -> _Reading:
    broken = False
    try:
        parsed = parse_json(text, prompt)
    except LLMReplyError:
        items: Any = _plain_claims(text)
    else:
        items = parsed.value.get("claims") if isinstance(parsed.value, dict) else parsed.value
        broken = parsed.broken
    if not isinstance(items, list):
        raise bad_reply("the reply holds no claims", text, prompt)
    reading = _Reading(broken=broken)
    seen: set[str] = set()
    for item in items:
        item = {"text": item} if isinstance(item, str) else item
        given = item.get("text") if isinstance(item, Mapping) else None
        words = " ".join(given.split()) if isinstance(given, str) else ""
        claim = _MARK.sub("", words).strip()
        if not text_key(claim):
            reading.dropped += 1
            continue
        cited = dict.fromkeys([*_numbers(item.get("citations")), *_marks(words)])
        ids = [passages[n - 1].id for n in cited if 1 <= n <= len(passages)]
        reading.invented += [n for n in cited if not 1 <= n <= len(passages)]
        perspective = item.get("perspective")
        if not ids:
            reading.dropped += 1
        elif text_key(claim) not in seen:
            seen.add(text_key(claim))
            side = perspective if isinstance(perspective, str) and perspective in known else None
            reading.claims.append(Claim(claim, tuple(ids), side))
    return reading


def _plain_claims(text: str) -> list[Any]:
    """Sentences of a reply without JSON; those that cite nothing are listed too, to be counted."""
    moved = _LATE_MARK.sub(lambda m: m[2] + m[1], text)
    return [sentence for line in parse_list(moved) for sentence in split_sentences(line)]


def _marks(text: str) -> list[int]:
    return [int(number) for mark in _MARK.findall(text) for number in re.findall(r"\d+", mark)]


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
