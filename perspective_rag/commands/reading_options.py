"""How a corpus is read: the options of every command that reads one."""

from __future__ import annotations

import argparse
from typing import Any

from perspective_rag.local.corpus.readers import FORMATS
from perspective_rag.local.corpus.records import COLUMNS
from perspective_rag.storage.files import MOST_UNPACKED, OPTION


def reading_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--format``, ``--columns``, ``--follow-links`` and ``--most-unpacked``."""
    parser.add_argument(
        "--format", choices=FORMATS, help="of all files of the corpus (default: by their names)"
    )
    parser.add_argument(
        "--columns",
        type=_columns,
        metavar="text=NAME,...",
        help="the fields that hold text, title or id (default: by their names)",
    )
    parser.add_argument(
        "--follow-links",
        action="store_true",
        help="read what links in the folder lead to, within the folder (default: leave them out)",
    )
    parser.add_argument(
        OPTION,
        type=int,
        default=MOST_UNPACKED,
        metavar="BYTES",
        help=f"of a packed file or a Parquet row group, at most (default: {MOST_UNPACKED:,})",
    )


def reading(options: argparse.Namespace) -> dict[str, Any]:
    """What ``Corpus.load`` and ``read_corpus`` take of ``reading_options``."""
    return {
        "format": getattr(options, "format", None),
        "columns": getattr(options, "columns", None),
        "follow_links": getattr(options, "follow_links", False),
        "most_unpacked": getattr(options, "most_unpacked", MOST_UNPACKED),
    }


def _columns(text: str) -> dict[str, str]:
    parts = [part.partition("=") for part in text.split(",")]
    if not all(name.strip() in COLUMNS and value.strip() for name, _, value in parts):
        raise argparse.ArgumentTypeError(
            f"expected NAME=COLUMN, with a comma between several, of {', '.join(COLUMNS)};"
            f" got {text!r}"
        )
    return {name.strip(): value.strip() for name, _, value in parts}
