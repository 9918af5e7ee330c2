"""A corpus made on the fly: the passages of the pages that a search engine finds for a question."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perspective_rag.backends.web_pages import PageFetcher, PageRefused, RawPage
from perspective_rag.backends.web_search import SearchEngine, WebResult
from perspective_rag.checks import count
from perspective_rag.corpus.documents import declared_charset
from perspective_rag.corpus.records import decoded
from perspective_rag.corpus.splitting import split_text
from perspective_rag.errors import CorpusError, MissingDependency, RetrievalError
from perspective_rag.types import Passage

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
        key = f"{self.engine.name}\n{self.pages}\n{question}"
        kept = self._read("search", key)
        if kept is not None:
            return [WebResult(url, title) for url, title in kept["results"]]
        found = self.engine.find(question, self.pages)
        rows = [[each.url, each.title] for each in found]
        self._keep("search", key, {"question": question, "results": rows})
        return found

    def _page(self, result: WebResult) -> tuple[str, str]:
        """(title, readable text) of a page; an empty text where there is none."""
        kept = self._read("page", result.url)
        if kept is None:
            try:
                title, text = readable(self.fetcher.fetch(result.url))
                kept = {"url": result.url, "title": title or result.title, "text": text}
                if not text:
                    kept["problem"] = "no readable text"
            except PageRefused as error:
                kept = {"url": result.url, "title": "", "text": "", "problem": str(error)}
            except RetrievalError as error:
                self._tell(result.url, str(error))
                return "", ""
            self._keep("page", result.url, kept)
        if kept.get("problem"):
            self._tell(result.url, kept["problem"])
        return kept["title"], kept["text"]

    def _tell(self, url: str, problem: str) -> None:
        self.problems.append((url, problem))
        _log.warning("%s: %s", url, problem)

    def _path(self, kind: str, key: str) -> Path:
        digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
        return self.cache / kind / digest[:2] / f"{digest[2:32]}.json"

    def _read(self, kind: str, key: str) -> dict[str, Any] | None:
        try:
            values = json.loads(self._path(kind, key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return values if isinstance(values, dict) else None

    def _keep(self, kind: str, key: str, values: dict[str, Any]) -> None:
        path = self._path(kind, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all: a killed run leaves no half page behind.
        handle, new = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(values, stream)
        os.replace(new, path)


def readable(page: RawPage) -> tuple[str, str]:
    """(title, main text) of a page by trafilatura; empty where it finds none.

    Bytes are read as UTF-8 where they are, else in the character set that the server or the page
    names. Scripts, styles and navigation are left out. Raises PageRefused for markup that cannot be
    parsed, MissingDependency without trafilatura.
    """
    try:
        import trafilatura
    except ImportError as error:
        raise MissingDependency("web", "reading web pages") from error
    text = decoded(page.body, lambda line, problem: None, _charset(page))
    if page.kind == "text/plain":
        return "", text.strip()
    try:
        found = trafilatura.bare_extraction(
            text.replace("\x00", ""), with_metadata=True, include_comments=False, fast=True
        )
    except Exception as error:  # whatever hostile markup makes of the parsers
        raise PageRefused(f"{page.url} cannot be parsed: {error!r}") from error
    if found is None:
        return "", ""
    return str(getattr(found, "title", None) or ""), str(getattr(found, "text", None) or "")


def _charset(page: RawPage) -> str | None:
    """What the server names, unless that is UTF-8, which was tried; else what the page names."""
    if page.charset and page.charset.lower().replace("-", "") != "utf8":
        return page.charset
    return declared_charset(page.body)
