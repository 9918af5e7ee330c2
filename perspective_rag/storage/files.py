"""Whole files, private files, locked files, packed files, JSON lines."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, cast

from perspective_rag.errors import ConfigError, CorpusError
from perspective_rag.text import from_json, valid


def make_private(path: Path) -> None:
    """Makes an empty file that only its owner may read and write; one that is there stays as it is.

    Raises OSError where it cannot be made.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def make_private_folder(folder: Path) -> None:
    """Makes a folder that only its owner may look into; one that is there stays as it is.

    Raises OSError where it cannot be made.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        folder.mkdir(0o700)


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


def hold(file: IO[bytes], path: Path) -> None:
    """Keeps other processes out of an open file until it is closed, where the system can (POSIX).

    Raises ConfigError, and closes the file, when another holds it.
    """
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise ConfigError(f"another run is writing {path}: wait for it to end") from error


MOST_UNPACKED = 1_000_000_000
"""Bytes that a packed file may unpack to whatever its own size."""

OPTION = "--most-unpacked"
"""What raises the limit at the command line; ``most_unpacked`` in Python."""

_RATIO = 100  # texts and figures are packed to a tenth; what is packed to less is made for it
_GZIP = b"\x1f\x8b"


class UnpackedTooLarge(OSError):
    """A file would unpack to more than it may."""


def beyond(said: str, most: int) -> str:
    """What is told of something that is too large, with the option that allows it."""
    return f"{said}, more than {most:,} bytes: {OPTION} allows more"


def unpacked(path: Path, most: int = MOST_UNPACKED) -> IO[bytes]:
    """The bytes of a file, unpacked where its beginning says that it is gzip'd.

    What unpacks to more than ``most`` bytes and to more than 100 times its own size raises
    UnpackedTooLarge on reading. Raises OSError where the file cannot be opened.
    """
    raw = io.FileIO(path)
    try:
        if raw.read(2) != _GZIP and path.suffix.lower() != ".gz":
            raw.seek(0)
            return cast("IO[bytes]", io.BufferedReader(raw))
        size = raw.seek(0, io.SEEK_END)
        raw.seek(0)
        counted = _Counted(raw, max(most, _RATIO * size))
        return cast("IO[bytes]", io.BufferedReader(counted))
    except BaseException:
        raw.close()
        raise


class _Counted(io.RawIOBase):
    """What a gzip'd file unpacks to, up to a limit."""

    def __init__(self, packed: io.FileIO, most: int) -> None:
        self._packed = packed
        self._file = gzip.GzipFile(fileobj=io.BufferedReader(packed))
        self._most = most
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        room = memoryview(buffer)  # type: ignore[arg-type]
        data = self._file.read1(len(room))
        self._count += len(data)
        if self._count > self._most:
            raise UnpackedTooLarge(beyond("it unpacks to over 100 times its size", self._most))
        room[: len(data)] = data
        return len(data)

    def close(self) -> None:
        try:
            self._file.close()
            self._packed.close()
        finally:
            super().close()


LONGEST_LINE = 100_000_000
"""Bytes from which on a line is refused."""


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Number, from 1, and text of every line that is not blank, of a file that is ``.gz`` or not.

    Lines end at line feeds alone, as JSON lines do: their texts may hold other separators. Raises
    CorpusError for a file that cannot be read.
    """
    try:
        with unpacked(path) as stream:
            lines = iter(lambda: stream.readline(LONGEST_LINE + 1), b"")
            for number, line in enumerate(lines, start=1):
                if len(line) > LONGEST_LINE:
                    raise CorpusError(f"{path}:{number}: more than {LONGEST_LINE:,} bytes")
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
                if text.strip():
                    yield number, text
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise CorpusError(f"{path} cannot be read: {error}") from error


def json_lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a JSON lines file, each with its place ("file:line") for messages.

    Raises CorpusError for a file that cannot be read and for a line that is no JSON object.
    """
    for number, line in numbered_lines(path):
        place = f"{path}:{number}"
        yield place, json_object(line, place)


def json_object(line: str, place: str) -> dict[str, Any]:
    """The JSON object of a line; raises CorpusError, naming ``place``, for anything else."""
    try:
        row = from_json(line)
    except ValueError as error:
        raise CorpusError(f"{place} is not valid JSON: {error}") from error
    if not isinstance(row, dict):
        raise CorpusError(f"{place}: expected a JSON object, got {type(row).__name__}")
    return row
