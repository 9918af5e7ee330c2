"""Shapes, norms, and what happens to zero and NaN: the only place that checks arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.errors import ConfigError
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
