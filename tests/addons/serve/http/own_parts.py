"""A retriever of a user's own, named on the command line of the tests; its store takes its time."""

from __future__ import annotations

import os
import threading
from pathlib import Path

TEXTS = (
    "Zoos should be closed, because animals suffer.",
    "Zoos should not be closed, for they save species.",
)


def quick():
    """Finds both texts at once."""
    return lambda text, k: list(TEXTS[:k])


def held_up():
    """Says in a file that it was asked, and finds the texts once another file is there."""
    folder = Path(os.environ["HELD_UP"])

    def search(text, k):
        (folder / "asked").touch()
        while not (folder / "go").exists():
            threading.Event().wait(0.02)
        return list(TEXTS[:k])

    return search
