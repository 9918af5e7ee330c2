"""Files and folders that only their owner may read: caches hold questions, passages, replies."""

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


def make_private_folder(folder: Path) -> None:
    """Makes a folder that only its owner may look into; one that is there stays as it is.

    Raises OSError where it cannot be made.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(0o700)
