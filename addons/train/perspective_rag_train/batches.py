"""An epoch of pairs, augmented and packed into batches of about equal cost."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from perspective_rag_train.data import Augmentation, LabelledPair

_CHUNK = 4096  # similar lengths go together within a chunk, yet are shuffled across the epoch


def epoch_batches(
    pairs: Sequence[LabelledPair],
    *,
    seed: int,
    epoch: int,
    tokens_per_batch: int,
    augmentation: Augmentation,
) -> Iterator[list[LabelledPair]]:
    """Yields one epoch of augmented pairs in batches of about equal length and token count.

    The order depends on seed and epoch alone, so that an interrupted run can skip what it has seen.
    """
    rng = random.Random(f"{seed}-{epoch}")
    order = list(range(len(pairs)))
    rng.shuffle(order)
    batches: list[list[LabelledPair]] = []
    for start in range(0, len(order), _CHUNK):
        chunk = [augmentation.apply(pairs[i], pairs, rng) for i in order[start : start + _CHUNK]]
        chunk.sort(key=_length)
        batches.extend(_packed(chunk, tokens_per_batch))
    rng.shuffle(batches)
    yield from batches


def _length(pair: LabelledPair) -> int:
    return len(pair.document) + len(pair.statement)


def _packed(chunk: Sequence[LabelledPair], tokens_per_batch: int) -> Iterator[list[LabelledPair]]:
    batch: list[LabelledPair] = []
    for pair in chunk:
        tokens = min(_length(pair) // 4 + 4, 512)  # about four characters a token
        if batch and tokens * (len(batch) + 1) > tokens_per_batch:
            yield batch
            batch = []
        batch.append(pair)
    if batch:
        yield batch
