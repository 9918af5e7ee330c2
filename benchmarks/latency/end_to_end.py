"""Whole questions over a corpus on the default path: BM25, embeddings on demand, the judge."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.latency.timing import percentiles
from perspective_rag import (
    Corpus,
    Perspective,
    PerspectivePipeline,
    RetrievalResult,
    local_pipeline,
    run,
)
from perspective_rag.addons import Recorder
from perspective_rag.extend import Embedder, Judge
from perspective_rag.judge.support import BATCH

QUESTIONS = tuple((Path(__file__).parent / "questions.txt").read_text("utf-8").splitlines())
WARM_UP = "Should this text be read?"
WORDS = 100
JUDGE_BATCHES = 12


def thinned(corpus: Corpus, limit: int | None) -> Corpus:
    """At most ``limit`` passages, evenly from the whole corpus, so that all sources stay in it."""
    if limit is None or limit >= len(corpus):
        return corpus
    step = len(corpus) / limit
    return Corpus([corpus.passages[int(i * step)] for i in range(limit)])


def measure(
    corpus: Corpus,
    questions: Sequence[str],
    embedder: Embedder,
    judge: Judge,
    *,
    strict: bool,
) -> dict[str, Any]:
    """Cold and warm times of the questions, stage by stage.

    Models are loaded and the index is built before. Cold: no passage was embedded before, but for
    those that an earlier question found too. Warm: the same questions again, embeddings known.
    """
    started = time.perf_counter()
    pipeline = local_pipeline(corpus, embedder=embedder, judge=judge, strict=strict)
    indexed = time.perf_counter() - started
    started = time.perf_counter()
    pipeline.retrieve(WARM_UP)
    first = time.perf_counter() - started
    return {
        "passages": len(corpus),
        "questions": len(questions),
        "options": pipeline.options.to_dict(),
        "index_seconds": round(indexed, 3),
        "first_question_seconds": round(first, 3),
        "cold": _round(pipeline, questions),
        "warm": _round(pipeline, questions),
    }


def judge_speed(corpus: Corpus, judge: Judge) -> dict[str, Any]:
    """Pairs a second on passages of about 100 words, in batches as the pipeline makes them."""
    ordered = sorted(corpus.passages, key=lambda p: abs(len(p.text.split()) - WORDS))
    passages = ordered[: BATCH * JUDGE_BATCHES]
    side = Perspective("support", "This should be allowed.", "support", "This should be allowed.")
    run(judge.judge([side], passages[:1]))
    milliseconds, pairs, total = [], 0, 0.0
    for start in range(0, len(passages), BATCH):
        recorder = Recorder(strict=True)
        began = time.perf_counter()
        run(judge.judge([side], passages[start : start + BATCH]), recorder)
        taken = time.perf_counter() - began
        milliseconds.append(1000 * taken)
        pairs += recorder.counts["judged_pairs"]
        total += taken
    return {
        "pairs": pairs,
        "pairs_per_second": round(pairs / total, 2),
        "batch": BATCH,
        "batch_times": percentiles(milliseconds),
        "mean_words": round(sum(len(p.text.split()) for p in passages) / len(passages), 1),
    }


def _round(pipeline: PerspectivePipeline, questions: Sequence[str]) -> dict[str, Any]:
    stages: dict[str, list[float]] = defaultdict(list)
    counts: dict[str, list[int]] = defaultdict(list)
    degradations = 0
    for question in questions:
        started = time.perf_counter()
        result: RetrievalResult = pipeline.retrieve(question)
        total = time.perf_counter() - started
        trace = result.trace
        stages["end to end"].append(1000 * total)
        stages["rest"].append(1000 * (total - sum(trace.seconds.values())))
        for stage in ("embed", "search", "judge"):
            stages[stage].append(1000 * trace.seconds.get(stage, 0.0))
        counts["judged_pairs"].append(trace.counts.get("judged_pairs", 0))
        counts["embedded_texts"].append(trace.counts.get("embedded_texts", 0))
        counts["searches"].append(trace.calls.get("search", 0))
        degradations += len(trace.degradations)
    return {
        "stages": {name: percentiles(values) for name, values in stages.items()},
        "mean": {name: round(sum(v) / len(v), 2) for name, v in counts.items()},
        "degradations": degradations,
    }
