"""Documents to passages, and results back to documents."""

from __future__ import annotations

from langchain_core.documents import Document

from perspective_rag import Passage, RetrievalResult, extend, passage_key
from perspective_rag.extend import ScoreKind, copy_metadata, without_annotations

SCORE_KEY = "relevance_score"


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


def documents_of(result: RetrievalResult, kind: ScoreKind) -> list[Document]:
    """Copies of the documents that were found, best first, each with its score and its report.

    A document has no ``SCORE_KEY`` where its similarity is not known, though that of others is.
    """
    documents = []
    for source, score, added in extend.sources_of(result, kind):
        try:
            document: Document = source.model_copy(deep=True)
        except Exception:  # what cannot be copied is shared
            document = source.model_copy(update={"metadata": copy_metadata(source.metadata)})
        kept = without_annotations(document.metadata)
        kept.pop(SCORE_KEY, None)
        document.metadata = {**kept, **({} if score is None else {SCORE_KEY: score}), **added}
        documents.append(document)
    return documents
