"""Passages in a folder, read one by one as they are asked for."""

from __future__ import annotations

import hashlib
import json
import mmap
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import CorpusError
from perspective_rag.text import from_json
from perspective_rag.types import Passage

_LINES, _OFFSETS = "passages.jsonl", "offsets.npy"
_HASHES, _POSITIONS = "id_hashes.npy", "id_positions.npy"


class StoredPassages(Sequence[Passage]):
    """The passages that ``write_passages`` wrote to ``folder``, with distinct ids.

    Files are mapped into memory, so that opening them reads nothing. Raises CorpusError for a
    folder that holds no such files; a passage that cannot be read raises it where it is asked for.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._all: list[Passage] | None = None
        try:
            with (folder / _LINES).open("rb") as stream:
                self._lines = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            self._offsets: Any = np.load(folder / _OFFSETS, mmap_mode="r")
            self._hashes: Any = np.load(folder / _HASHES, mmap_mode="r")
            self._positions: Any = np.load(folder / _POSITIONS, mmap_mode="r")
        except (OSError, ValueError) as error:
            raise CorpusError(f"{folder} holds no passages: {error}") from error
        if not len(self._offsets) - 1 == len(self._hashes) == len(self._positions):
            raise CorpusError(f"{folder} holds no passages: its files do not belong together")

    def __len__(self) -> int:
        return len(self._hashes)

    @overload
    def __getitem__(self, index: int) -> Passage: ...
    @overload
    def __getitem__(self, index: slice) -> list[Passage]: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        start, stop = self._offsets[place : place + 2].tolist()
        try:
            id, text, metadata = from_json(self._lines[start:stop])
            return Passage(id, text, metadata)
        except (ValueError, TypeError) as error:
            raise CorpusError(
                f"passage {place:,} in {self.folder} cannot be read ({error}): delete that folder, "
                "and the corpus is read anew"
            ) from error

    def __iter__(self) -> Iterator[Passage]:
        return (self[i] for i in range(len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredPassages, (self.folder,)

    def in_memory(self) -> list[Passage]:
        """All of them, read once and then kept: for what looks at every passage again and again."""
        if self._all is None:
            self._all = list(self)
        return self._all

    def position(self, id: str) -> int | None:
        """Where the passage with this id stands, None where there is none: O(log n)."""
        wanted = np.uint64(_hash(id))
        at = int(np.searchsorted(self._hashes, wanted))
        while at < len(self._hashes) and self._hashes[at] == wanted:
            found = int(self._positions[at])
            if self[found].id == id:
                return found
            at += 1
        return None

    def rows(self, ids: Sequence[str]) -> NDArray[np.int64]:
        """Where the passages with these ids stand, -1 where there is none, by the ids' hashes."""
        wanted = np.fromiter((_hash(id) for id in ids), dtype=np.uint64, count=len(ids))
        at = np.minimum(np.searchsorted(self._hashes, wanted), len(self) - 1)
        found: NDArray[np.int64] = np.where(
            self._hashes[at] == wanted, self._positions[at], np.int64(-1)
        )
        return found


def write_passages(folder: Path, passages: Iterable[Passage]) -> Iterator[Passage]:
    """Writes passages with distinct ids to an existing folder, handing each on once it is written.

    In memory stay 16 bytes for each. The folder is complete when the iterator has ended. Raises
    OSError where it cannot be written, and ValueError or TypeError for metadata that JSON cannot
    hold.
    """
    offsets, hashes = array("q", [0]), array("Q")
    with (folder / _LINES).open("wb") as stream:
        for passage in passages:
            values = [passage.id, passage.text, dict(passage.metadata)]
            line = json.dumps(values, ensure_ascii=False).encode() + b"\n"
            stream.write(line)
            offsets.append(offsets[-1] + len(line))
            hashes.append(_hash(passage.id))
            yield passage
    found = np.frombuffer(hashes, dtype=np.uint64)
    order = np.argsort(found, kind="stable")
    np.save(folder / _OFFSETS, np.frombuffer(offsets, dtype=np.int64))
    np.save(folder / _HASHES, found[order])
    np.save(folder / _POSITIONS, order.astype(np.int64))


def _hash(id: str) -> int:
    digest = hashlib.blake2b(id.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
