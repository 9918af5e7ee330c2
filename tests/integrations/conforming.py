"""What the tests share that put the stores of a framework through the checks for any store."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

DIMENSIONS = 64
DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "stores.md"
ADAPTERS_PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "own-store.md"
NUMBERS = itertools.count()
"""Every store that is made gets a name or a folder of its own."""


def chroma_client(folder):
    """A client of Chroma's; all those without a folder share one database, and its settings."""
    chromadb = pytest.importorskip("chromadb")
    return chromadb.PersistentClient(
        folder / f"{next(NUMBERS)}", chromadb.Settings(anonymized_telemetry=False)
    )


def filled(name, make, table):
    """The store's name and its case, filled; of one that cannot run here the table knows why."""
    try:
        case = make()
        case.filled()
    except pytest.skip.Exception as missing:
        table.absent(name, str(missing.msg))
        raise
    return name, case
