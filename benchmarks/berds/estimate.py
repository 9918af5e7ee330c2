"""What a run will cost, said before it starts."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.berds.approaches import LAMBDAS
from benchmarks.berds.questions import Question
from benchmarks.berds.retrievers import DenseStore, Retriever, StoreRetriever
from benchmarks.berds.run import SYCOPHANCY_AT, BerdsConfig, Models
from benchmarks.berds.scoring import CUTS
from benchmarks.berds.tuning import TUNED_AT
from perspective_rag import (
    ConfigError,
    MissingDependency,
    Passage,
    Perspective,
    PipelineOptions,
    run,
)
from perspective_rag.extend import Judge
from perspective_rag_train.stream import UNTIMED

SAMPLE = 8


@dataclass(frozen=True, slots=True)
class Estimate:
    """Upper bounds, and the time of the judges at the speed measured on ``SAMPLE`` pairs each.

    Passages that several approaches return are judged once, and earlier verdicts are not asked for
    again. ``likely_seconds`` takes it that half of what the other approaches return is judged by
    then, that two sides are judged through one claim, and that the guard has nothing to search.
    """

    judge_pairs: int
    selector_pairs: int
    seconds: float
    likely_seconds: float

    def __str__(self) -> str:
        return (
            f"at most {self.judge_pairs:,} pairs for the judge that scores and "
            f"{self.selector_pairs:,} for the one that selects: about "
            f"{_minutes(self.likely_seconds)}, at most {_minutes(self.seconds)}, less what earlier "
            "runs have judged"
        )


def estimate(
    questions: Sequence[Question],
    tuning: Sequence[Question],
    retrievers: int,
    models: Models,
    config: BerdsConfig,
) -> Estimate:
    """The pairs of passage and perspective that a run asks for at most, and their time."""
    top = max(CUTS)
    more = top * (len(config.approaches) - 1)
    more += 2 * SYCOPHANCY_AT * config.sycophancy * (2 if config.verdict else 1)
    perspectives = sum(len(each.perspectives) for each in questions)
    pairs = perspectives * (config.depth + more)
    likely = perspectives * (config.depth + more // 2)
    reordered = sum(name in config.approaches for name in ("mmr", "expansion + mmr"))
    if config.mmr_weight is None:
        # The weights share most of their top passages; all of them differ in the worst case.
        tuned = sum(len(each.perspectives) for each in tuning)
        pairs += tuned * TUNED_AT * len(LAMBDAS) * reordered
        likely += tuned * TUNED_AT * 2 * reordered
    options = PipelineOptions.from_dict(config.pipeline)
    requests = len(questions) * len(config.judging) * len(CUTS)
    if config.verdict in config.judging and config.sycophancy:
        requests += 2 * len(questions)
    if models.selector is None:
        requests = 0
    selected = 2 * requests * options.judge_k * (1 + options.guard_searches)
    text = questions[0].text if questions else "text"
    speed = retrievers * _seconds_per_pair(models.judge, text)
    seconds, likely_seconds = speed * pairs, speed * likely
    if models.selector is not None and selected:
        speed = retrievers * _seconds_per_pair(models.selector, text)
        seconds += speed * selected
        likely_seconds += speed * requests * options.judge_k
    return Estimate(retrievers * pairs, retrievers * selected, seconds, likely_seconds)


def embedding_plans(retrievers: Sequence[Retriever]) -> list[str]:
    """A line for each retriever that has to embed a corpus first, with the time of it."""
    return [
        f"{each.name} embeds {len(each.source.passages):,} passages first: about "
        f"{_minutes(seconds)}; what is done is kept"
        for each in retrievers
        if isinstance(each, StoreRetriever)
        and isinstance(each.source, DenseStore)
        and (seconds := each.source.seconds_to_build()) > 0.0
    ]


def _seconds_per_pair(judge: Judge, text: str) -> float:
    """Measured on passages of about 100 words, after one that loads the model, however long that
    takes; NaN where the judge fails on them.
    """
    words = " ".join((text.split() * 100)[:96])
    passages = [Passage(str(i), f"{i} {words}") for i in range(SAMPLE)]
    perspective = [Perspective("sample", text)]
    try:
        run(judge.judge(perspective, passages[:1]), limits=UNTIMED)
        started = time.perf_counter()
        run(judge.judge(perspective, passages), limits=UNTIMED)
    except (ConfigError, MissingDependency):
        raise
    except Exception:  # the run itself says what is wrong, and which pairs it cost
        return math.nan
    return (time.perf_counter() - started) / SAMPLE


def _minutes(seconds: float) -> str:
    if math.isnan(seconds):
        return "an unknown time"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
