"""Questions with perspectives, made from documents, surveys and debates of one's own."""

from perspective_rag_train.dataset.build import Built, Entry, build_dataset, calls_needed
from perspective_rag_train.dataset.review import read_decisions, review_page
from perspective_rag_train.dataset.sources import Source, read_sources

__all__ = [
    "Built",
    "Entry",
    "Source",
    "build_dataset",
    "calls_needed",
    "read_decisions",
    "read_sources",
    "review_page",
]
