"""Cheap judges first: each stage decides what it can and hands on only the rest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError
from perspective_rag.flow.request import degrade, note
from perspective_rag.flow.steps import Flow, call
from perspective_rag.judge.pairs import TableOfPairs, judge_pairs, revision_of
from perspective_rag.judge.support import judge_two, threshold_of
from perspective_rag.judge.windows import titled_pieces
from perspective_rag.judge.wrapped import WrappedJudge
from perspective_rag.maths.vectors import cosine
from perspective_rag.protocols import Embedder, Judge, KeepsEmbeddings
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag.types import Matrix, Passage, Perspective, Vector


class CascadeJudge(TableOfPairs, WrappedJudge):
    """Embeddings rule out the unrelated, a judge decides, a language model settles the rest.

    1. With an ``embedder``, pairs whose cosine is below ``unrelated_below`` get P(support) = 0. The
       claim, where a perspective has one, stands for both its sides.
    2. ``judge`` decides the rest; its ``threshold`` is the cascade's.
    3. With an ``llm_judge``, pairs within ``uncertain`` of stage 2, and those that it could not
       judge, are asked again. The reply replaces P, moved to the judge's scale: p -> p t / u below
       the language model's threshold u, t + (p - u) (1 - t) / (1 - u) from it on, so that t =
       ``judge.threshold`` keeps its meaning. Where the model fails, stage 2 stands.

    The trace counts ``cascade_ruled_out``, ``cascade_judged`` and ``cascade_uncertain`` pairs. A
    stage that fails is recorded and hands all pairs on.

    Args:
        judge: Decides what is not ruled out.
        embedder: Rules out the unrelated. None: nothing is ruled out.
        store: A store that may hold the passages' vectors already (``embeddings_of``): then only
            perspectives are embedded.
        unrelated_below: Cosine in [-1, 1]. Lower: less support is lost, more pairs are judged. The
            default, with all-MiniLM-L6-v2, rules out 1% of the supporting pairs of the judge's
            development data and more than half of random ones.
        llm_judge: Judges what is uncertain, such as an ``LLMJudge``. None: nothing is asked again.
        uncertain: (low, high) in [0, 1]: from which to which P(support) a pair is uncertain. Wider:
            more calls. None: from half the threshold to half way between threshold and 1.

    Raises:
        ConfigError: A limit is out of range.
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
        threshold = threshold_of(judge)
        low, high = uncertain or (threshold / 2, (1 + threshold) / 2)
        if not (0.0 <= low <= high <= 1.0 and -1.0 <= unrelated_below <= 1.0):
            raise ConfigError(
                "expected 0 <= low <= high <= 1 in uncertain and unrelated_below in [-1, 1]; got "
                f"{(low, high)!r} and {unrelated_below!r}"
            )
        self.inner, self.last = judge, llm_judge
        self.embedder, self.store = embedder, store
        self.unrelated_below = unrelated_below
        self.uncertain = (low, high)

    @property
    def name(self) -> str:
        """The judges of the cascade."""
        return " > ".join(judge.name for judge in (self.inner, self.last) if judge is not None)

    @property
    def languages(self) -> tuple[str, ...]:
        """Those of the judge in the middle; none named where a language model decides."""
        return () if self.last is not None else super().languages

    @property
    def quick(self) -> Judge | None:
        """The cascade without the language model."""
        if self.last is None:
            return self
        return CascadeJudge(
            self.inner,
            embedder=self.embedder,
            store=self.store,
            unrelated_below=self.unrelated_below,
        )

    @property
    def revision(self) -> str:
        """Identifies the stages and their limits; raises ConfigError if one has no revision."""
        last = revision_of(self.last) if self.last is not None else None
        embedder = getattr(self.embedder, "name", type(self.embedder).__name__)
        first = revision_of(self.inner)
        return fingerprint(first, last, embedder, self.unrelated_below, self.uncertain)

    def judge_pairs(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Vector]:
        """The same as ``judge`` of passages[i] beside perspectives[i] alone, shape (n_pairs,)."""
        support: Vector = np.zeros(len(passages))
        if not support.size:
            return support
        related = yield from self._related(perspectives, passages)
        rows = np.flatnonzero(related).tolist()
        if rows:
            sides, chosen = [perspectives[i] for i in rows], [passages[i] for i in rows]
            support[rows] = yield from judge_pairs(self.inner, sides, chosen)
        _count(ruled_out=len(support) - len(rows), judged=len(rows))
        low, high = self.uncertain
        unsure = np.isnan(support) | (related & (support >= low) & (support <= high))
        return (yield from self._ask_again(perspectives, passages, support, unsure, self.threshold))

    def judge_sides(
        self,
        sides: tuple[Perspective, Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
    ) -> Flow[Matrix]:
        """Judges passages beside two sides that contradict each other.

        What is unrelated to both sides is ruled out; ``judge`` reads the rest beside both;
        ``llm_judge`` is asked about the uncertain ones.

        Args:
            sides: The two sides.
            passages: The passages to judge.
            relevance: Cosine of each passage to the question, shape (n_passages,); NaN where it is
                not known.

        Returns:
            P(support) of each side, shape (n_passages, 2); NaN where every stage failed.
        """
        rule = self.sides_listing
        assert rule is not None
        support: Matrix = np.zeros((len(passages), 2))
        pairs = [side for _ in passages for side in sides], [p for p in passages for _ in sides]
        near = yield from self._related(*pairs)
        rows = np.flatnonzero(near.reshape(-1, 2).any(axis=1)).tolist()
        if rows:
            chosen, known = [passages[i] for i in rows], np.asarray(relevance)[rows]
            support[rows] = yield from judge_two(self.inner, sides, chosen, known)
        _count(ruled_out=2 * (len(passages) - len(rows)), judged=2 * len(rows))
        unsure = np.isnan(support) | (support >= rule.leaning / 2)
        again = self._ask_again(*pairs, support.ravel(), unsure.ravel(), rule.threshold)
        return (yield from again).reshape(-1, 2)

    def _ask_again(
        self,
        perspectives: Sequence[Perspective],
        passages: Sequence[Passage],
        support: Vector,
        unsure: NDArray[np.bool_],
        threshold: float,
    ) -> Flow[Vector]:
        """The support, shape (n_pairs,), with what is unsure asked of the language model."""
        if self.last is None:
            return support
        rows = np.flatnonzero(unsure).tolist()
        _count(uncertain=len(rows))
        if rows:
            sides, chosen = [perspectives[i] for i in rows], [passages[i] for i in rows]
            again = yield from judge_pairs(self.last, sides, chosen)
            again = _rescale(again, threshold_of(self.last), threshold)
            support[rows] = np.where(np.isnan(again), support[rows], again)
        return support

    def _related(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[NDArray[np.bool_]]:
        """Which pairs are near enough to be judged: all of them if that cannot be told."""
        everything = np.ones(len(passages), dtype=bool)
        if self.embedder is None:
            return everything
        statements = [p.claim if p.claim and p.stance else p.text for p in perspectives]
        reply = yield from call("cascade", self._cosines, statements, list(passages))
        if reply.error is not None:
            degrade("judge", "nothing could be ruled out by embeddings", reply.error)
            return everything
        near: Vector = reply.value
        return ~(near < self.unrelated_below)  # NaN counts as near

    def _cosines(self, statements: Sequence[str], passages: Sequence[Passage]) -> Vector:
        assert self.embedder is not None
        texts = list(dict.fromkeys(statements))
        known = list({(each.id, each.text): each for each in passages}.values())
        wanted = np.asarray(self.embedder.embed_queries(texts), dtype=float)
        rows = np.full((len(known), wanted.shape[1]), np.nan)
        if self.store is not None:
            stored = np.asarray(self.store.embeddings_of(known), dtype=float)
            if stored.shape == rows.shape:
                rows = stored
        table = cosine(rows, wanted)
        lacking = np.flatnonzero(np.isnan(rows).any(axis=1))
        if len(lacking):
            about = " ".join(texts)
            cut = [titled_pieces(known[i], about) for i in lacking]
            pieces = [piece for each in cut for piece in each]
            found = np.asarray(self.embedder.embed_passages(pieces), dtype=float)
            table[lacking] = -np.inf
            owners = np.repeat(lacking, [len(each) for each in cut])
            np.maximum.at(table, owners, cosine(found, wanted))
        place = {(each.id, each.text): i for i, each in enumerate(known)}
        column = {text: j for j, text in enumerate(texts)}
        near: Vector = table[
            [place[p.id, p.text] for p in passages], [column[s] for s in statements]
        ]
        return near


def _count(**pairs: int) -> None:
    note(counts={f"cascade_{name}": number for name, number in pairs.items()})


def _rescale(values: Vector, from_: float, to: float) -> Vector:
    """Probabilities with one threshold on the scale of another: piecewise linear, 0 and 1 fixed."""
    below = values * (to / from_) if from_ > 0 else values * 0.0
    above = to + (values - from_) * ((1 - to) / (1 - from_)) if from_ < 1 else values * 0.0 + 1.0
    return np.where(values < from_, below, above)
