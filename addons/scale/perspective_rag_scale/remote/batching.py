"""Which texts go to the server together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def batches(sizes: Sequence[int], batch_size: int, batch_tokens: int) -> Iterator[list[int]]:
    """Indices in batches of similar size, smallest first, so that little is padded.

    A batch holds at most ``batch_size`` texts, and its longest times their number is at most
    ``batch_tokens``; a text of more tokens goes alone.
    """
    order = sorted(range(len(sizes)), key=sizes.__getitem__)
    batch: list[int] = []
    for index in order:
        full = len(batch) == batch_size or sizes[index] * (len(batch) + 1) > batch_tokens
        if batch and full:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
