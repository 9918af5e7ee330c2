"""A corpus made on the fly: the passages of the pages that a search engine finds for a question."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.web.addresses import PageRefused
from benchmarks.web.pages import PageFetcher
from benchmarks.web.reading import PageReader
from benchmarks.web.search_results import SearchEngine, WebResult
from perspective_rag import CorpusError, Passage, RetrievalError
from perspective_rag.addons import count, fingerprint, from_json, printable
from perspective_rag.local.corpus.splitting import split_text

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class WebCorpus:
    """The passages of the first ``pages`` results, about ``words`` words each (BERDS, section 4.2).

    Results and readable texts are kept in ``cache``, so that a question is answered from the same
    pages again; what failed for now is tried again, what was refused is not. ``problems`` lists
    (address, what was wrong). A page is text and nothing else: what it says is never followed.
    """

    engine: SearchEngine
    cache: Path
    pages: int = 100
    words: int = 100
    fetcher: PageFetcher = field(default_factory=PageFetcher)
    reader: PageReader = field(default_factory=PageReader)
    max_concurrency: int = 8
    problems: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("pages", "words", "max_concurrency"):
            count(name, getattr(self, name))

    def passages(self, question: str) -> list[Passage]:
        """The passages for a question, page by page in the order of the results.

        Raises RetrievalError when the search fails, and CorpusError when no page can be read.
        """
        results = self._results(question)
        with ThreadPoolExecutor(self.max_concurrency) as pool:
            texts = list(pool.map(self._page, results))
        found = [
            Passage(
                f"{result.url}#{number}",
                piece,
                {"url": result.url, **({"title": title} if title else {})},
            )
            for result, (title, text) in zip(results, texts, strict=True)
            for number, piece in enumerate(split_text(text, self.words))
        ]
        if not found:
            raise CorpusError(
                f"none of {len(results)} pages for {question!r} could be read; "
                f"first problem: {self.problems[0][1] if self.problems else 'no results'}"
            )
        return found

    def _results(self, question: str) -> list[WebResult]:
        key = fingerprint(self.engine.name, self.pages, question, digits=32)
        kept = self._read("search", key)
        if kept is not None:
            return [WebResult(url, title) for url, title in kept["results"]]
        found = self.engine.find(question, self.pages)
        rows = [[each.url, each.title] for each in found]
        self._keep("search", key, {"question": question, "results": rows})
        return found

    def _page(self, result: WebResult) -> tuple[str, str]:
        """(title, readable text) of a page; an empty text where there is none."""
        key = fingerprint(result.url, digits=32)
        kept = self._read("page", key)
        if kept is None:
            try:
                title, text = self.reader.read(self.fetcher.fetch(result.url))
                kept = {"url": result.url, "title": title or result.title, "text": text}
                if not text:
                    kept["problem"] = "no readable text"
            except PageRefused as error:
                kept = {"url": result.url, "title": "", "text": "", "problem": str(error)}
            except RetrievalError as error:
                self._tell(result.url, str(error))
                return "", ""
            self._keep("page", key, kept)
        if kept.get("problem"):
            self._tell(result.url, kept["problem"])
        return kept["title"], kept["text"]

    def _tell(self, url: str, problem: str) -> None:
        self.problems.append((url, problem))
        _log.warning("%s: %s", printable(url), printable(problem))

    def _path(self, kind: str, key: str) -> Path:
        return self.cache / kind / key[:2] / f"{key[2:]}.json"

    def _read(self, kind: str, key: str) -> dict[str, Any] | None:
        try:
            values = from_json(self._path(kind, key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return values if _is_kept(kind, values) else None

    def _keep(self, kind: str, key: str, values: dict[str, Any]) -> None:
        path = self._path(kind, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all: a killed run leaves no half page behind.
        handle, new = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(values, stream)
        os.replace(new, path)


def _is_kept(kind: str, values: Any) -> bool:
    """Whether a file of the cache holds what was kept: it may be damaged."""
    if not isinstance(values, dict):
        return False
    if kind == "page":
        return all(isinstance(values.get(name), str) for name in ("title", "text"))
    rows = values.get("results")
    return isinstance(rows, list) and all(
        isinstance(row, list) and len(row) == 2 and all(isinstance(each, str) for each in row)
        for row in rows
    )
