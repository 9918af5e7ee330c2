"""Short hashes of values and files: the same in every process, different for different inputs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag.errors import ConfigError

# Files up to this many bytes are told apart by their contents.
_HASHED_SIZE = 100_000_000


def fingerprint(*parts: Any, digits: int = 16) -> str:
    """The first ``digits`` hexadecimal digits (at most 64) of SHA-256 over the parts.

    A part is None, a boolean, a number, a string, bytes, or a sequence, mapping or dataclass of
    such values; an iterator is read as a sequence and need not fit in memory. Type and length of
    every value are hashed with it, so that different parts never give the same input to SHA-256:
    ("a", "bc") and ("ab", "c") differ, and so do 1, 1.0, True and "1". Lists, tuples and iterators
    are alike, and the order of a mapping does not count. Raises ConfigError for any other type.
    """
    return _sha256(parts).hexdigest()[:digits]


def cache_key(*parts: Any) -> bytes:
    """The whole SHA-256 of ``fingerprint``, 32 bytes: a key of a ``SqliteCache``."""
    return _sha256(parts).digest()


def model_fingerprint(model: Path) -> str:
    """A hash of a model's files, 64 hexadecimal digits: names with contents, or with size and date
    where they are very large.
    """
    folder = model.parent if model.is_file() else model
    files = sorted(each for each in folder.iterdir() if each.is_file())
    return fingerprint((_file_parts(path) for path in files), digits=64)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes, as the command ``sha256sum`` shows it."""
    found = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            found.update(block)
    return found.hexdigest()


def _file_parts(path: Path) -> tuple[str, int, object]:
    status = path.stat()
    if status.st_size <= _HASHED_SIZE:
        return path.name, status.st_size, path.read_bytes()
    return path.name, status.st_size, status.st_mtime_ns


def _sha256(parts: tuple[Any, ...]) -> hashlib._Hash:
    found = hashlib.sha256()
    for chunk in _encoded(parts):
        found.update(chunk)
    return found


def _encoded(value: Any) -> Iterator[bytes]:
    """The value as bytes that end where they say they end: no value's bytes begin another's."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        yield _sized(b"s", value.encode("utf-8", "surrogatepass"))
    elif value is None or isinstance(value, bool):
        yield _sized(b"c", repr(value).encode())
    elif isinstance(value, int):
        yield _sized(b"i", format(value, "x").encode())
    elif isinstance(value, float):
        yield _sized(b"f", value.hex().encode())
    elif isinstance(value, bytes):
        yield _sized(b"b", value)
    elif isinstance(value, (list, tuple, Iterator)):
        yield b"["
        for each in value:
            yield from _encoded(each)
        yield b"]"
    elif isinstance(value, Mapping):
        items = sorted((_whole(key), _whole(held)) for key, held in value.items())
        yield b"{"
        for key, held in items:
            yield key + held
        yield b"}"
    elif is_dataclass(value) and not isinstance(value, type):
        yield b"<" + _whole(type(value).__qualname__)
        for each in fields(value):
            yield from _encoded(each.name)
            yield from _encoded(getattr(value, each.name))
        yield b">"
    else:
        raise ConfigError(
            f"a {type(value).__name__} has no fingerprint: expected None, a boolean, a number, a "
            f"string, bytes, or a sequence, mapping or dataclass of these; got {value!r:.80}"
        )


def _whole(value: Any) -> bytes:
    return b"".join(_encoded(value))


def _sized(kind: bytes, data: bytes) -> bytes:
    return b"%s%d:%s" % (kind, len(data), data)
