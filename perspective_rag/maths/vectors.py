"""Vectors: lengths, similarities, and passages that say the same."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.errors import ConfigError
from perspective_rag.text import text_key, words
from perspective_rag.types import Matrix, Vector

# Below this norm a direction is rounding noise; above it, float32 arithmetic still has three
# digits.
ZERO_NORM = 1e-6


def as_matrix(values: ArrayLike, name: str, *, columns: int | None = None) -> Matrix:
    """Values as a finite float array of shape (n, d), float32 kept, everything else float64.

    Raises ConfigError naming the array, the row and the shapes when it is not two-dimensional, has
    other than ``columns`` columns, or holds NaN or infinity.
    """
    matrix: Matrix = _as_float(values, name)
    if matrix.ndim != 2:
        raise ConfigError(f"{name} must have shape (n, d), got shape {matrix.shape}")
    if columns is not None and matrix.shape[1] != columns:
        raise ConfigError(
            f"{name} has {matrix.shape[1]} dimensions where {columns} are expected: "
            f"shape {matrix.shape}"
        )
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if bad.size:
        raise ConfigError(
            f"{name} holds NaN or infinity in row {bad[0]} ({bad.size} of {len(matrix)} rows)"
        )
    return matrix


def as_vector(values: ArrayLike, name: str, *, size: int | None = None) -> Vector:
    """Values as a finite float array of shape (d,); raises ConfigError as ``as_matrix`` does."""
    vector: Vector = _as_float(values, name)
    if vector.ndim != 1:
        raise ConfigError(f"{name} must have shape (d,), got shape {vector.shape}")
    row: Vector = as_matrix(vector[None, :], name, columns=size)[0]
    return row


def _as_float(values: ArrayLike, name: str) -> Any:
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError("complex numbers")
        return array if array.dtype in (np.float32, np.float64) else array.astype(np.float64)
    except Exception as error:  # whatever the values' own conversion raises
        raise ConfigError(f"{name} must be numbers of equal row length: {error}") from error


def normalised(matrix: Matrix) -> Matrix:
    """Rows scaled to length one; rows shorter than ``ZERO_NORM`` become zero, so that their cosine
    is 0. Shape kept.
    """
    norms = np.sqrt(np.einsum("...i,...i->...", matrix, matrix))[..., None]
    result: Matrix = matrix / np.where(norms > ZERO_NORM, norms, np.inf).astype(matrix.dtype)
    return result


def is_zero(vector: Vector, *, relative_to: float = 1.0) -> bool:
    """True when what is left of a vector is rounding noise beside a length ``relative_to``."""
    return bool(np.linalg.norm(vector) <= ZERO_NORM * max(relative_to, ZERO_NORM))


def cosine(left: Matrix, right: Matrix) -> Matrix:
    """Cosine of every row of (n, d) with every row of (m, d): shape (n, m); 0 for a zero row."""
    result: Matrix = np.clip(normalised(left) @ normalised(right).T, -1.0, 1.0)
    return result


_SHINGLE = 3
_SIMILAR = 0.8
_OVERLAP = 0.25
# Below this, one other word can change what is said.
_LEAST_WORDS = 12
# A shingle that very many texts share (a banner, a footer) tells nothing apart.
_COMMON = 50
_NEGATIONS = frozenset(
    """not no never nor neither none nobody nothing nowhere cannot without hardly t against oppose
    opposes opposed wrong false unlikely fail fails failed""".split()
)


def first_copies(texts: Sequence[str]) -> list[int]:
    """For each text the place of the first one that it repeats, its own where it repeats none.

    A text repeats an earlier one that has the same words, or, from 12 words on, whose sets of
    three-word sequences have a Jaccard similarity of at least 0.8 with its own (Broder 1997),
    while both hold the same numbers and negations: "should be closed" is no copy of "should not be
    closed". Linear in the words, but for texts that share sequences.
    """
    first: list[int] = []
    by_key: dict[str, int] = {}
    by_shingle: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    shingles: list[frozenset[tuple[str, ...]]] = []
    telling: list[Counter[str]] = []
    for place, text in enumerate(texts):
        tokens = words(text)
        own = _shingles(tokens)
        shingles.append(own)
        telling.append(Counter(w for w in tokens if w in _NEGATIONS or w.isdigit()))
        key = text_key(text)
        same = by_key.get(key) if key else None
        if same is None and own:
            shared = Counter(i for each in own for i in by_shingle[each])
            same = min((i for i, n in shared.items() if _alike(n, own, shingles[i])
                        and telling[i] == telling[place]), default=None)  # fmt: skip
        if same is None:
            by_key.setdefault(key, place)
            for each in own:
                if len(by_shingle[each]) < _COMMON:
                    by_shingle[each].append(place)
        first.append(place if same is None else same)
    return first


def overlaps(texts: Sequence[str]) -> list[frozenset[int]]:
    """For each text the places of the others with which it shares a quarter of its three-word
    sequences, or of theirs: windows of one document that overlap, or quotations.

    Texts below 12 words overlap with none. Linear in the words, but for texts that share sequences.
    """
    shingles = [_shingles(words(text)) for text in texts]
    by_shingle: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    found: list[set[int]] = [set() for _ in texts]
    for place, own in enumerate(shingles):
        shared = Counter(i for each in own for i in by_shingle[each])
        for other, number in shared.items():
            if number >= _OVERLAP * min(len(own), len(shingles[other])):
                found[place].add(other)
                found[other].add(place)
        for each in own:
            if len(by_shingle[each]) < _COMMON:
                by_shingle[each].append(place)
    return [frozenset(each) for each in found]


def _shingles(tokens: Sequence[str]) -> frozenset[tuple[str, ...]]:
    if len(tokens) < _LEAST_WORDS:
        return frozenset()
    last = len(tokens) - _SHINGLE + 1
    return frozenset(tuple(tokens[i : i + _SHINGLE]) for i in range(last))


def _alike(shared: int, one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    return shared >= _SIMILAR * (len(one) + len(other) - shared)
