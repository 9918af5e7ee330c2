"""Documents to passages, and results back to documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.documents import Document

from perspective_rag import Candidate, Passage, RetrievalResult, passage_key
from perspective_rag.copies import copied

SCORE_KEY = "relevance_score"
REPORT_KEY = "perspective_rag"

DedupKey = str | Callable[[Document], Any]
"""A metadata key, or a function: documents for which it gives the same are one document."""


def passage_of(document: Document, *, id_key: str | None = None) -> Passage:
    """A document as a passage; ``id_key`` is the metadata key of a store that keeps its ids there.

    A document without an id gets the key by which duplicates are found.
    """
    given = document.id
    if given is None and id_key is not None:
        given = document.metadata.get(id_key)
    text, metadata = document.page_content, document.metadata
    name = str(given) if given is not None else passage_key(Passage("", text, metadata))
    return Passage(name, text, metadata, source=document)


def passage_dedup_key(given: DedupKey | None) -> str | Callable[[Passage], Any] | None:
    """``dedup_key`` for passages, of which a function gets the document."""
    return (lambda passage: given(passage.source)) if callable(given) else given


def report_of(result: RetrievalResult) -> dict[str, Any]:
    """The result as JSON-ready values, without the texts, which the trace shows already."""
    report = result.to_dict()
    report["candidates"] = [
        {"id": each["id"], "score": each["score"], "support": each["support"]}
        for each in report["candidates"]
    ]
    return report


def documents_of(result: RetrievalResult) -> list[Document]:
    """Copies of the documents that were found, best first, each with its scores.

    ``metadata["relevance_score"]`` is the final score, higher is better.
    ``metadata["perspective_rag"]`` holds ``scores`` (of every stage), ``support`` (perspective id
    to probability), ``supports`` (the ids of the perspectives that count as supported),
    ``perspectives`` (their texts) and ``found_by`` (the queries that found it).
    """
    threshold = result.coverage.threshold if result.coverage else None
    texts = {perspective.id: perspective.text for perspective in result.perspectives}
    return [_annotated(candidate, threshold, texts) for candidate in result.candidates]


def _annotated(candidate: Candidate, threshold: float | None, texts: Mapping[str, str]) -> Document:
    document = _copy_of(candidate.passage.source)
    supports = [
        perspective
        for perspective, probability in candidate.support.items()
        if threshold is not None and probability >= threshold
    ]
    document.metadata[SCORE_KEY] = float(candidate.score)
    document.metadata[REPORT_KEY] = {
        "scores": dict(candidate.scores),
        "support": dict(candidate.support),
        "supports": supports,
        "perspectives": [texts[perspective] for perspective in supports],
        "found_by": list(candidate.found_by),
    }
    return document


def _copy_of(document: Document) -> Document:
    try:
        return document.model_copy(deep=True)
    except Exception:  # what cannot be copied is shared
        return document.model_copy(update={"metadata": copied(document.metadata)})
