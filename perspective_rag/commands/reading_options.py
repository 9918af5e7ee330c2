"""How a corpus is read: the options ``--format`` and ``--columns``."""

from __future__ import annotations

import argparse
from typing import Any

from perspective_rag.corpus.formats import FORMATS
from perspective_rag.corpus.records import COLUMNS


def reading_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--format`` and ``--columns``."""
    parser.add_argument(
        "--format", choices=FORMATS, help="of all files of the corpus (default: by their names)"
    )
    parser.add_argument(
        "--columns",
        type=_columns,
        metavar="text=NAME,...",
        help="the fields that hold text, title or id (default: by their names)",
    )


def reading(options: argparse.Namespace) -> dict[str, Any]:
    """What ``Corpus.load`` and ``read_corpus`` take of ``reading_options``."""
    from perspective_rag.web.archived import web_page_text

    return {
        "format": getattr(options, "format", None),
        "columns": getattr(options, "columns", None),
        "read_page": web_page_text(),
    }


def _columns(text: str) -> dict[str, str]:
    parts = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() in COLUMNS and value.strip() for name, _, value in parts):
        raise argparse.ArgumentTypeError(
            f"expected NAME=COLUMN, with a comma between several, of {', '.join(COLUMNS)};"
            f" got {text!r}"
        )
    return {name.strip(): value.strip() for name, _, value in parts}
