"""What a run will cost, said before it starts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.berds.approaches import LAMBDAS
from benchmarks.berds.questions import Question
from benchmarks.berds.run import SYCOPHANCY_AT, BerdsConfig, Models
from benchmarks.berds.scoring import CUTS
from benchmarks.berds.tuning import TUNED_AT
from perspective_rag import Passage, Perspective, PipelineOptions, run
from perspective_rag.protocols import Judge

SAMPLE = 8


@dataclass(frozen=True, slots=True)
class Estimate:
    """Upper bounds: passages that several approaches return are judged once, earlier verdicts not
    again. ``seconds`` is for the judges alone, at the speed measured on ``SAMPLE`` pairs each.
    """

    judge_pairs: int
    selector_pairs: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"at most {self.judge_pairs:,} pairs for the judge that scores and "
            f"{self.selector_pairs:,} for the one that selects: about {_minutes(self.seconds)}"
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
    passages = config.depth + top * (len(config.approaches) - 1)
    passages += 2 * SYCOPHANCY_AT * config.sycophancy * (2 if config.verdict else 1)
    pairs = sum(len(each.perspectives) for each in questions) * passages
    reordered = sum(name in config.approaches for name in ("mmr", "expansion + mmr"))
    if config.mmr_weight is None:
        # The weights share most of their top passages; all of them differ in the worst case.
        tuned = sum(len(each.perspectives) for each in tuning)
        pairs += tuned * TUNED_AT * len(LAMBDAS) * reordered
    options = PipelineOptions.from_dict(config.pipeline)
    judged = options.judge_k * (1 + options.guard_searches)
    selected = 2 * len(questions) * len(config.judging) * judged * len(CUTS)
    if config.verdict in config.judging and config.sycophancy:
        selected += 2 * 2 * len(questions) * judged
    if models.selector is None:
        selected = 0
    text = questions[0].text if questions else "text"
    seconds = retrievers * pairs * _seconds_per_pair(models.judge, text)
    if models.selector is not None and selected:
        seconds += retrievers * selected * _seconds_per_pair(models.selector, text)
    return Estimate(retrievers * pairs, retrievers * selected, seconds)


def _seconds_per_pair(judge: Judge, text: str) -> float:
    """Measured on passages of about 100 words, after one that loads the model."""
    words = " ".join((text.split() * 100)[:96])
    passages = [Passage(str(i), f"{i} {words}") for i in range(SAMPLE)]
    perspective = [Perspective("sample", text)]
    run(judge.judge(perspective, passages[:1]))
    started = time.perf_counter()
    run(judge.judge(perspective, passages))
    return (time.perf_counter() - started) / SAMPLE


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
