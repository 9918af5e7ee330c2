"""Seconds, cached tokens and verdicts of each way to ask the same model about the same pairs."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from perspective_rag import LLMJudge, run
from perspective_rag.addons import Limits, Pair, Recorder
from perspective_rag.extend import Vector

PAIRS_OF_A_DATA_SET = 11_000
"""One evaluation of a BERDS data set: about a thousand questions, 2.3 perspectives, 5 passages."""

PAPER_SECONDS = 15 * 60.0
"""What the paper names for it: a 7B judge in vLLM on an A40 (Chen and Choi, Limitations)."""

TOLERANCE = 1e-3
"""Two probabilities that differ by less are the same number, computed in another order."""


@dataclass(frozen=True, slots=True)
class Way:
    """A way to ask: its judge, the tokens it found in a cache so far, and what empties the cache.

    ``reuses`` says whether there is a cache; with ``other_prompts`` its verdicts are not compared.
    """

    name: str
    judge: LLMJudge
    at_once: int
    cached: Callable[[], int] = lambda: 0
    forget: Callable[[], object] = lambda: None
    reuses: bool = True
    other_prompts: bool = False


@dataclass(slots=True)
class Seen:
    """What the rounds of one way gave."""

    seconds: list[float] = field(default_factory=list)
    cached: int = 0
    read: int = 0
    support: dict[tuple[str, str], float] = field(default_factory=dict)


def measure(
    ways: Sequence[Way],
    pairs: Sequence[Pair],
    *,
    rounds: int,
    told: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Every way in every round, one after the other, from an empty cache.

    A round of a few pairs before the first is not counted: kernels and grammars are built then.
    """
    seen = {way.name: Seen() for way in ways}
    load = []
    for way in ways:
        told(f"{way.name}: warming up")
        _asked(way, list(pairs)[:8])
    for number in range(rounds):
        for way in ways:
            told(f"round {number + 1} of {rounds}: {way.name}")
            load.append(round(os.getloadavg()[0], 1))
            _one_round(way, list(pairs), seen[way.name])
    base = seen[ways[0].name].support
    rows = [_row(way, seen[way.name], len(pairs), base) for way in ways]
    return {"ways": rows, "load": load}


def _one_round(way: Way, pairs: list[Pair], seen: Seen) -> None:
    way.forget()
    before = way.cached()
    started = time.perf_counter()
    support, read = _asked(way, pairs)
    seen.seconds.append(time.perf_counter() - started)
    seen.cached, seen.read = way.cached() - before, read
    for (passage, side), p in zip(pairs, support, strict=True):
        seen.support[passage.id, side.text] = float(p)


def _asked(way: Way, pairs: list[Pair]) -> tuple[Vector, int]:
    """P(support) of the pairs, and the tokens of their prompts."""
    recorder = Recorder(strict=True)
    limits = Limits(timeout=None, max_concurrency=way.at_once)
    flow = way.judge.judge_pairs([side for _, side in pairs], [passage for passage, _ in pairs])
    return np.asarray(run(flow, recorder, limits)), recorder.prompt_tokens


def _row(way: Way, seen: Seen, pairs: int, base: Mapping[tuple[str, str], float]) -> dict[str, Any]:
    rate = pairs / statistics.median(seen.seconds)
    differences = [abs(p - base[key]) for key, p in seen.support.items()]
    return {
        "way": way.name,
        "reuses": way.reuses,
        "other_prompts": way.other_prompts,
        "seconds": [round(each, 3) for each in seen.seconds],
        "pairs_per_second": round(rate, 3),
        "data_set_minutes": round(PAIRS_OF_A_DATA_SET / rate / 60.0, 2),
        "prompt_tokens": seen.read,
        "cached_tokens": seen.cached,
        "largest_difference": max(differences),
        "other_verdicts": sum(
            (p >= 0.5) != (base[key] >= 0.5) and abs(p - base[key]) > TOLERANCE
            for key, p in seen.support.items()
        ),
    }
