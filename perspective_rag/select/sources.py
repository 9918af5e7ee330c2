"""A maximum number of passages of one source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

from perspective_rag.identity import source_of as source_of


def within_limit(groups: Sequence[Hashable], limit: int | None) -> list[int]:
    """The places of the first ``limit`` members of each group, in order; None keeps all."""
    if limit is None:
        return list(range(len(groups)))
    seen: Counter[Hashable] = Counter()
    kept = []
    for place, group in enumerate(groups):
        seen[group] += 1
        if seen[group] <= limit:
            kept.append(place)
    return kept
