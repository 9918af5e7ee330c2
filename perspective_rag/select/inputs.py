"""What all selectors share: the checks of their input."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.errors import ConfigError
from perspective_rag.types import Matrix, Vector
from perspective_rag.validation import count
from perspective_rag.vectors import as_matrix, as_vector

# Probabilities of a float32 softmax may pass 1 by this much.
_ROUNDING = 1e-6


def places(k: int, available: int) -> int:
    """min(k, available); raises ConfigError when ``k`` is not a whole number of at least 1."""
    return min(count("k", k), available)


def min_max(values: Vector) -> Vector:
    """Values scaled to [0, 1] by the lowest and the highest; all equal: 1."""
    if values.size == 0 or values.min() == values.max():
        return np.ones_like(values)
    scaled: Vector = (values - values.min()) / (values.max() - values.min())
    return scaled


def probabilities(support: ArrayLike, rows: int) -> Matrix:
    """``support`` as shape (rows, m), 0 where not known.

    Raises ConfigError for other shapes and for values outside [0, 1].
    """
    try:
        given = np.asarray(support, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"support must be numbers of equal row length: {error}") from error
    known = as_matrix(np.where(np.isnan(given), 0.0, given), "support")
    if len(known) != rows:
        raise ConfigError(
            f"support must have one row for each of {rows} relevances; got shape {known.shape}"
        )
    if known.size and (known.min() < -_ROUNDING or known.max() > 1.0 + _ROUNDING):
        raise ConfigError(
            "support must hold probabilities in [0, 1] or NaN for not known; got values from "
            f"{known.min():g} to {known.max():g}: turn logits into probabilities first"
        )
    return np.clip(known, 0.0, 1.0)


def importance(weights: ArrayLike | None, columns: int) -> Vector:
    """Weights that sum to 1, shape (columns,); None = all alike.

    Raises ConfigError when one is below 0 or none is above.
    """
    if weights is None:
        return np.full(columns, 1.0 / max(columns, 1))
    given: Vector = as_vector(weights, "weights").astype(np.float64)
    if given.size != columns:
        raise ConfigError(
            f"weights must hold one number for each of {columns} perspectives; got {given.size}"
        )
    if columns and (given.min() < 0.0 or given.max() == 0.0):
        raise ConfigError(f"weights must be at least 0 and not all 0; got {given.tolist()}")
    return given / given.sum() if columns else given
