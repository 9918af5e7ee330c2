"""Encoders on the same texts, one after the other, again and again."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from perspective_rag.extend import Matrix

Encode = Callable[[Sequence[str]], Matrix]


def measure(
    encoders: Mapping[str, Encode],
    base: str,
    texts: Sequence[str],
    *,
    rounds: int,
    told: Callable[[str], None] = lambda message: None,
) -> dict[str, dict[str, Any]]:
    """For each encoder, passages a second by the clock and by processor time, and the medians of
    their ratios to ``base`` in the same round: what else the machine does falls on all of a round.

    Who begins changes from round to round. ``cosine`` is the mean between an encoder's rows and
    those of ``base``, and the least one.
    """
    rows = {name: encode(texts) for name, encode in encoders.items()}  # loads the models
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in encoders}
    names = list(encoders)
    for number in range(rounds):
        told(f"round {number + 1} of {rounds}")
        first = number % len(names)
        for name in names[first:] + names[:first]:
            clock, processor = time.perf_counter(), time.process_time()
            encoders[name](texts)
            taken[name].append((time.perf_counter() - clock, time.process_time() - processor))
    found = {}
    for name in names:
        cosines = np.sum(rows[name] * rows[base], axis=1)
        found[name] = {
            "cosine": {"mean": float(cosines.mean()), "least": float(cosines.min())},
            "clock": _rate(taken, name, base, 0, len(texts)),
            "processor": _rate(taken, name, base, 1, len(texts)),
        }
    return found


def _rate(
    taken: Mapping[str, list[tuple[float, float]]], name: str, base: str, which: int, count: int
) -> dict[str, Any]:
    own = [each[which] for each in taken[name]]
    others = [each[which] for each in taken[base]]
    ratios = [b / a for a, b in zip(own, others, strict=True)]
    return {
        "rate": count / statistics.median(own),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
    }
