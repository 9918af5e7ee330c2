"""Verdicts kept in a file: no pair is judged twice."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from perspective_rag.flow.request import degrade, note
from perspective_rag.flow.steps import Flow, call, complete
from perspective_rag.judge.pairs import TableOfPairs, judge_pairs, revision_of
from perspective_rag.judge.support import judge_two
from perspective_rag.judge.wrapped import WrappedJudge
from perspective_rag.protocols import Judge, Judged, JudgesLists
from perspective_rag.storage.fingerprint import cache_key
from perspective_rag.storage.sqlite_cache import open_cache
from perspective_rag.text import from_json
from perspective_rag.types import Matrix, Passage, Perspective, Proof, Vector


class CachedJudge(TableOfPairs, WrappedJudge):
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

        def ask(rows: list[int]) -> Flow[Judged]:
            sides, texts = [perspectives[i] for i in rows], [passages[i] for i in rows]
            support = yield from judge_pairs(self.inner, sides, texts)
            return _without_proofs(support[:, None])

        revision = self.revision
        keys = [
            _key(revision, "pair", [side], passage)
            for side, passage in zip(perspectives, passages, strict=True)
        ]
        judged = yield from self._filled(keys, [""], ask)
        return judged.support[:, 0]

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
        near = np.asarray(relevance)

        def ask(rows: list[int]) -> Flow[Judged]:
            chosen = [passages[i] for i in rows]
            support = yield from judge_two(self.inner, sides, chosen, near[rows])
            return _without_proofs(support)

        revision = self.revision
        keys = [
            _key(revision, "sides", sides, passage, f"{value:.6f}")
            for passage, value in zip(passages, near.tolist(), strict=True)
        ]
        judged = yield from self._filled(keys, ["", ""], ask)
        return judged.support

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

        def ask(rows: list[int]) -> Flow[Judged]:
            chosen, near = [passages[i] for i in rows], np.asarray(relevance)[rows]
            flow = inner.judge_list(question, perspectives, chosen, near, exclusive=exclusive)
            return complete(flow, f"judge {self.name!r}", "a Judged")

        revision = self.revision
        keys = [_key(revision, "list", perspectives, passage, question) for passage in passages]
        return (yield from self._filled(keys, [each.id for each in perspectives], ask))

    def _filled(
        self,
        keys: Sequence[bytes],
        names: Sequence[str],
        ask: Callable[[list[int]], Flow[Judged]],
    ) -> Flow[Judged]:
        """What is kept, and what ``ask`` says of the rows that are not.

        ``names`` are the ids of the perspectives, by which proofs are named.
        """
        support: Matrix = np.full((len(keys), len(names)), np.nan)
        proofs: list[dict[str, Proof]] = [{} for _ in keys]
        own = np.zeros(len(keys), dtype=bool)
        reply = yield from call("judge_cache", self._kept.get, keys)
        if reply.error is not None:
            degrade("judge", f"{self.path} could not be read", reply.error)
        for i, key in enumerate(keys):
            try:
                values, spans = from_json((reply.value or {})[key])
                row = np.array(values, dtype=float)
                if row.shape != support[i].shape or not ((row >= 0.0) & (row <= 1.0)).all():
                    continue
                proofs[i] = {names[column]: Proof(*span) for column, span in spans}
                support[i], own[i] = row, True
            except (KeyError, ValueError, TypeError, IndexError):
                continue  # not kept, or damaged: asked anew
        rows = np.flatnonzero(~own).tolist()
        note(counts={"cached_pairs": len(names) * (len(keys) - len(rows))})
        if rows:
            fresh = yield from ask(rows)
            new = {}
            for i, values, proof, is_own in zip(
                rows, fresh.support, fresh.proofs, fresh.own.tolist(), strict=True
            ):
                support[i], proofs[i], own[i] = values, dict(proof), is_own
                if is_own and not np.isnan(values).any():
                    spans = [
                        (column, (proof[name].start, proof[name].end))
                        for column, name in enumerate(names)
                        if name in proof
                    ]
                    new[keys[i]] = json.dumps([values.tolist(), spans])
            if new:
                reply = yield from call("judge_cache", self._kept.put, new)
                if reply.error is not None:
                    degrade("judge", f"{self.path} could not be written", reply.error)
        return Judged(support, tuple(proofs), own)

    def close(self) -> None:
        """Closes the file."""
        self._kept.close()


def _key(
    revision: str,
    form: str,
    perspectives: Sequence[Perspective],
    passage: Passage,
    about: str = "",
) -> bytes:
    sides = [(each.text, each.stance, each.claim) for each in perspectives]
    return cache_key(form, revision, about, sides, passage.title, passage.text)


def _without_proofs(support: Matrix) -> Judged:
    return Judged(support, ({},) * len(support), np.ones(len(support), dtype=bool))
