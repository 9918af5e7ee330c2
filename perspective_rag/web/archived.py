"""The main text of archived pages, for web archives that are read as a corpus."""

from __future__ import annotations

import importlib.util

from perspective_rag.corpus.warc import PageText
from perspective_rag.web.addresses import PageRefused
from perspective_rag.web.pages import RawPage
from perspective_rag.web.reading import PageReader


def web_page_text() -> PageText | None:
    """What finds title and main text of an archived page; None without the extra ``web``."""
    if importlib.util.find_spec("trafilatura") is None:
        return None
    return _MainText()


class _MainText:
    """The main text, by one process that starts with the first page."""

    def __init__(self) -> None:
        self._reader = PageReader()

    def __call__(self, data: bytes, url: str) -> tuple[str, str]:
        try:
            return self._reader.read(RawPage(url, data, None, "text/html"))
        except PageRefused as error:
            raise ValueError(str(error)) from error
