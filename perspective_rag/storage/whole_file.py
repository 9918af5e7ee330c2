"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from perspective_rag.text import valid


def replace_file(path: Path, text: str) -> None:
    """Writes a text file: whoever reads it, and whatever happens, sees the old or the new one.

    The folder is made if missing; lone surrogates become U+FFFD. Raises OSError where the file
    cannot be written; the old one is then still there, and nothing else.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    try:
        with new.open("w", encoding="utf-8") as stream:
            stream.write(valid(text))
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(new, path)
    except OSError:
        with suppress(OSError):
            new.unlink()
        raise
