"""Passages in a folder, read one by one as they are asked for."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np

from perspective_rag.errors import CorpusError
from perspective_rag.storage.folders import written_sums
from perspective_rag.text import from_json
from perspective_rag.types import Passage

_LINES, _OFFSETS = "passages.jsonl", "offsets.npy"


class StoredPassages(Sequence[Passage]):
    """The passages that ``write_passages`` wrote to ``folder``, a sealed one.

    Files are mapped into memory, so that opening them reads nothing. Raises CorpusError for a
    folder that holds no such files, or others than those of ``sums``; a passage that cannot be read
    raises it where it is asked for.
    """

    def __init__(self, folder: Path, sums: list[int] | None = None) -> None:
        self.folder = folder
        self._all: list[Passage] | None = None
        try:
            self._sums = written_sums(folder)[_LINES]
            with (folder / _LINES).open("rb") as stream:
                self._lines = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            self._offsets: Any = np.load(folder / _OFFSETS, mmap_mode="r")
        except (OSError, ValueError, KeyError) as error:
            raise CorpusError(f"{folder} holds no passages: {error}") from error
        if sums not in (None, self._sums):
            raise CorpusError(f"{folder} holds other passages by now: load the corpus anew")

    def __len__(self) -> int:
        return len(self._offsets) - 1

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

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredPassages, (self.folder, self._sums)

    def in_memory(self) -> list[Passage]:
        """All of them, read once and then kept: for what looks at every passage again and again."""
        if self._all is None:
            self._all = list(self)
        return self._all


def write_passages(folder: Path, passages: Iterable[Passage]) -> None:
    """Writes passages to an existing folder.

    Raises OSError where it cannot be written, and ValueError or TypeError for metadata that JSON
    cannot hold.
    """
    offsets = [0]
    with (folder / _LINES).open("wb") as stream:
        for passage in passages:
            values = [passage.id, passage.text, dict(passage.metadata)]
            stream.write(json.dumps(values, ensure_ascii=False).encode() + b"\n")
            offsets.append(stream.tell())
    np.save(folder / _OFFSETS, np.array(offsets, dtype=np.int64))
