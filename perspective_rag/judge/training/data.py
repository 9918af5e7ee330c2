"""Labelled pairs for training a judge: reading, augmenting and packing them into batches."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perspective_rag.errors import ConfigError
from perspective_rag.extract.negation import negate

LABELS = ("support", "oppose", "neutral")
_OPPOSITE = {"support": "oppose", "oppose": "support", "neutral": "neutral"}


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """What a document does to a statement: support, oppose or neutral."""

    document: str
    statement: str
    label: str
    source: str = ""


def read_pairs(paths: Iterable[Path]) -> list[LabelledPair]:
    """Reads pairs from JSONL files (plain or gzip'd) with keys document, statement, label and,
    optionally, source.

    Raises ConfigError with file and line number for the first line that is not such a pair:
    silently losing training data would show only in the model.
    """
    pairs = []
    for path in paths:
        opener = gzip.open if path.suffix == ".gz" else open
        with opener(path, "rt", encoding="utf-8") as file:
            for number, line in enumerate(file, start=1):
                if line.strip():
                    pairs.append(
                        _parse(line, f"{path}:{number}", default_source=path.name.split(".")[0])
                    )
    return pairs


def _parse(line: str, place: str, default_source: str) -> LabelledPair:
    try:
        row = json.loads(line)
        pair = LabelledPair(
            row["document"], row["statement"], row["label"], row.get("source") or default_source
        )
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{place}: expected an object with document, statement and label, got {line[:80]!r}"
        ) from error
    if pair.label not in LABELS:
        raise ConfigError(f"{place}: label {pair.label!r} is not one of {', '.join(LABELS)}")
    return pair


@dataclass(frozen=True, slots=True)
class Augmentation:
    """How often a pair is changed before it is shown to the model, as probabilities in [0, 1].

    ``negation``: the statement is negated and support and oppose change places, so that a negation
    word alone never decides. ``padding``: text of an unrelated document is put before or after, so
    that the judge finds the sentence that matters in a longer passage.
    """

    negation: float = 0.15
    padding: float = 0.2

    def apply(
        self, pair: LabelledPair, others: Sequence[LabelledPair], rng: random.Random
    ) -> LabelledPair:
        if rng.random() < self.negation:
            pair = replace(pair, statement=negate(pair.statement), label=_OPPOSITE[pair.label])
        if rng.random() < self.padding and len(pair.document) < 400:
            extra = rng.choice(others).document[:400].rsplit(" ", 1)[0]
            halves = [pair.document, extra]
            rng.shuffle(halves)
            pair = replace(pair, document=" ".join(halves))
        return pair


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
    for start in range(
        0, len(order), 4096
    ):  # similar lengths together, yet shuffled across the epoch
        chunk = [augmentation.apply(pairs[i], pairs, rng) for i in order[start : start + 4096]]
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
