"""MMR's weight, tuned on questions that are not evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.berds.approaches import LAMBDAS
from benchmarks.berds.collecting import Collector
from benchmarks.berds.questions import Question
from benchmarks.berds.scoring import intervals
from benchmarks.berds.verdicts import Verdicts
from benchmarks.core.metrics import mrecall_at_k, precision_at_k
from perspective_rag import ConfigError, Passage

TUNED_AT = 5


def weights_of(
    collector: Collector,
    names: Sequence[str],
    tuning: Sequence[Question],
    verdicts: Verdicts,
    given: float | None,
    seed: int,
) -> dict[str, dict[str, Any]]:
    """MMR's weight for the retriever's own ranking and for the expanded one: as ``given``, or tuned
    on ``tuning``. Raises ConfigError where there is neither.
    """
    result: dict[str, dict[str, Any]] = {}
    for name, of in (("mmr", "default"), ("expansion + mmr", "expansion")):
        if name not in names:
            continue
        if given is not None:
            result[of] = {"weight": given, "tuned_on": 0}
            continue
        if not tuning:
            raise ConfigError("MMR's weight is tuned on questions apart: give some, or the weight")
        tuned = collector.attempt(
            name, partial(tuned_weight, collector, tuning, verdicts, of=of, seed=seed)
        )
        if tuned is not None:
            best, scores = tuned
            result[of] = {"weight": best, "tuned_on": len(tuning), "mrecall@5": scores}
    return result


def tuned_weight(
    collector: Collector,
    questions: Sequence[Question],
    verdicts: Verdicts,
    *,
    of: str,
    seed: int,
) -> tuple[float, dict[str, float]]:
    """The weight of ``LAMBDAS`` with the best MRecall@5 on development questions, and all of these.

    Averages over the sets of questions; ties go to the higher Precision@5, then to the higher
    weight (nearer to the retriever's own order).
    """
    rankings = {
        weight: {
            identity: [hit.passage for hit in hits[:TUNED_AT]]
            for identity, hits in collector.mmr(questions, of=of, weight=weight).items()
        }
        for weight in LAMBDAS
    }
    asked: dict[str, dict[str, Passage]] = {}
    for found in rankings.values():
        for identity, passages in found.items():
            asked.setdefault(identity, {}).update({each.id: each for each in passages})
    verdicts.complete(questions, asked, strict=collector.strict)
    golds = {each.id: verdicts.gold(each, asked.get(each.id, {})) for each in questions}
    scores = {}
    for weight, found in rankings.items():
        scores[weight] = tuple(
            _average(
                {q: metric([p.id for p in found[q.id]], golds[q.id], TUNED_AT) for q in questions},
                seed,
            )
            for metric in (mrecall_at_k, precision_at_k)
        )
    best = max(LAMBDAS, key=lambda weight: (*scores[weight], weight))
    return best, {f"{weight:g}": round(scores[weight][0], 6) for weight in LAMBDAS}


def _average(values: Mapping[Question, float], seed: int) -> float:
    by_set: dict[str, list[float]] = {}
    for question, value in values.items():
        by_set.setdefault(question.dataset, []).append(value)
    return intervals(by_set, seed=seed, resamples=1)["average"].mean
