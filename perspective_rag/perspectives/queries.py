"""Perspectives to queries, the question always among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from perspective_rag.errors import ConfigError, LLMError, check_component, count
from perspective_rag.flow.request import Request, degrade, note, stage
from perspective_rag.flow.steps import Flow, ask, complete
from perspective_rag.prompts import load_prompt
from perspective_rag.prompts.replies import bad_reply, distinct, parse_texts, reply_text
from perspective_rag.protocols import LLM, Expander
from perspective_rag.types import Extraction, Perspective, Prompt, Query


@dataclass(frozen=True, slots=True)
class StatementExpander:
    """Searches with each perspective.

    BERDS, section 6: "query the retriever with each perspective".

    Attributes:
        with_question: Put the question before the perspective, as the authors' published code does.
    """

    with_question: bool = False

    def expand(self, question: str, perspectives: Sequence[Perspective]) -> list[Query]:
        """One query for each perspective.

        Args:
            question: The question.
            perspectives: Its perspectives.

        Returns:
            The queries, in the order of the perspectives.
        """
        lead = f"{question} " if self.with_question else ""
        return [Query(lead + perspective.text, perspective.id) for perspective in perspectives]


@dataclass(frozen=True, slots=True)
class NoExpansion:
    """Searches with the question alone."""

    def expand(self, question: str, perspectives: Sequence[Perspective]) -> list[Query]:
        """No further query.

        Args:
            question: Not used.
            perspectives: Not used.

        Returns:
            An empty list.
        """
        return []


def unique_queries(question: str, queries: Sequence[Query], *, limit: int) -> list[Query]:
    """The question and then the queries, without repeats (case and punctuation aside), ``limit`` at
    most: where these are too few, every perspective has a query before one has a second.
    """
    kept: dict[str, Query] = {}
    for query in (Query(question), *queries):
        words = "".join(c if c.isalnum() else " " for c in query.text.casefold()).split()
        if words or not kept:
            kept.setdefault(" ".join(words), query)
    found = list(kept.values())
    if len(found) <= limit:
        return found
    earlier: Counter[str | None] = Counter()
    turns = []
    for query in found:
        turns.append(earlier[query.perspective])
        earlier[query.perspective] += 1
    return [found[i] for i in sorted(range(len(found)), key=lambda i: turns[i])][:limit]


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"queries": {"type": "array", "items": {"type": "string"}}},
    "required": ["queries"],
    "additionalProperties": False,
}


class LLMExpander:
    """Asks a language model for queries, all perspectives at once.

    A query is a claim such as a passage for the perspective could make; those of one perspective
    share its seats among the candidates. A perspective for which no usable query came back is
    searched by its own text; that, and every shortfall, is recorded.

    Args:
        llm: The model.
        per_perspective: Queries for each perspective. More: other reasons are found, one search
            each.
        prompt: A file that replaces ``prompts/expand_queries.txt``.

    Raises:
        ConfigError: The model, the number or the prompt cannot be used.
    """

    def __init__(
        self, llm: LLM, *, per_perspective: int = 2, prompt: str | Path | None = None
    ) -> None:
        self.llm = check_component("llm", llm)
        self.per_perspective = count("per_perspective", per_perspective)
        self.template = load_prompt("expand_queries", prompt)

    def expand(self, question: str, perspectives: Sequence[Perspective]) -> Flow[list[Query]]:
        """Writes the queries.

        Args:
            question: The question.
            perspectives: Its perspectives.

        Returns:
            The queries, perspective by perspective: none empty, none twice, none the question.
        """
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


@stage
def expand(request: Request, expander: Expander, extraction: Extraction) -> Flow[list[Query]]:
    """Writes the queries of a request and notes them in the trace.

    Args:
        request: The question and its options.
        expander: Writes the queries for the perspectives; where it fails, the trace records it and
            the question alone is searched.
        extraction: The perspectives.

    Returns:
        Distinct queries, at most ``max_queries``: first the question, then the question as it was
        typed where its spelling was mended, then the others.

    Raises:
        ConfigError: The expander did not return queries.
    """
    queries: list[Query] = []
    if extraction.perspectives:
        name = f"expander {type(expander).__name__}"
        try:
            found = yield from complete(
                expander.expand(extraction.root, extraction.perspectives), name, "a list of Query"
            )
            queries = _as_queries(found, name)
        except ConfigError:
            raise
        except Exception as error:
            degrade("expand", f"only the question is searched: {error!r}", error)
    if extraction.misspelt:
        queries.insert(0, Query(extraction.misspelt))
    queries = unique_queries(extraction.root, queries, limit=request.options.max_queries)
    note(queries=queries)
    return queries


def _as_queries(found: Any, name: str) -> list[Query]:
    if not isinstance(found, (list, tuple)) or not all(
        isinstance(each, (Query, str)) for each in found
    ):
        raise ConfigError(f"{name} returned {found!r:.200}; expected a list of Query")
    queries = [Query(each) if isinstance(each, str) else each for each in found]
    named = all(each.perspective is None or isinstance(each.perspective, str) for each in queries)
    if not named or not all(isinstance(each.text, str) for each in queries):
        raise ConfigError(
            f"{name} returned {found!r:.200}; expected queries with a text and a perspective's id"
        )
    return queries
