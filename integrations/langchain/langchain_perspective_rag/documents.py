"""Documents to passages, and results back to documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.documents import Document

from perspective_rag import Passage, RetrievalResult, passage_key
from perspective_rag.extend import (
    ScoreKind,
    annotations_of,
    copy_metadata,
    scores_of,
    without_annotations,
)
from perspective_rag.extend import report_in as report_in

SCORE_KEY = "relevance_score"

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


def documents_of(
    result: RetrievalResult, *, score_kind: ScoreKind = "similarity"
) -> list[Document]:
    """Copies of the documents that were found, best first, each with its scores.

    ``metadata["relevance_score"]`` is, as ``score_kind`` says, the similarity to the question or
    the score of the choice, higher is better (see ``scores_of``); a document has no such key where
    its similarity is not known, though that of others is. Further keys begin with
    "perspective_rag_" and hold plain values (see ``annotations_of``); ``report_in`` reads the whole
    report of a document.
    """
    scores = scores_of(result, score_kind)
    added = annotations_of(result)
    documents = []
    for candidate, score, annotation in zip(result.candidates, scores, added, strict=True):
        document = _copy_of(candidate.passage.source)
        kept = without_annotations(document.metadata)
        kept.pop(SCORE_KEY, None)
        known = {} if score is None else {SCORE_KEY: score}
        document.metadata = {**kept, **known, **annotation}
        documents.append(document)
    return documents


def _copy_of(document: Document) -> Document:
    try:
        return document.model_copy(deep=True)
    except Exception:  # what cannot be copied is shared
        return document.model_copy(update={"metadata": copy_metadata(document.metadata)})
