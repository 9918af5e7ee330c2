"""Verdicts kept in a file: no pair is judged twice."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from perspective_rag.errors import ConfigError
from perspective_rag.flow import Flow, call, degrade
from perspective_rag.judge.pairs import TableOfPairs, judge_pairs, noted
from perspective_rag.judge.revisions import revision_of
from perspective_rag.kept import KeptValues
from perspective_rag.protocols import Judge
from perspective_rag.types import Passage, Perspective, Vector


class CachedJudge(TableOfPairs):
    """A judge whose verdicts are kept in ``path``, a SQLite file made if missing.

    The key is a hash of the judge's ``revision`` (its weights, prompt and settings), of the
    perspective (text, stance and claim) and of the passage (text and title). Only probabilities in
    [0, 1] are kept: never a failure, never NaN. Threads and processes can share a file; of two
    verdicts on a pair the first stored stays. Where the file fails the judge is asked, and that is
    recorded. The trace counts ``cached_pairs``.

    Raises ConfigError when the file cannot be opened or the judge has no ``revision``.
    """

    def __init__(self, judge: Judge, path: str | Path) -> None:
        revision_of(judge)
        self.inner = judge
        self.path = Path(path)
        try:
            self._kept = KeptValues(self.path, "judge_verdicts")
        except (OSError, sqlite3.Error) as error:
            raise ConfigError(f"the verdict cache {self.path} cannot be used: {error}") from error

    @property
    def name(self) -> str:
        """The judge's own name."""
        return self.inner.name

    @property
    def threshold(self) -> float:
        """The judge's own threshold."""
        return self.inner.threshold

    @property
    def revision(self) -> str:
        """The judge's own revision."""
        return revision_of(self.inner)

    def judge_pairs(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Vector]:
        """P(passages[i] supports perspectives[i]), shape (n,), NaN where the judge failed."""
        if not passages:
            return np.zeros(0)
        revision = self.revision
        keys = [_key(revision, p, d) for p, d in zip(perspectives, passages, strict=True)]
        reply = yield from call("judge_cache", self._kept.get, keys)
        if reply.error is not None:
            yield from degrade("judge", f"{self.path} could not be read", reply.error)
        known: Mapping[bytes, float] = reply.value or {}
        support: Vector = np.array([known.get(key, np.nan) for key in keys])
        rows = np.flatnonzero(np.isnan(support)).tolist()
        yield from noted("judge_cache", {"cached_pairs": len(keys) - len(rows)})
        if rows:
            fresh = yield from judge_pairs(
                self.inner, [perspectives[i] for i in rows], [passages[i] for i in rows]
            )
            support[rows] = fresh
            found = {keys[i]: float(support[i]) for i in rows if not np.isnan(support[i])}
            reply = yield from call("judge_cache", self._kept.put, found)
            if reply.error is not None:
                yield from degrade("judge", f"{self.path} could not be written", reply.error)
        return support

    def close(self) -> None:
        """Closes the file."""
        self._kept.close()


def _key(revision: str, perspective: Perspective, passage: Passage) -> bytes:
    parts = (
        revision,
        perspective.text,
        perspective.stance or "",
        perspective.claim or "",
        passage.title,
        passage.text,
    )
    found = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        found.update(len(data).to_bytes(8, "big") + data)
    return found.digest()
