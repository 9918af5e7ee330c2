"""What recorded verdicts list, by the labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.core.table import Table
from benchmarks.list_judge.recording import RecordedLLM, requests_of, the_judge
from benchmarks.list_judge.tasks import HUMAN, SETS, Task
from benchmarks.sides.scoring import share
from perspective_rag import Candidate, RetrievalResult, Trace, run
from perspective_rag.addons import Recorder
from perspective_rag.judge.support import coverage_of, judge_best_first

_SEED = 13


@dataclass(frozen=True, slots=True)
class Read:
    """A task as it was judged: its result with every passage, and the calls that took."""

    task: Task
    result: RetrievalResult
    calls: int


def replay(tasks: Sequence[Task], document: Mapping[str, Any]) -> list[Read]:
    """The tasks judged by the real judge and the real listing, the model's replies as recorded."""
    llm = RecordedLLM(document, requests_of(tasks))
    return [_read(task, llm) for task in tasks]


def _read(task: Task, llm: RecordedLLM) -> Read:
    before = llm.calls
    judge = the_judge(llm)
    candidates = [Candidate(passage, 0.0) for passage in task.passages]
    recorder = Recorder()
    judged = run(
        judge_best_first(
            judge,
            task.perspectives,
            candidates,
            k=len(candidates),
            limit=len(candidates),
            rule=judge.listing,
            exclusive=True,
            question=task.question,
        ),
        recorder,
    )
    coverage = coverage_of(judged, task.perspectives, judge.listing, exclusive=True)
    trace: Trace = recorder.trace()
    result = RetrievalResult(task.question, tuple(judged), task.perspectives, coverage, trace)
    return Read(task, result, llm.calls - before)


def figures(found: Sequence[Read]) -> dict[str, Any]:
    """The figures of each set, JSON-ready, with intervals over its questions."""
    return {
        name: _of_set([each for each in found if each.task.set == name])
        for name in SETS
        if any(each.task.set == name for each in found)
    }


def _of_set(found: Sequence[Read]) -> dict[str, Any]:
    assert all(each.result.coverage.judged for each in found)
    wholes = [_count(each, lambda listed, _: listed) for each in found]
    true = [_count(each, lambda listed, label: listed and label == "true") for each in found]
    opposing = [
        _count(each, lambda listed, label: listed and label == "opposing") for each in found
    ]
    present = [_count(each, lambda _, label: label == "true") for each in found]
    proofs = [len(c.proofs) > 0 for each in found for c in each.result.candidates]
    shares: dict[str, Any] = {
        "questions": len(found),
        "passages": sum(len(each.task.passages) for each in found),
        "listed": sum(wholes),
        "true": share(true, wholes, seed=_SEED),
        "opposing": share(opposing, wholes, seed=_SEED),
        "of_present": share(true, present, seed=_SEED),
        "calls": sum(each.calls for each in found) / len(found),
        "unjudged": sum(not c.support for each in found for c in each.result.candidates),
        "with_proof": sum(proofs),
        "unproven": sum(each.result.trace.counts.get("unproven", 0) for each in found),
    }
    if found[0].task.set == HUMAN:
        shares["pairs"] = _pairs(found)
    return shares


def _count(read: Read, counts: Callable[[bool, str], bool]) -> int:
    assert read.result.coverage.judged
    listed = read.result.coverage.listed
    labels = read.task.labels
    return sum(
        counts(bool(listed[row, side]), labels[passage.id, side])
        for row, passage in enumerate(read.task.passages)
        for side in (0, 1)
        if (passage.id, side) in labels
    )


def _pairs(found: Sequence[Read]) -> dict[str, float]:
    """F1, precision and recall of single pairs: support counts from the listing's threshold on,
    for a passage on both sides too.
    """
    said, truth = [], []
    for each in found:
        assert each.result.coverage.judged
        support = np.nan_to_num(each.result.coverage.support)
        for row, passage in enumerate(each.task.passages):
            for side in (0, 1):
                if (label := each.task.labels.get((passage.id, side))) is not None:
                    said.append(support[row, side] >= each.result.coverage.threshold)
                    truth.append(label == "true")
    hits = sum(s and t for s, t in zip(said, truth, strict=True))
    precision, recall = hits / max(sum(said), 1), hits / max(sum(truth), 1)
    return {
        "pairs": len(truth),
        "positive": sum(truth),
        "precision": precision,
        "recall": recall,
        "f1": 2 * hits / max(sum(said) + sum(truth), 1),
        "accuracy": sum(s == t for s, t in zip(said, truth, strict=True)) / max(len(truth), 1),
    }


def tables(measured: Mapping[str, Any], model: str) -> list[Table]:
    """A line for each set, and one for the pairs labelled by people."""
    names = ("set", "questions", "passages", "listed", "true %", "opposing %", "of present %")
    table = Table(f"One call a question, {model}", (*names, "calls", "not judged", "unproven"))
    for name, each in measured.items():
        shares = [shown_share(each[key]) for key in ("true", "opposing", "of_present")]
        counts = (str(each[key]) for key in ("questions", "passages", "listed"))
        table.add(
            name,
            *counts,
            *shares,
            f"{each['calls']:.2f}",
            str(each["unjudged"]),
            str(each["unproven"]),
        )
    if HUMAN not in measured:
        return [table]
    pairs = measured[HUMAN]["pairs"]
    people = Table("Pairs labelled by people", ("pairs", "positive", "precision", "recall", "F1"))
    rates = (f"{100 * pairs[key]:.1f}" for key in ("precision", "recall", "f1"))
    people.add(str(pairs["pairs"]), str(pairs["positive"]), *rates)
    return [table, people]


def shown_share(interval: Mapping[str, float] | None) -> str:
    """A share and its interval in percent, "-" for none."""
    if interval is None:
        return "-"
    low, high = interval["low"], interval["high"]
    return f"{100 * interval['mean']:.1f} [{100 * low:.0f}, {100 * high:.0f}]"
