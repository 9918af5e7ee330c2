"""Private folders that are there whole or not at all, and what killed processes left of others."""

from __future__ import annotations

import glob
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from perspective_rag.errors import ConfigError
from perspective_rag.storage.append_log import hold

_LOCK = ".lock"


@contextmanager
def folder_in_work(folder: Path) -> Iterator[Path]:
    """A new folder to write into, which becomes ``folder`` at the end; gone where that fails.

    When another process was first its folder stays. Folders that killed processes left are removed.
    Raises OSError where nothing can be written.
    """
    remove_left(folder)
    new = folder.with_name(f"{folder.name}.new-{secrets.token_hex(4)}")
    # Beside the folder and older than it: no moment leaves a folder that nothing tells of.
    lock = new.with_name(new.name + _LOCK)
    try:
        with lock.open("ab") as stream:
            with suppress(ConfigError):  # a disk that knows no locks
                hold(stream, new)
            new.mkdir(0o700)  # it may hold texts that are for their owner alone
            yield new
            try:
                new.rename(folder)
            except OSError:
                if not folder.is_dir():  # else another process was first
                    raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
        with suppress(OSError):
            lock.unlink()


def remove_left(folder: Path) -> None:
    """Removes what killed processes left of their work on ``folder``; what is in work stays."""
    for lock in folder.parent.glob(f"{glob.escape(folder.name)}.new-*{_LOCK}"):
        with suppress(ConfigError, OSError), lock.open("rb") as stream:
            hold(stream, lock)
            shutil.rmtree(lock.with_name(lock.name.removesuffix(_LOCK)), ignore_errors=True)
            lock.unlink()
