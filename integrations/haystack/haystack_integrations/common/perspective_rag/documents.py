"""Haystack documents to passages, and results to documents that say what they support."""

from __future__ import annotations

from dataclasses import replace

from haystack import Document

from perspective_rag import Passage, RetrievalResult
from perspective_rag.extend import (
    ScoreKind,
    copy_metadata,
    sources_of,
    tool_text,
    without_annotations,
)


def passage_of(document: Document) -> Passage:
    """The passage in a document; the document itself is kept as its source."""
    return Passage(document.id, document.content or "", document.meta, source=document)


def documents_of(result: RetrievalResult, kind: ScoreKind) -> list[Document]:
    """The passages of a result as copies of their documents, best first."""
    return [
        replace(
            source,
            score=score,
            meta={**without_annotations(copy_metadata(source.meta)), **added},
        )
        for source, score, added in sources_of(result, kind)
    ]


def as_text(documents: list[Document]) -> str:
    """The numbered documents, each with how it stands to the sides, and the sides without one."""
    return tool_text((each.meta, each.content or "") for each in documents)
