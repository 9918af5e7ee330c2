"""Search queries for perspectives, written by a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from perspective_rag.errors import LLMError
from perspective_rag.flow.recording import degrade
from perspective_rag.flow.steps import Flow, ask
from perspective_rag.prompts import load_prompt
from perspective_rag.prompts.replies import bad_reply, distinct, parse_texts, reply_text
from perspective_rag.protocols import LLM
from perspective_rag.types import Perspective, Prompt, Query
from perspective_rag.validation import check_component, count

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"queries": {"type": "array", "items": {"type": "string"}}},
    "required": ["queries"],
    "additionalProperties": False,
}


class LLMExpander:
    """Asks a language model for ``per_perspective`` queries a perspective, all at once.

    A query is a claim such as a passage for the perspective could make; those of one perspective
    share its seats among the candidates. More: other reasons are found, one search each.
    ``prompt`` is a file that replaces ``prompts/expand_queries.txt``. A perspective for which no
    usable query came back is searched by its own text; that, and every shortfall, is recorded.
    """

    def __init__(
        self, llm: LLM, *, per_perspective: int = 2, prompt: str | Path | None = None
    ) -> None:
        self.llm = check_component("llm", llm)
        self.per_perspective = count("per_perspective", per_perspective)
        self.template = load_prompt("expand_queries", prompt)

    def expand(self, question: str, perspectives: Sequence[Perspective]) -> Flow[list[Query]]:
        """The queries, perspective by perspective: none empty, none twice, none the question."""
        if not perspectives:
            return []
        prompts = [self._prompt(question, perspective) for perspective in perspectives]
        replies = yield from ask("expand", self.llm, prompts)
        queries: list[Query] = []
        for perspective, prompt, reply in zip(perspectives, prompts, replies, strict=True):
            taken = [question, *(query.text for query in queries)]
            try:
                text = reply_text(reply, prompt)
                found = parse_texts(text, prompt, keys=("queries", "query"))
                fresh = distinct(found.items, taken)[: self.per_perspective]
                if not fresh:
                    raise bad_reply("the reply holds no new query", text, prompt)
            except LLMError as error:
                message = f"no query for {perspective.id}: its own text is searched"
                degrade("expand", message, error)
                fresh = distinct([perspective.text], taken)
            else:
                lost = found.lost or self._shortfall(fresh)
                if lost:
                    message = f"queries for {perspective.id}: {lost}"
                    degrade("expand", message, bad_reply(lost, text, prompt))
            queries += [Query(text, perspective.id) for text in fresh]
        return queries

    def _prompt(self, question: str, perspective: Perspective) -> Prompt:
        filled = self.template.fill(
            question=question, perspective=perspective.text, count=self.per_perspective
        )
        return replace(filled, schema=SCHEMA)

    def _shortfall(self, fresh: Sequence[str]) -> str:
        short = len(fresh) < self.per_perspective
        return f"{len(fresh)} of {self.per_perspective} asked for" if short else ""
