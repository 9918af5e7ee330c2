"""A projection chosen for each query: how much its perspective counts, read off the candidates.

q, r, p and c are unit vectors of the query, its root, its perspective and a candidate. A search
with q finds the first candidates; m is their mean. Then

    R = unit(r - CENTRING m)          the root without what all the first candidates share
    P = unit(p - its part in span(K)) the perspective without the words for a kind of text
    B = mean of P . c over the TOP candidates of (R + P) . c   how far they bear the perspective out
    w = min(1, max(0, B) / BORNE_OUT)
    score of c = cos(R + w P, c)

A perspective that is content ("happened in Mexico") is said by documents that also fit the root: B
is high, and the perspective counts as much as the root. One that only instructs ("a claim that
opposes ...") is said by none, B is near 0, and what is left is the root: the perspective is
removed, as in PAP (PIR section 3.1), but nothing of the root with it. K holds the vectors of
``KINDS``: "a news article" in a perspective says which corpus is searched, not what is asked for.

The search costs one further query, with R + P; candidates of both searches are ranked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.errors import ConfigError
from perspective_rag.types import Matrix, Vector
from perspective_rag.vectors import as_matrix, as_vector, is_zero, normalised

KINDS = ("a text", "a document", "an article", "a claim", "a question", "a story")
"""Words for a kind of text; their vectors are what ``kinds`` is."""

CENTRING = 0.5
"""The share of the first candidates' mean that is taken from the root, in [0, 1]."""

BORNE_OUT = 0.3
"""The mean cosine from which a perspective counts in full; higher: perspectives count less."""

TOP = 5
"""The candidates that are asked whether they bear the perspective out."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """R and P of one query, each of shape (d,) and length one.

    ``problem`` says why the query is searched as it is; ``root`` is then the query and
    ``perspective`` zero. ``kept`` in [0, 1] is the length of the perspective without the words for
    kinds of text.
    """

    root: Vector
    perspective: Vector
    kept: float
    problem: str | None = None

    @property
    def both(self) -> Vector:
        """The vector of the second search, R + P."""
        return self.root + self.perspective


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What was chosen: ``vector`` (d,) of length one, to compare candidates with by cosine.

    ``weight`` in [0, 1] is how much the perspective counts beside the root; ``borne_out`` in
    [-1, 1] is what it was read off.
    """

    vector: Vector
    weight: float
    borne_out: float
    kept: float
    problem: str | None = None

    @property
    def reason(self) -> str:
        """The choice in a sentence."""
        if self.problem is not None:
            return f"plain query: {self.problem}"
        found = f"the best candidates bear the perspective out by {self.borne_out:.2f}"
        if self.weight <= 0.0:
            return f"perspective removed: {found}"
        if self.weight >= 1.0:
            return f"perspective counts as much as the root: {found}"
        return f"perspective counts {self.weight:.2f} times the root: {found}"

    def to_dict(self) -> dict[str, Any]:
        """Reason and figures, for the trace."""
        return {
            "reason": self.reason,
            "weight": round(self.weight, 4),
            "borne_out": round(self.borne_out, 4),
            "kept": round(self.kept, 4),
        }


def parts(
    query: ArrayLike,
    root: ArrayLike,
    perspective: ArrayLike,
    first: ArrayLike,
    *,
    kinds: ArrayLike | None = None,
    centring: float = CENTRING,
) -> Parts:
    """R and P of one query from the candidates that the plain query found.

    ``query``, ``root`` and ``perspective`` have shape (d,), ``first`` (n, d), ``kinds`` (m, d) or
    None (P is then p itself); lengths do not matter. ``centring`` stands for CENTRING. The query
    stays as it is where p or r is zero or where kinds of text are all that p names. Raises
    ConfigError for shapes that differ and for NaN or infinity.
    """
    q = _unit(as_vector(query, "query"))
    r = _unit(as_vector(root, "root", size=q.size))
    p = _unit(as_vector(perspective, "perspective", size=q.size))
    found = _rows(first, "first", q.size)
    if not p.any() or not r.any():
        which = "perspective" if r.any() else "root"
        return Parts(q, np.zeros_like(q), 0.0, f"the {which} is zero")
    left = p if kinds is None else _outside(p, _rows(kinds, "kinds", q.size))
    if is_zero(left):
        return Parts(q, np.zeros_like(q), 0.0, "the perspective names kinds of text alone")
    centred = r - centring * found.mean(axis=0) if len(found) else r
    own = _unit(centred) if not is_zero(centred) else r
    return Parts(own, _unit(left), float(np.linalg.norm(left)))


