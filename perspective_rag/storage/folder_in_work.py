"""Folders that are there whole or not at all, and what killed processes left of others."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from perspective_rag.errors import ConfigError
from perspective_rag.storage.append_log import hold

LOCK = "lock"


@contextmanager
def folder_in_work(folder: Path) -> Iterator[Path]:
    """A new folder to write into, which becomes ``folder`` at the end; gone where that fails.

    When another process was first its folder stays. Folders that killed processes left are removed.
    Raises OSError where nothing can be written.
    """
    prefix = f"{folder.name}.new-"
    for left in folder.parent.glob(f"{prefix}*"):
        _remove_if_left(left)
    new = Path(tempfile.mkdtemp(prefix=prefix, dir=folder.parent))
    try:
        with (new / LOCK).open("ab") as lock:
            with suppress(ConfigError):  # a disk that knows no locks
                hold(lock, new)
            yield new
            (new / LOCK).unlink()
            try:
                new.rename(folder)
            except OSError:
                if not folder.is_dir():  # else another process was first
                    raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _remove_if_left(folder: Path) -> None:
    """Removes a folder that no process holds."""
    try:
        with (folder / LOCK).open("rb") as lock:
            hold(lock, folder)
            shutil.rmtree(folder, ignore_errors=True)
    except FileNotFoundError:  # just made, or just moved
        return
    except (ConfigError, OSError):
        return
