"""The corpus on the fly: for each question, the pages that a search engine finds."""

from __future__ import annotations

from pathlib import Path

from benchmarks.berds.questions import Question
from benchmarks.berds.retrievers import PerQuestion
from benchmarks.web.corpora import WebCorpus
from benchmarks.web.search_results import JsonSearch, SearchEngine, SerperSearch
from perspective_rag import BM25Store, ConfigError
from perspective_rag.extend import Embedder, Store


def web_retriever(
    *, url: str | None, key_file: Path | None, cache: Path, pages: int = 100
) -> PerQuestion:
    """BM25 over the passages of the ``pages`` first pages a question finds (paper, section 4.2).

    ``url`` is a JSON search endpoint; else serper.dev is asked with the key in ``key_file``.
    """
    if key_file is not None and not key_file.is_file():
        raise ConfigError(f"{key_file} does not exist: it should hold the key of serper.dev")
    engine: SearchEngine
    if url is not None:
        engine = JsonSearch(url)
    else:
        assert key_file is not None
        engine = SerperSearch(key_file.read_text(encoding="utf-8").strip())
    corpus = WebCorpus(engine, cache=cache, pages=pages)

    def make(question: Question) -> tuple[Store, Embedder | None]:
        return BM25Store(corpus.passages(question.text), plain=True), None

    return PerQuestion("web", make)
