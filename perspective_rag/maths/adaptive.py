"""A projection chosen for each query: how much its perspective counts, read off the candidates.

q, r, p and c are unit vectors of the query, its root, its perspective and a candidate.

    P = unit(p without its part in span(K))   the perspective without words for a kind of text
    one search with q + r + P                 finds the candidates; m is the mean of the first
    S = mean of the TOP highest P . c - mean of P . c    how far P spreads these candidates
    w = 2 S / FULL_SPREAD - 1, kept within 0 and 1
    R  = unit(r - COMMON m)                   root and perspective without
    P' = unit(P - COMMON (P . m^) m^)         half of what the candidates have in common
    score of c = cos(R + w P' + 2 (1 - w) q, c)

A perspective that is content ("happened in Mexico") is said by some candidates and not by others:
S is high, and it counts as much as the root. One that only instructs ("a claim that opposes ...")
is about as near to one candidate as to the next, S is low, and plain query and root rank instead.
In between, the three are mixed, so that a wrong weight costs little. K holds the vectors of
``KINDS``: "a news article" in a perspective says which corpus is searched, not what is asked for.

PIR (section 3.1) removes the perspective of every query; this is the choice that it leaves open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.maths.vectors import as_matrix, as_vector, cosine, is_zero, normalised
from perspective_rag.types import Matrix, Vector

KINDS = ("a text", "a document", "an article", "a claim", "a question", "a story")
"""Words for a kind of text; their vectors are what ``kinds`` is."""

COMMON = 0.5
"""The share of what the candidates have in common that root and perspective lose, in [0, 1]."""

FULL_SPREAD = 0.225
"""The S from which a perspective counts in full, a difference of cosines; below half of it, it does
not count. Higher: perspectives count less.
"""

TOP = 5
"""The candidates nearest to the perspective that are held against all of them."""

CANDIDATES = 100
"""The candidates that m and S are read off; the search fetches as many at least."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """q, r and P of one query, each of shape (d,) and length one.

    ``problem`` says why the query is searched as it is; ``perspective`` is then zero. ``kept`` in
    [0, 1] is the length of the perspective without the words for kinds of text.
    """

    query: Vector
    root: Vector
    perspective: Vector
    kept: float
    problem: str | None = None

    @property
    def search(self) -> Vector:
        """The vector of the search: q + r + P, or q where there is a problem."""
        if self.problem is not None:
            return self.query
        whole: Vector = self.query + self.root + self.perspective
        return self.query if is_zero(whole) else whole


@dataclass(frozen=True, slots=True, eq=False)
class Adapted:
    """What was chosen: ``vector`` (d,) of length one, to compare candidates with by cosine.

    ``weight`` in [0, 1] is how much the perspective counts beside the root; ``spread`` in
    [0, 2] is what it was read off.
    """

    vector: Vector
    weight: float
    spread: float
    kept: float
    problem: str | None = None

    def scores(self, rows: ArrayLike) -> Vector:
        """The cosine of each candidate to ``vector``; rows (n, d) give (n,)."""
        values: Vector = cosine(np.asarray(rows, dtype=np.float64), self.vector[None, :])[:, 0]
        return values

    @property
    def reason(self) -> str:
        """The choice in a sentence."""
        if self.problem is not None:
            return f"plain query: {self.problem}"
        found = f"the perspective spreads the candidates by {self.spread:.2f}"
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
            "spread": round(self.spread, 4),
            "kept": round(self.kept, 4),
        }


def parts(
    query: ArrayLike,
    root: ArrayLike,
    perspective: ArrayLike,
    *,
    kinds: ArrayLike | None = None,
) -> Parts:
    """q, r and P of one query, and with them the vector to search with.

    ``query``, ``root`` and ``perspective`` have shape (d,), ``kinds`` (m, d) or None (P is then p
    itself); lengths do not matter. The query stays as it is where p or r is zero or where kinds of
    text are all that p names. Raises ConfigError for shapes that differ and for NaN or infinity.
    """
    given = as_vector(query, "query")
    size = given.size
    q, r, p = normalised(
        np.array(
            [
                given,
                as_vector(root, "root", size=size),
                as_vector(perspective, "perspective", size=size),
            ],
            dtype=np.float64,
        )
    )
    nothing = np.zeros_like(q)
    if not p.any() or not r.any():
        which = "perspective" if r.any() else "root"
        return Parts(q, r, nothing, 0.0, f"the {which} is zero")
    left = p if kinds is None else _outside(p, _rows(kinds, "kinds", q.size))
    if is_zero(left):
        return Parts(q, r, nothing, 0.0, "the perspective names kinds of text alone")
    return Parts(q, r, _unit(left), float(np.linalg.norm(left)))


def choose(
    projected: Parts,
    candidates: ArrayLike,
    *,
    common: float = COMMON,
    full_at: float = FULL_SPREAD,
) -> Adapted:
    """The weight of the perspective and the vector to rank the candidates with.

    ``candidates`` has shape (n, d), best first as the search with ``projected.search`` found them;
    m and S are of the first ``CANDIDATES``. ``common`` stands for COMMON; ``full_at``, above 0, for
    FULL_SPREAD. Raises ConfigError for another dimension and for NaN or infinity.
    """
    rows = _rows(candidates, "candidates", projected.query.size)[:CANDIDATES]
    if projected.problem is not None:
        return Adapted(projected.query, 0.0, 0.0, projected.kept, projected.problem)
    if not len(rows):
        return Adapted(
            _sum(projected, projected.root, projected.perspective, 0.0), 0.0, 0.0, projected.kept
        )
    near = rows @ projected.perspective
    near.sort()
    spread = float(near[-TOP:].mean() - near.mean())
    weight = min(1.0, max(0.0, 2.0 * spread / full_at - 1.0))
    mean: Vector = rows.mean(axis=0)
    root = _unit_or(projected.root - common * mean, projected.root)
    axis = _unit(mean)
    shared = common * float(projected.perspective @ axis) * axis
    perspective = _unit_or(projected.perspective - shared, projected.perspective)
    return Adapted(_sum(projected, root, perspective, weight), weight, spread, projected.kept)


def _sum(projected: Parts, root: Vector, perspective: Vector, weight: float) -> Vector:
    # What cancels out leaves the root, which is what is asked for in any case.
    return _unit_or(
        root + weight * perspective + 2.0 * (1.0 - weight) * projected.query, projected.root
    )


def _rows(values: ArrayLike, name: str, columns: int | None) -> Matrix:
    array = np.asarray(values)
    if array.size == 0 and columns is not None:
        return np.zeros((0, columns))
    return normalised(as_matrix(array, name, columns=columns))


def _unit(vector: Vector) -> Vector:
    row: Vector = normalised(vector.astype(np.float64))
    return row


def _unit_or(vector: Vector, otherwise: Vector) -> Vector:
    return otherwise if is_zero(vector) else _unit(vector)


def _outside(vector: Vector, rows: Matrix) -> Vector:
    """The part of a vector outside the span of the rows."""
    if not len(rows):
        return vector
    # Of the rows' products: a few words in many dimensions, where a decomposition of the rows
    # themselves costs as much as all the rest.
    wide = rows.astype(np.float64)
    squares, turns = np.linalg.eigh(wide @ wide.T)
    kept = squares > 1e-12 * max(float(squares[-1]), 1e-12)
    along = (turns[:, kept].T @ (wide @ vector)) / squares[kept]
    left: Vector = vector - (turns[:, kept] @ along) @ wide
    return left
