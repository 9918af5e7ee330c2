"""One query for each perspective, made of the perspective's own words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from perspective_rag.types import Perspective, Query


@dataclass(frozen=True, slots=True)
class StatementExpander:
    """Searches with each perspective (BERDS section 6, "query the retriever with each
    perspective").

    ``with_question=True`` puts the question before it, as the authors' published code does.
    """

    with_question: bool = False

    def expand(self, question: str, perspectives: Sequence[Perspective]) -> list[Query]:
        """One query for each perspective, in their order."""
        lead = f"{question} " if self.with_question else ""
        return [Query(lead + perspective.text, perspective.id) for perspective in perspectives]


@dataclass(frozen=True, slots=True)
class NoExpansion:
    """Searches with the question alone."""

    def expand(self, question: str, perspectives: Sequence[Perspective]) -> list[Query]:
        """No further query."""
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
