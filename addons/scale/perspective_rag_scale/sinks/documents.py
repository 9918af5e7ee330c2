"""What the databases' sinks share: ids they can take, metadata they can hold, their errors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar
from uuid import NAMESPACE_URL, uuid5

from perspective_rag import ConfigError, Passage
from perspective_rag.addons import fingerprint, json_ready, redacted

T = TypeVar("T")

PASSAGE_ID = "passage_id"
"""The metadata field of the passage's id, where the store's own id is another."""


def metadata_of(passage: Passage, id: str) -> dict[str, Any]:
    """JSON-ready metadata, with the passage's id where ``id``, the store's, is another."""
    found: dict[str, Any] = json_ready(passage.metadata)
    return found if id == passage.id else {**found, PASSAGE_ID: passage.id}


def uuid_of(passage: Passage) -> str:
    """A UUID that the passage's id always has."""
    return str(uuid5(NAMESPACE_URL, f"perspective-rag:{passage.id}"))


def short_id(passage: Passage, most: int = 512) -> str:
    """The passage's id, or 64 hexadecimal digits of it where it has more than ``most`` bytes."""
    long = len(passage.id.encode("utf-8", "surrogatepass")) > most
    return fingerprint(passage.id, digits=64) if long else passage.id


def key_of(scheme: str, place: str, name: str) -> str:
    """What tells a store from others: a folder or file by its whole path, an address without its
    user.
    """
    local = "://" not in place and place != ":memory:"
    return redacted(f"{scheme}:{Path(place).resolve() if local else place}#{name}")


def without_nul(text: str) -> str:
    """The text with U+FFFD for U+0000, which databases written in C cannot hold."""
    return text.replace("\0", "\ufffd")


def pieces(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Some of the values at a time."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def check_dimensions(name: str, found: object, wanted: int) -> None:
    """Raises ConfigError where a store holds vectors of another length."""
    if found != wanted:
        raise ConfigError(
            f"{name} holds vectors of {found} numbers, the encoder gives {wanted}: name another "
            "one, or pass the encoder it was filled with"
        )
