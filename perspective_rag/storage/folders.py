"""Folders that are written whole or not at all."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from perspective_rag.errors import ConfigError
from perspective_rag.storage.append_log import hold
from perspective_rag.storage.fingerprint import file_sha256
from perspective_rag.text import from_json

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


SUMS = "checksums.json"
"""The file with the SHA-256 of each other file, by its name."""

_EPOCH = 946_684_800  # the first second of 2000


def seal(folder: Path) -> None:
    """Writes the checksums of a folder's files, and sets each file's date to one made of its sum.

    Whatever writes to a file later gives it the date of that moment, so that an unchanged date says
    that nothing was written. All is on disk before the dates are: a machine that loses its power
    leaves no right date on wrong contents. Raises OSError where the folder cannot be written.
    """
    found = _sums(folder)
    (folder / SUMS).write_text(json.dumps(found), encoding="utf-8")
    for name in (*found, SUMS):
        with (folder / name).open("rb+") as stream:
            os.fsync(stream.fileno())
    _date(folder, found)


def check_sealed(folder: Path, *, whole: bool = False) -> None:
    """Raises ValueError where the files are not those that were written.

    Files with the dates that ``seal`` set are not read; the others are (copied ones, for example),
    and get their dates back where they are as they were. ``whole``: all are read. What changes
    bytes and leaves the date, as a failing disk may, is found by ``whole`` alone.
    """
    try:
        written = from_json((folder / SUMS).read_bytes())
    except FileNotFoundError:
        raise ValueError("it has no checksums, as of an earlier build") from None
    if not whole and _dated(folder, written):
        return
    found = _sums(folder)
    if written != found:
        wrong = sorted(name for name in {*written, *found} if written.get(name) != found.get(name))
        raise ValueError(f"damaged: {', '.join(wrong)}")
    with suppress(OSError):  # a disk that cannot be written
        _date(folder, found)


def set_date(path: Path, sum_: str) -> None:
    """Gives a file the date of a sum (hexadecimal); raises OSError where it cannot."""
    os.utime(path, ns=(path.stat().st_atime_ns, _date_ns(sum_)))


def has_date(path: Path, sum_: str) -> bool:
    """Whether nothing wrote to the file since ``set_date`` gave it the date of the sum."""
    return path.stat().st_mtime_ns == _date_ns(sum_)


def _date_ns(sum_: str) -> int:
    # Even seconds, which every file system can hold; all lie before 2018.
    return (_EPOCH + 2 * int(sum_[:7], 16)) * 1_000_000_000


def _date(folder: Path, sums: dict[str, str]) -> None:
    for name, sum_ in (*sums.items(), (SUMS, file_sha256(folder / SUMS))):
        set_date(folder / name, sum_)


def _dated(folder: Path, written: dict[str, str]) -> bool:
    names = sorted(each.name for each in folder.iterdir() if each.is_file())
    if names != sorted({*written, SUMS}) or not has_date(
        folder / SUMS, hashlib.sha256((folder / SUMS).read_bytes()).hexdigest()
    ):
        return False
    return all(has_date(folder / name, sum_) for name, sum_ in written.items())


def _sums(folder: Path) -> dict[str, str]:
    files = (each for each in folder.iterdir() if each.is_file() and each.name != SUMS)
    return {each.name: file_sha256(each) for each in sorted(files)}
