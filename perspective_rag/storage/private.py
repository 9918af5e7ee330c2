"""Files that only their owner may read: caches hold questions, passages and replies."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def make_private(path: Path) -> None:
    """Makes an empty file that only its owner may read and write; one that is there stays as it is.

    Raises OSError where it cannot be made.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