def choose(turned: Parts, candidates: ArrayLike, *, full_at: float = BORNE_OUT) -> Choice:
    """The weight of the perspective and the vector to rank with.

    ``candidates`` has shape (n, d): those of both searches. ``full_at``, above 0, stands for
    BORNE_OUT. Raises ConfigError for another dimension and for NaN or infinity.
    """
    rows = _rows(candidates, "candidates", turned.root.size)
    if turned.problem is not None:
        return Choice(turned.root, 0.0, 0.0, turned.kept, turned.problem)
    carried = rows @ turned.perspective
    best = np.argsort(-(rows @ turned.root + carried), kind="stable")[:TOP]
    borne_out = float(carried[best].mean()) if len(best) else 0.0
    weight = float(np.clip(borne_out / full_at, 0.0, 1.0))
    vector = turned.root + weight * turned.perspective
    # Opposite root and perspective: nothing is left of the sum, and the root is what is asked for.
    vector = turned.root if is_zero(vector) else _unit(vector)
    return Choice(vector, weight, borne_out, turned.kept)


def adaptive_scores(
    candidates: ArrayLike,
    query: ArrayLike,
    root: ArrayLike,
    perspective: ArrayLike,
    *,
    kinds: ArrayLike | None = None,
    fetch_k: int = 50,
    centring: float = CENTRING,
    full_at: float = BORNE_OUT,
) -> tuple[Vector, Choice]:
    """The score of every document of a corpus, as two searches of ``fetch_k`` find and rank them.

    ``candidates`` has shape (n, d); the scores (n,): cosines in [-1, 1] for documents that either
    search found, cosine - 2 for the others, so that they rank behind. Without a perspective to turn
    to, the cosine to the query for all. Raises ConfigError as ``parts`` does, and for ``fetch_k``
    below 1.
    """
    if fetch_k < 1:
        raise ConfigError(f"fetch_k must be at least 1, got {fetch_k}")
    rows = _rows(candidates, "candidates", None)
    first = _best(rows @ _unit(as_vector(query, "query", size=rows.shape[1])), fetch_k)
    turned = parts(query, root, perspective, rows[first], kinds=kinds, centring=centring)
    if turned.problem is not None:
        return rows @ turned.root, choose(turned, rows[first])
    found = np.union1d(first, _best(rows @ turned.both, fetch_k))
    choice = choose(turned, rows[found], full_at=full_at)
    scores: Vector = rows @ choice.vector
    behind = np.full(len(rows), 2.0)
    behind[found] = 0.0
    return scores - behind, choice


def _best(scores: Vector, count: int) -> Any:
    return np.argsort(-scores, kind="stable")[:count]


def _rows(values: ArrayLike, name: str, columns: int | None) -> Matrix:
    array = np.asarray(values)
    if array.size == 0 and columns is not None:
        return np.zeros((0, columns))
    return normalised(as_matrix(array, name, columns=columns))


def _unit(vector: Vector) -> Vector:
    row: Vector = normalised(vector.astype(np.float64))
    return row


def _outside(vector: Vector, rows: Matrix) -> Vector:
    """The part of a vector outside the span of the rows."""
    if not len(rows):
        return vector
    _, lengths, axes = np.linalg.svd(rows, full_matrices=False)
    axes = axes[lengths > 1e-6 * max(lengths[0], 1e-12)]
    left: Vector = vector - axes.T @ (axes @ vector)
    return left
