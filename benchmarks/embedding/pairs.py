"""Two encoders on the same texts, one after the other, again and again."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from perspective_rag.types import Matrix

Encode = Callable[[Sequence[str]], Matrix]


def measure(
    ours: Encode,
    theirs: Encode,
    texts: Sequence[str],
    *,
    pairs: int,
    told: Callable[[str], None] = lambda message: None,
) -> dict[str, Any]:
    """Passages a second of both, by the clock and by processor time, and the medians of the ratios
    within each pair: what else the machine does falls on both halves of a pair.

    Who begins alternates. ``cosine`` is the mean between their rows of the same text.
    """
    rows = ours(texts[:8]), theirs(texts[:8])  # loads both models
    cosine = float(np.mean(np.sum(rows[0] * rows[1], axis=1)))
    taken: dict[str, list[tuple[float, float]]] = {"ours": [], "theirs": []}
    for pair in range(pairs):
        told(f"pair {pair + 1} of {pairs}")
        sides = [("ours", ours), ("theirs", theirs)]
        for name, encode in sides if pair % 2 == 0 else sides[::-1]:
            clock, processor = time.perf_counter(), time.process_time()
            encode(texts)
            taken[name].append((time.perf_counter() - clock, time.process_time() - processor))
    return {
        "cosine": cosine,
        "clock": _rates(taken, 0, len(texts)),
        "processor": _rates(taken, 1, len(texts)),
    }


def _rates(taken: dict[str, list[tuple[float, float]]], which: int, count: int) -> dict[str, Any]:
    ours = [each[which] for each in taken["ours"]]
    theirs = [each[which] for each in taken["theirs"]]
    ratios = [b / a for a, b in zip(ours, theirs, strict=True)]
    return {
        "ours": count / statistics.median(ours),
        "theirs": count / statistics.median(theirs),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }
