"""Folders that are written whole or not at all, and read only as they were written."""

from __future__ import annotations

import glob
import json
import logging
import os
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from perspective_rag.errors import ConfigError
from perspective_rag.storage.files import hold
from perspective_rag.text import from_json

_LOCK = ".lock"
_SUMS = "checksums.json"  # the size and the CRC-32 of each other file, by its name
_BLOCK = 1 << 22

T = TypeVar("T")
_log = logging.getLogger(__name__)


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


def write_sealed(folder: Path, write: Callable[[Path], object]) -> None:
    """Has a folder written whole, with checksums; one that cannot be written is logged, not kept.

    Args:
        folder: Its parent is made if missing.
        write: Writes into the folder that it is given.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with folder_in_work(folder) as new:
            write(new)
            (new / _SUMS).write_text(json.dumps(_sums(new)), encoding="utf-8")
            for path in new.iterdir():
                with path.open("rb+") as stream:
                    os.fsync(stream.fileno())
    except (OSError, ValueError, TypeError) as error:
        _log.warning("%s cannot be written and is not kept: %s", folder, error)


def open_sealed(folder: Path, open: Callable[[Path], T | None]) -> T | None:
    """Opens a folder that ``write_sealed`` wrote.

    Args:
        folder: It is removed where its files are not those that were written, which is logged.
        open: Reads it; None where it holds something else than is wanted.

    Returns:
        What ``open`` returns; None where there is no such folder.

    Raises:
        ConfigError, ImportError, MemoryError: Those of ``open``; the folder stays.
    """
    remove_left(folder)
    if not folder.is_dir():
        return None
    try:
        _check(folder)
        if (found := open(folder)) is not None:
            return found
    except (ConfigError, ImportError, MemoryError):  # nothing is wrong with the folder
        raise
    except Exception as error:  # whatever a damaged file makes of its reader
        _log.warning("%s cannot be read and is made anew: %r", folder, error)
    shutil.rmtree(folder, ignore_errors=True)
    return None


def written_sums(folder: Path) -> dict[str, list[int]]:
    """The size and the CRC-32 of each file of a folder, as ``write_sealed`` wrote it.

    Raises OSError or ValueError where they cannot be read.
    """
    sums: dict[str, list[int]] = from_json((folder / _SUMS).read_bytes())
    return sums


def _check(folder: Path) -> None:
    try:
        written = written_sums(folder)
    except FileNotFoundError:
        raise ValueError("it has no checksums, as of an earlier build") from None
    found = _sums(folder)
    if written != found:
        wrong = sorted(name for name in {*written, *found} if written.get(name) != found.get(name))
        raise ValueError(f"damaged: {', '.join(wrong)}")


def _sums(folder: Path) -> dict[str, list[int]]:
    found = {}
    for path in folder.iterdir():
        if path.name != _SUMS:
            size = check = 0
            with path.open("rb") as stream:
                while block := stream.read(_BLOCK):
                    size, check = size + len(block), zlib.crc32(block, check)
            found[path.name] = [size, check]
    return found
