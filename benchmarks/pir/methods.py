"""Ways to score a corpus from the vectors of queries, roots, perspectives and documents.

A method takes four matrices, ``queries``, ``roots``, ``perspectives`` (n_queries, d) each, row by
row of one query, and ``corpus`` (n_corpus, d), and gives scores (n_queries, n_corpus), higher is
better. It sees no text, no label and no gold.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from perspective_rag.addons import cosine, normalised
from perspective_rag.extend import Matrix, Vector
from perspective_rag.maths.adaptive import CANDIDATES, COMMON, FULL_SPREAD, choose, parts
from perspective_rag.maths.projection import projected_scores

Method = Callable[[Matrix, Matrix, Matrix, Matrix], Matrix]

PLAIN = "none"
"""Plain cosine, which the others are compared with."""


def fixed(name: str) -> Method:
    """The same projection for every query (PIR Tables 4 and 8; ``project.table``)."""

    def score(queries: Matrix, roots: Matrix, perspectives: Matrix, corpus: Matrix) -> Matrix:
        rows = zip(queries, roots, perspectives, strict=True)
        return np.stack([projected_scores(name, corpus, q, r, p) for q, r, p in rows])

    return score


def plain(queries: Matrix, roots: Matrix, perspectives: Matrix, corpus: Matrix) -> Matrix:
    """cos(q, c)."""
    return cosine(queries.astype(np.float64), corpus.astype(np.float64))


def adaptive(
    kinds: Matrix | None = None, *, common: float = COMMON, full_at: float = FULL_SPREAD
) -> Method:
    """The projection chosen for each query (``perspective_rag.maths.adaptive``).

    ``kinds`` are the vectors of ``KINDS`` from the same encoder, shape (m, d); None does without.
    """

    def score(queries: Matrix, roots: Matrix, perspectives: Matrix, corpus: Matrix) -> Matrix:
        rows = zip(queries, roots, perspectives, strict=True)
        return np.stack(
            [
                adaptive_scores(corpus, q, r, p, kinds=kinds, common=common, full_at=full_at)
                for q, r, p in rows
            ]
        )

    return score


def adaptive_scores(
    corpus: Matrix,
    query: Vector,
    root: Vector,
    perspective: Vector,
    *,
    kinds: Matrix | None = None,
    common: float = COMMON,
    full_at: float = FULL_SPREAD,
) -> Vector:
    """The score of every document of a corpus, as a search of ``CANDIDATES`` finds and ranks them:
    cosines in [-1, 1] for what the search found, cosine - 2 for the others, so that they rank
    behind. Without a perspective, the cosine to the query for all.
    """
    rows = normalised(corpus)
    projected = parts(query, root, perspective, kinds=kinds)
    found = np.argsort(-(rows @ projected.search), kind="stable")[:CANDIDATES]
    scores: Vector = rows @ choose(projected, rows[found], common=common, full_at=full_at).vector
    if projected.problem is not None:
        return scores
    behind = np.full(len(rows), 2.0)
    behind[found] = 0.0
    ranked: Vector = scores - behind
    return ranked


PUBLISHED_METHODS = (
    PLAIN,
    "add",
    "add+",
    "concat",
    "concat+",
    "cast",
    "cast+",
    "dual-sum",
    "tri-sum",
    "pap",
    "pap+",
)
"""The rows of PIR Table 8, in its order."""

ADAPTIVE = "adaptive"
"""Ours; a run with an encoder replaces the entry below by one with its vectors of ``KINDS``."""

METHODS: dict[str, Method] = {
    **{name: plain if name == PLAIN else fixed(name) for name in PUBLISHED_METHODS},
    ADAPTIVE: adaptive(),
}
"""name -> method; what is added here becomes a row of every table."""
