"""Verdicts kept in a file: no pair is judged twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag.flow.request import degrade, note
from perspective_rag.flow.steps import Flow, call, complete
from perspective_rag.judge.pairs import TableOfPairs, judge_pairs, revision_of
from perspective_rag.judge.support import OfListReader, judge_two
from perspective_rag.protocols import Judge, Judged, JudgesLists
from perspective_rag.storage.fingerprint import cache_key
from perspective_rag.storage.sqlite_cache import open_cache
from perspective_rag.text import from_json
from perspective_rag.types import Matrix, Passage, Perspective, Proof, Vector


class CachedJudge(OfListReader, TableOfPairs):
    """A judge whose verdicts are kept in a file: no pair is judged twice.

    The key is a hash of the judge's ``revision`` (its weights, prompt and settings), of the
    perspective (text, stance and claim) and of the passage (text and title). Only probabilities in
    [0, 1] are kept: never a failure, never NaN. Threads and processes can share a file; of two
    verdicts on a pair the first stored stays. Where the file fails the judge is asked, and that is
    recorded. The trace counts ``cached_pairs``.

    Args:
        judge: Judges what is not in the file yet.
        path: A SQLite file, made if missing.

    Raises:
        ConfigError: The file cannot be opened, or the judge has no ``revision``.
    """

    def __init__(self, judge: Judge, path: str | Path) -> None:
        revision_of(judge)
        self.inner = judge
        self.path = Path(path)
        self._kept = open_cache(self.path, "judge_verdicts", "verdicts")

    @property
    def revision(self) -> str:
        """The judge's own revision."""
        return revision_of(self.inner)

    def judge_pairs(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Vector]:
        """The same as ``judge`` of passages[i] beside perspectives[i] alone, shape (n_pairs,)."""
        if not passages:
            return np.zeros(0)
        keys = _keys(self.revision, perspectives, passages)

        def ask(rows: list[int]) -> Flow[Matrix]:
            sides, texts = [perspectives[i] for i in rows], [passages[i] for i in rows]
            return (yield from judge_pairs(self.inner, sides, texts))[:, None]

        support = yield from self._filled([[key] for key in keys], ask)
        return support[:, 0]

    def judge_sides(
        self,
        sides: tuple[Perspective, Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
    ) -> Flow[Matrix]:
        """Judges passages beside two sides that contradict each other.

        Args:
            sides: The two sides.
            passages: The passages to judge.
            relevance: Cosine of each passage to the question, shape (n_passages,); NaN where it is
                not known.

        Returns:
            P(support) of each side, shape (n_passages, 2); NaN where the judge failed.
        """
        if not passages:
            return np.zeros((0, 2))
        keys = _keys_of_sides(self.revision, sides, passages, relevance)

        def ask(rows: list[int]) -> Flow[Matrix]:
            near = np.asarray(relevance)[rows]
            return judge_two(self.inner, sides, [passages[i] for i in rows], near)

        return (yield from self._filled(keys, ask))

    def _filled(
        self, keys: Sequence[Sequence[bytes]], ask: Callable[[list[int]], Flow[Matrix]]
    ) -> Flow[Matrix]:
        """The kept P(support) by key, and what ``ask`` says of the rows that are not all there."""
        known = yield from self._get([key for row in keys for key in row])
        support: Matrix = np.array([[known.get(key, np.nan) for key in row] for row in keys])
        rows = np.flatnonzero(np.isnan(support).any(axis=1)).tolist()
        note(counts={"cached_pairs": support[0].size * (len(keys) - len(rows))})
        if rows:
            support[rows] = yield from ask(rows)
            new = {
                key: v for i in rows for key, v in zip(keys[i], support[i].tolist(), strict=True)
            }
            yield from self._put({key: v for key, v in new.items() if not np.isnan(v)})
        return support

    def _get(self, keys: Sequence[bytes]) -> Flow[Mapping[bytes, Any]]:
        reply = yield from call("judge_cache", self._kept.get, keys)
        if reply.error is not None:
            degrade("judge", f"{self.path} could not be read", reply.error)
        return reply.value or {}

    def _put(self, values: Mapping[bytes, Any]) -> Flow[None]:
        reply = yield from call("judge_cache", self._kept.put, values)
        if reply.error is not None:
            degrade("judge", f"{self.path} could not be written", reply.error)

    def judge_list(
        self,
        question: str,
        perspectives: Sequence[Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
        *,
        exclusive: bool = False,
    ) -> Flow[Judged]:
        """Judges the passages of a question together.

        A verdict is kept by question, sides and passage, whatever list it was made in.

        Args:
            question: The question; may be empty.
            perspectives: Its perspectives.
            passages: The passages to judge.
            relevance: Cosine of each passage to the question, shape (n_passages,); NaN where it is
                not known.
            exclusive: True where the perspectives contradict each other.

        Returns:
            The verdicts with their proofs. Those of a fallback are not kept.
        """
        inner = self.inner
        assert isinstance(inner, JudgesLists)
        sides = [(each.text, each.stance, each.claim) for each in perspectives]
        about = self.revision, question, sides
        keys = [cache_key("list", *about, d.title, d.text) for d in passages]
        known = yield from self._get(keys)
        found = _Kept(perspectives, len(passages))
        rows = [i for i, key in enumerate(keys) if not found.take(i, known.get(key))]
        note(counts={"cached_pairs": len(perspectives) * (len(keys) - len(rows))})
        if rows:
            chosen, near = [passages[i] for i in rows], np.asarray(relevance)[rows]
            flow = inner.judge_list(question, perspectives, chosen, near, exclusive=exclusive)
            fresh: Judged = yield from complete(flow, f"judge {self.name!r}", "a Judged")
            new = {keys[i]: found.put(i, fresh, row) for row, i in enumerate(rows)}
            yield from self._put({key: value for key, value in new.items() if value is not None})
        return Judged(found.support, tuple(found.proofs), found.own)

    def close(self) -> None:
        """Closes the file."""
        self._kept.close()


class _Kept:
    """The verdicts on a list, put together from what was kept and what is new."""

    def __init__(self, perspectives: Sequence[Perspective], count: int) -> None:
        self._ids = [each.id for each in perspectives]
        self.support: Matrix = np.full((count, len(perspectives)), np.nan)
        self.proofs: list[Mapping[str, Proof]] = [{} for _ in range(count)]
        self.own = np.zeros(count, dtype=bool)

    def take(self, place: int, value: str | None) -> bool:
        """Whether a kept value says what the judge says of the passage at a place."""
        try:
            row, proofs = from_json(value or "")
            self.support[place] = np.array(row, dtype=float)
            self.proofs[place] = {self._ids[i]: Proof(*span) for i, span in proofs}
        except (ValueError, TypeError, IndexError):
            return False
        self.own[place] = True
        return True

    def put(self, place: int, judged: Judged, row: int) -> str | None:
        """The value to keep of a new verdict; None of one that is not the judge's own."""
        self.support[place] = judged.support[row]
        self.proofs[place] = judged.proofs[row]
        self.own[place] = judged.own[row]
        if not judged.own[row] or np.isnan(judged.support[row]).any():
            return None
        spans = [
            (i, (judged.proofs[row][name].start, judged.proofs[row][name].end))
            for i, name in enumerate(self._ids)
            if name in judged.proofs[row]
        ]
        return json.dumps([judged.support[row].tolist(), spans])


def _keys(
    revision: str, perspectives: Sequence[Perspective], passages: Sequence[Passage]
) -> list[bytes]:
    return [
        cache_key(revision, (side.text, side.stance, side.claim), passage.title, passage.text)
        for side, passage in zip(perspectives, passages, strict=True)
    ]


def _keys_of_sides(
    revision: str,
    sides: tuple[Perspective, Perspective],
    passages: Sequence[Passage],
    relevance: Vector,
) -> list[list[bytes]]:
    known = [f"{value:.6f}" for value in np.asarray(relevance).tolist()]
    return [
        [cache_key(revision, a.text, b.text, d.title, d.text, near) for a, b in pairs]
        for d, near in zip(passages, known, strict=True)
        for pairs in [(sides, sides[::-1])]
    ]
