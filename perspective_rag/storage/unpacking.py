"""Packed files as streams that unpack to a bounded size."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import IO, cast

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
