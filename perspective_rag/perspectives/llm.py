"""Perspectives of a question, written by a language model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from perspective_rag.errors import LLMError, LLMReplyError, check_component, check_components, count
from perspective_rag.flow.request import degrade
from perspective_rag.flow.steps import Flow, ask, complete
from perspective_rag.prompts import load_prompt
from perspective_rag.prompts.replies import (
    MAX_ITEM_CHARACTERS,
    Texts,
    bad_reply,
    parse_json,
    parse_texts,
    reply_text,
)
from perspective_rag.protocols import LLM, Extractor
from perspective_rag.types import Extraction, Perspective, Prompt

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "root": {"type": "string"},
        "perspectives": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["root", "perspectives"],
    "additionalProperties": False,
}


class LLMExtractor:
    """Asks a language model which answers people give to a question.

    When the model fails or its reply cannot be used, that is recorded and ``fallback`` takes the
    question.

    Args:
        llm: The model.
        max_perspectives: Maximum number of perspectives.
        prompt: A file that replaces ``prompts/extract_perspectives.txt``.
        fallback: Another extractor. None: the question then has no perspectives.

    Raises:
        ConfigError: A component, the number or the prompt cannot be used.
    """

    def __init__(
        self,
        llm: LLM,
        *,
        max_perspectives: int = 4,
        prompt: str | Path | None = None,
        fallback: Extractor | None = None,
    ) -> None:
        self.llm = check_component("llm", llm)
        check_components(fallback=fallback)
        self.max_perspectives = count("max_perspectives", max_perspectives)
        self.template = load_prompt("extract_perspectives", prompt)
        self.fallback = fallback

    def extract(self, question: str) -> Flow[Extraction]:
        """The neutral question and its perspectives.

        Args:
            question: The question; a blank one costs no call.

        Returns:
            Perspectives with the ids "p1", "p2", ... in the model's order; none where the question
            invites none.
        """
        if not question.strip():
            return Extraction(root=question)
        filled = self.template.fill(question=question, limit=self.max_perspectives)
        prompt = replace(filled, schema=SCHEMA)
        replies = yield from ask("extract", self.llm, [prompt])
        try:
            text = reply_text(replies[0], prompt)
            texts = parse_texts(text, prompt, keys=("perspectives", "perspective"))
        except LLMError as error:
            instead = "the fallback was used" if self.fallback else "no perspectives"
            degrade("extract", f"the model wrote no perspectives: {instead}", error)
            if self.fallback is None:
                return Extraction(root=question)
            other = self.fallback.extract(question)
            read: Extraction = yield from complete(other, "fallback extractor", "an Extraction")
            return read
        if texts.lost:
            degrade("extract", texts.lost, bad_reply(texts.lost, text, prompt))
        found = self._perspectives(texts)
        return Extraction(
            _root(text, prompt, len(question)) or question,
            found,
            kind="alternatives" if found else "factual",
        )

    def _perspectives(self, texts: Texts) -> tuple[Perspective, ...]:
        kept = texts.items[: self.max_perspectives]
        return tuple(Perspective(f"p{i}", text) for i, text in enumerate(kept, start=1))


def _root(text: str, prompt: Prompt, length: int) -> str:
    """The root of a reply; "" where there is none and for an essay: it is searched with."""
    try:
        value = parse_json(text, prompt).value
    except LLMReplyError:  # a plain list has no root
        return ""
    given = value.get("root") if isinstance(value, dict) else None
    root = " ".join(given.split()) if isinstance(given, str) else ""
    return root if len(root) <= max(length, MAX_ITEM_CHARACTERS) else ""
