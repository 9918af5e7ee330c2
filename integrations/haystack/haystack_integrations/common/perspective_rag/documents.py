"""Haystack documents to passages, and results to documents that say what they support."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from haystack import Document

from perspective_rag import Passage, RetrievalResult
from perspective_rag.extend import (
    ScoreKind,
    annotations_of,
    copy_metadata,
    report_in,
    scores_of,
    tool_text,
    without_annotations,
)

__all__ = [
    "DedupKey",
    "as_text",
    "documents_of",
    "passage_of",
    "report_in",
]

DedupKey = str | Callable[[Document], Any]
"""A metadata key, or a function: documents for which it gives the same are one document."""


def passage_of(document: Document) -> Passage:
    """The passage in a document; the document itself is kept as its source."""
    return Passage(document.id, document.content or "", document.meta, source=document)


def documents_of(
    result: RetrievalResult, *, score_kind: ScoreKind = "similarity"
) -> list[Document]:
    """The passages of a result as copies of their documents, best first.

    A document's score is, as ``score_kind`` says, its similarity to the question or the score of
    the choice (see ``scores_of``). Metadata keys that begin with "perspective_rag_" hold plain
    values (see ``annotations_of``).
    """
    scores, added = scores_of(result, score_kind), annotations_of(result)
    return [
        replace(
            candidate.passage.source,
            score=score,
            meta={**without_annotations(copy_metadata(candidate.passage.source.meta)), **more},
        )
        for candidate, score, more in zip(result.candidates, scores, added, strict=True)
    ]


def as_text(documents: list[Document]) -> str:
    """The numbered documents, each with how it stands to the sides, and the sides without one."""
    return tool_text(
        [
            (str(each.meta.get("title") or ""), each.content or "", report_in(each.meta))
            for each in documents
        ]
    )
