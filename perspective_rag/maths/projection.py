"""A query's vector changed by its perspective: every row of PIR Tables 4 and 8.

q, r, p and c are the vectors of the query, its root, its perspective and a candidate, at the
lengths given; x^ is x at length one, x_p = x - (x . p^) p^ is x without its part along p.

============  =====================================  ==============================================
method        score of a candidate                   first-stage vector (``project_query``)
============  =====================================  ==============================================
``none``      cos(q, c)                              q
``pap``       cos(q_p, c)                            q_p
``pap+``      cos(q_p, c_p)                          q_p: the same order before c_p is renormalised
``add``       cos(r + p, c)                          r + p
``add+``      cos(q + p, c)                          q + p
``concat``    cos((r, p), (c, p))                    r: the same order where all |c| are equal
``concat+``   cos((q, p), (c, p))                    q: the same order where all |c| are equal
``cast``      cos(q - p, c)                          q - p
``cast+``     cos(q - p, c - p)                      q_p
``dual-sum``  cos(r, c) + cos(p, c)                  r^ + p^, which gives the same order
``tri-sum``   cos(r, c) + cos(p, c) + cos(q, c)      r^ + p^ + q^, which gives the same order
============  =====================================  ==============================================

On the PIR demo (all tasks but AllSides, MiniLM) the first 10 by q_p hold at least 0.97 of the exact
top 5 of ``cast+`` on every task; by q - p it is 0.79, by q 0.70. For ``pap+`` by q_p it is 0.92.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from perspective_rag.errors import unknown_name
from perspective_rag.maths.vectors import ZERO_NORM, as_matrix, as_vector, is_zero
from perspective_rag.types import Matrix, Vector

DOCUMENT_SIDE = frozenset({"pap+", "cast+", "concat", "concat+"})
"""Methods that change the candidates too: their exact order needs ``projected_scores``."""

_SUMS = {"dual-sum": 2.0, "tri-sum": 3.0}
_ROWS_AT_ONCE = 4096


def project_query(
    method: str, query: ArrayLike, root: ArrayLike, perspective: ArrayLike
) -> tuple[Vector, str | None]:
    """The vector to search a store with; why it is the plain query, otherwise None.

    The vector has shape (d,), the query's dtype and the query's length, so that scores of an inner
    product keep their scale. For methods outside ``DOCUMENT_SIDE`` a store that compares by cosine
    returns the exact order of the method; for the others it is the first stage that the table above
    names, to be re-ordered by ``projected_scores``. PIR (Section 3.1, Tables 4 and 8).

    The plain query stands in where p is zero or nothing is left of the vector (p parallel to q).

    ``query``, ``root`` and ``perspective`` have shape (d,). Raises ConfigError for an unknown
    method, for shapes that differ, and for NaN or infinity.
    """
    given = as_vector(query, "query")
    if method == "none":
        return given, None
    q, r, p = _vectors(query, root, perspective)
    vector, problem = _direction(method, q, r, p)
    if method == "cast+" and problem is None:
        vector, problem = _direction("pap", q, r, p)
    if problem is not None:
        return given, f"{problem}; searched with the plain query"
    length = float(np.linalg.norm(q)) or float(np.linalg.norm(vector))
    scaled: Vector = (vector * (length / np.linalg.norm(vector))).astype(given.dtype)
    return scaled, None


def projected_scores(
    method: str,
    candidates: ArrayLike,
    query: ArrayLike,
    root: ArrayLike,
    perspective: ArrayLike,
) -> Vector:
    """The exact score of every candidate under a method, without projected copies of them.

    With c_p . q_p = c . q_p and |c_p|^2 = |c|^2 - (c . p^)^2, pap+ is two matrix-vector products
    and a square root; cast+ likewise with (c - p) . (q - p) = c . (q - p) - p . (q - p) and
    |c - p|^2 = |c|^2 - 2 c . p + |p|^2; concat with (r, p) . (c, p) = r . c + |p|^2. O(n d).
    PIR (Section 3.1, Tables 4 and 8).

    ``candidates`` has shape (n, d), the others (d,); the result (n,), float64, higher is better:
    cosines in [-1, 1], for dual-sum in [-2, 2], for tri-sum in [-3, 3]. A zero candidate scores 0,
    and so does one of which nothing is left (parallel to p under pap+, equal to p under cast+).
    Where p is zero or nothing is left of the query side, all scores are those of the plain query,
    cos(q, c); ``project_query`` says so. Raises ConfigError as ``project_query`` does.
    """
    q, r, p = _vectors(query, root, perspective)
    rows = as_matrix(candidates, "candidates", columns=q.size)
    direction, problem = _direction(method, q, r, p)
    if problem is not None:
        method, direction = "none", q
    scores = np.zeros(len(rows))
    # float64, because |c|^2 - (c . p^)^2 cancels; in blocks, because a copy of it all is big.
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        block = rows[start : start + _ROWS_AT_ONCE].astype(np.float64, copy=False)
        scores[start : start + len(block)] = _scores(method, block, direction, p)
    return scores


def _scores(method: str, block: Matrix, direction: Vector, p: Vector) -> Vector:
    squared = np.einsum("ij,ij->i", block, block)
    lengths = np.sqrt(squared)
    along = block @ direction
    there = lengths > ZERO_NORM
    if method in _SUMS:
        return _ratio(along, lengths, there, most=_SUMS[method])
    own = float(np.linalg.norm(direction))
    if method == "pap+":
        across = block @ (p / np.linalg.norm(p))
        left = np.sqrt(np.maximum(squared - across**2, 0.0))
        return _ratio(along, own * left, there & (left > ZERO_NORM * lengths))
    if method == "cast+":
        left = np.sqrt(np.maximum(squared - 2.0 * (block @ p) + p @ p, 0.0))
        longest = np.maximum(lengths, np.linalg.norm(p))
        return _ratio(along - p @ direction, own * left, there & (left > ZERO_NORM * longest))
    if method in ("concat", "concat+"):
        both = np.sqrt(squared + p @ p) * np.sqrt(own**2 + p @ p)
        return _ratio(along + p @ p, both, there)
    return _ratio(along, own * lengths, there & (own > 0.0))


def _ratio(above: Vector, below: Vector, where: NDArray[np.bool_], most: float = 1.0) -> Vector:
    ratio: Vector = np.divide(above, below, out=np.zeros(len(above)), where=where)
    return np.clip(ratio, -most, most)


def _direction(method: str, q: Vector, r: Vector, p: Vector) -> tuple[Vector, str | None]:
    """The query side of a method, and what is wrong where it has no direction."""
    if method not in _QUERY_SIDE:
        raise unknown_name(method, _QUERY_SIDE, "projection")
    build, nothing_left = _QUERY_SIDE[method]
    if method == "none":
        return q, None
    if is_zero(p):
        return q, "p is zero: there is no perspective"
    direction, longest = build(q, r, p)
    if is_zero(direction, relative_to=longest):
        return q, nothing_left if q.any() else "q is zero: there is nothing to project"
    return direction, None


def _projected(q: Vector, r: Vector, p: Vector) -> tuple[Vector, float]:
    unit = _unit(p)
    return q - (q @ unit) * unit, _longest(q)


_QUERY_SIDE: dict[str, tuple[Callable[[Vector, Vector, Vector], tuple[Vector, float]], str]] = {
    "none": (lambda q, r, p: (q, _longest(q)), ""),
    "pap": (_projected, "p is parallel to q: projection left nothing"),
    "pap+": (_projected, "p is parallel to q: projection left nothing"),
    "add": (lambda q, r, p: (r + p, _longest(r, p)), "r and p cancel out: r + p left nothing"),
    "add+": (lambda q, r, p: (q + p, _longest(q, p)), "q and p cancel out: q + p left nothing"),
    "concat": (lambda q, r, p: (r, _longest(r)), "r is zero: there is no root to search with"),
    "concat+": (lambda q, r, p: (q, _longest(q)), "q is zero: there is nothing to search with"),
    "cast": (lambda q, r, p: (q - p, _longest(q, p)), "p equals q: q - p left nothing"),
    "cast+": (lambda q, r, p: (q - p, _longest(q, p)), "p equals q: q - p left nothing"),
    "dual-sum": (
        lambda q, r, p: (_unit(r) + _unit(p), 1.0),
        "r and p cancel out: r^ + p^ left nothing",
    ),
    "tri-sum": (
        lambda q, r, p: (_unit(r) + _unit(p) + _unit(q), 1.0),
        "r, p and q cancel out: r^ + p^ + q^ left nothing",
    ),
}
"""method -> (its direction and the length to measure that against; why there is none)."""

ROWS = tuple(_QUERY_SIDE)
"""The names of the rows."""


def _vectors(
    query: ArrayLike, root: ArrayLike, perspective: ArrayLike
) -> tuple[Vector, Vector, Vector]:
    q = as_vector(query, "query")
    r = as_vector(root, "root", size=q.size)
    p = as_vector(perspective, "perspective", size=q.size)
    return _zeroed(q), _zeroed(r), _zeroed(p)


def _zeroed(vector: Vector) -> Vector:
    exact: Vector = vector.astype(np.float64)
    return np.zeros_like(exact) if is_zero(exact) else exact


def _unit(vector: Vector) -> Vector:
    length = np.linalg.norm(vector)
    unit: Vector = vector / length if length > 0.0 else vector
    return unit


def _longest(*vectors: Vector) -> float:
    return max(float(np.linalg.norm(vector)) for vector in vectors)
