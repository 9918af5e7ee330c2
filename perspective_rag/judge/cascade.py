"""Cheap judges first: each stage decides what it can and hands on only the rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perspective_rag.errors import ConfigError
from perspective_rag.flow import Flow, call, degrade
from perspective_rag.judge.pairs import TableOfPairs, judge_pairs, noted
from perspective_rag.judge.revisions import digest, revision_of
from perspective_rag.protocols import Embedder, Judge, KeepsEmbeddings
from perspective_rag.types import Passage, Perspective, Vector
from perspective_rag.vectors import cosine


class CascadeJudge(TableOfPairs):
    """Three stages: embeddings rule out the unrelated, a judge decides, a language model decides
    what is left uncertain.

    1. With an ``embedder``, pairs whose cosine is below ``unrelated_below`` get P(support) = 0. The
       claim, where a perspective has one, stands for both its sides. ``store`` may hold the
       passages' vectors already (``embeddings_of``): then only perspectives are embedded.
    2. ``judge`` decides the rest; its ``threshold`` is the cascade's.
    3. With an ``llm_judge``, pairs within ``uncertain`` = (low, high) of stage 2, and those that
       it could not judge, are asked again. The reply replaces P, moved to the judge's scale:
       p -> p t / u below the llm judge's threshold u, t + (p - u) (1 - t) / (1 - u) from it on, so
       that t = ``judge.threshold`` keeps its meaning. Where the model fails, stage 2 stands.

    A lower ``unrelated_below`` loses less and costs more; the default, with all-MiniLM-L6-v2, rules
    out 1% of the supporting pairs of the judge's development data and more than half of random
    ones. The trace counts ``cascade_ruled_out``,
    ``cascade_judged`` and ``cascade_uncertain`` pairs. A stage that fails is recorded and hands all
    pairs on. Raises ConfigError for limits out of range.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        embedder: Embedder | None = None,
        store: KeepsEmbeddings | None = None,
        unrelated_below: float = 0.15,
        llm_judge: Judge | None = None,
        uncertain: tuple[float, float] | None = None,
    ) -> None:
        low, high = uncertain or (judge.threshold / 2, (1 + judge.threshold) / 2)
        if not (0.0 <= low <= high <= 1.0 and -1.0 <= unrelated_below <= 1.0):
            raise ConfigError(
                "expected 0 <= low <= high <= 1 in uncertain and unrelated_below in [-1, 1]; got "
                f"{(low, high)!r} and {unrelated_below!r}"
            )
        self.first, self.last = judge, llm_judge
        self.embedder, self.store = embedder, store
        self.unrelated_below = unrelated_below
        self.uncertain = (low, high)

    @property
    def name(self) -> str:
        """The judges of the cascade."""
        return " > ".join(judge.name for judge in (self.first, self.last) if judge is not None)

    @property
    def threshold(self) -> float:
        """The threshold of the judge in the middle."""
        return self.first.threshold

    @property
    def revision(self) -> str:
        """Identifies the stages and their limits; raises ConfigError if one has no revision."""
        last = revision_of(self.last) if self.last is not None else None
        embedder = getattr(self.embedder, "name", type(self.embedder).__name__)
        return digest(revision_of(self.first), last, embedder, self.unrelated_below, self.uncertain)

    def judge_pairs(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Vector]:
        """P(passages[i] supports perspectives[i]), shape (n,), NaN where every stage failed."""
        support: Vector = np.zeros(len(passages))
        if not support.size:
            return support
        related = yield from self._related(perspectives, passages)
        rows = np.flatnonzero(related)
        support[rows] = yield from _part(self.first, perspectives, passages, rows)
        low, high = self.uncertain
        open_rows = np.zeros(0, dtype=int)
        if self.last is not None:
            open_ = np.isnan(support) | (related & (support >= low) & (support <= high))
            open_rows = np.flatnonzero(open_)
            again = yield from _part(self.last, perspectives, passages, open_rows)
            again = _moved(again, self.last.threshold, self.threshold)
            support[open_rows] = np.where(np.isnan(again), support[open_rows], again)
        counts = {
            "cascade_ruled_out": len(support) - len(rows),
            "cascade_judged": len(rows),
            "cascade_uncertain": len(open_rows),
        }
        yield from noted("cascade", counts)
        return support

    def _related(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[np.ndarray[tuple[int, ...], np.dtype[np.bool_]]]:
        """Which pairs are near enough to be judged: all of them if that cannot be told."""
        everything = np.ones(len(passages), dtype=bool)
        if self.embedder is None:
            return everything
        statements = [p.claim if p.claim and p.stance else p.text for p in perspectives]
        reply = yield from call("cascade", self._cosines, statements, list(passages))
        if reply.error is not None:
            yield from degrade("judge", "nothing could be ruled out by embeddings", reply.error)
            return everything
        near: Vector = reply.value
        return ~(near < self.unrelated_below)  # NaN counts as near

    def _cosines(self, statements: Sequence[str], passages: Sequence[Passage]) -> Vector:
        assert self.embedder is not None
        texts = list(dict.fromkeys(statements))
        known = list({passage.id: passage for passage in passages}.values())
        wanted = np.asarray(self.embedder.embed_queries(texts), dtype=float)
        rows = np.full((len(known), wanted.shape[1]), np.nan)
        if self.store is not None:
            stored = np.asarray(self.store.embeddings_of(known), dtype=float)
            if stored.shape == rows.shape:
                rows = stored
        lacking = np.flatnonzero(np.isnan(rows).any(axis=1))
        if len(lacking):
            missing = [known[i].text for i in lacking]
            rows[lacking] = np.asarray(self.embedder.embed_passages(missing), dtype=float)
        table = cosine(rows, wanted)
        place = {passage.id: i for i, passage in enumerate(known)}
        column = {text: j for j, text in enumerate(texts)}
        near: Vector = table[[place[p.id] for p in passages], [column[s] for s in statements]]
        return near


def _part(
    judge: Judge,
    perspectives: Sequence[Perspective],
    passages: Sequence[Passage],
    rows: np.ndarray[tuple[int, ...], np.dtype[np.int_]],
) -> Flow[Vector]:
    if not len(rows):
        return np.zeros(0)
    values = yield from judge_pairs(
        judge, [perspectives[i] for i in rows], [passages[i] for i in rows]
    )
    return values


def _moved(values: Vector, from_: float, to: float) -> Vector:
    """Probabilities with one threshold on the scale of another: piecewise linear, 0 and 1 fixed."""
    below = values * (to / from_) if from_ > 0 else values * 0.0
    above = to + (values - from_) * ((1 - to) / (1 - from_)) if from_ < 1 else values * 0.0 + 1.0
    return np.where(values < from_, below, above)
