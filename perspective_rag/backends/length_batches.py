"""Texts of like length in batches, and the cores to compute them on."""

from __future__ import annotations

import os
from collections.abc import Sequence


def length_batches(lengths: Sequence[int], most: int, tokens: int) -> list[list[int]]:
    """Positions of texts in batches, the longest first: at most ``most`` of them, and at most
    ``tokens`` of tokens with padding where they are more than one.
    """
    batches: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        last = batches[-1] if batches else []
        # The first of a batch is its longest: the others are padded to its length.
        if last and len(last) < most and (len(last) + 1) * lengths[last[0]] <= tokens:
            last.append(place)
        else:
            batches.append([place])
    return batches


def cores() -> int:
    """The processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
