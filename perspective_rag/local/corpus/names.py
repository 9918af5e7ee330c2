"""Ids told apart in little memory, for corpora of many millions of passages."""

from __future__ import annotations

import hashlib
import re

import numpy as np
from numpy.typing import NDArray

from perspective_rag.local.corpus.records import Report

_NUMBERED = re.compile(r"(?s)(.*?)(0|[1-9][0-9]{0,17})\Z")
_BUFFERED = 1 << 16


class Names:
    """The ids given so far, and for those given more than once the last number.

    Ids that count on ("1", "2", "3" or "a.jsonl:1", "a.jsonl:2") take no memory; each other takes 8
    bytes, of a hash: that two of 100 million ids share one has a probability of 0.03%, and the
    second is then treated as repeated.
    """

    def __init__(self) -> None:
        self._runs: dict[str, tuple[int, int]] = {}
        self._others = _Hashes()
        self._last: dict[str, int] = {}

    def distinct(self, id: str, line: int, report: Report) -> str:
        """The id, or with ``~2``, ``~3`` ... appended when it is taken, which is reported."""
        name, count = id, self._last.get(id, 1)
        while not self._took(name):
            count += 1
            name = f"{id}~{count}"
        if name != id:
            self._last[id] = count
            report(line, f"the id {id!r} is taken; this one is now {name!r}")
        return name

    def _took(self, name: str) -> bool:
        """Takes a name; False where it is taken."""
        found = _NUMBERED.match(name)
        if found is None:
            return self._others.add(name)
        prefix, number = found[1], int(found[2])
        run = self._runs.get(prefix)
        if run is not None and run[0] <= number <= run[1]:
            return False
        if run is not None and number == run[1] + 1 and name not in self._others:
            self._runs[prefix] = run[0], number
            return True
        if run is None and len(self._runs) < _BUFFERED:
            self._runs[prefix] = number, number
            return True
        return self._others.add(name)


class _Hashes:
    """A set of 64-bit hashes: sorted arrays, of which each is at least twice as long as the next.

    Adding n takes O(n log n) in all, asking O(log^2 n).
    """

    def __init__(self) -> None:
        self._sorted: list[NDArray[np.uint64]] = []
        self._new: set[int] = set()

    def __contains__(self, name: str) -> bool:
        return self._holds(_hash(name))

    def add(self, name: str) -> bool:
        """Puts it in; False where it is in it."""
        wanted = _hash(name)
        if self._holds(wanted):
            return False
        self._new.add(wanted)
        if len(self._new) >= _BUFFERED:
            self._sorted.append(np.sort(np.fromiter(self._new, dtype=np.uint64)))
            self._new.clear()
            while len(self._sorted) > 1 and len(self._sorted[-2]) < 2 * len(self._sorted[-1]):
                last = self._sorted.pop()
                # Two sorted runs: the stable sort merges them.
                self._sorted[-1] = np.sort(np.concatenate([self._sorted[-1], last]), kind="stable")
        return True

    def _holds(self, wanted: int) -> bool:
        if wanted in self._new:
            return True
        value = np.uint64(wanted)
        for held in self._sorted:
            place = int(np.searchsorted(held, value))
            if place < len(held) and held[place] == value:
                return True
        return False


def _hash(name: str) -> int:
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little")
