"""The most relevant k."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from perspective_rag.select.inputs import places
from perspective_rag.types import Selection
from perspective_rag.vectors import as_vector


def topk(relevance: ArrayLike, k: int) -> Selection:
    """The min(k, n) candidates of highest relevance, best first.

    The i-th pick is the candidate of i-th highest relevance; of equal ones the lower index comes
    first. ``relevance`` has shape (n,), higher is better; the scores of the selection are its
    values. Raises ConfigError for NaN, infinity, another shape, or a ``k`` below 1.
    """
    values = as_vector(relevance, "relevance")
    order = np.argsort(-values, kind="stable")[: places(k, values.size)]
    return Selection(tuple(order.tolist()), tuple(values[order].tolist()))
