"""One call a pair of a passage and a statement (``LLMJudge``), on pairs of the same sets."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np

from benchmarks.core.table import Table
from benchmarks.downstream.cost import tokens_in
from benchmarks.list_judge import recording
from benchmarks.list_judge.recording import FORMAT, SEED, Request, prompt_id
from benchmarks.list_judge.report import Read, shown_share
from benchmarks.list_judge.tasks import OWN, POOLS, Task
from benchmarks.sides.data import Verdict
from benchmarks.sides.scoring import share
from perspective_rag import CorpusError, LLMError, LLMJudge, Passage, Prompt
from perspective_rag.flow.driver import run
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag.testing import ScriptedLLM

_SETS = (*POOLS, OWN)
DRAWN: Mapping[Verdict, int] = {"true": 18, "opposing": 18, "silent": 19}
"""How many pairs of each label are drawn from a set."""
REPLY = '"yes" or "no"'
_WORDS = ("no", "yes")
_WAYS = ("one call a question", "one call a pair")


@dataclass(frozen=True, slots=True)
class Pair(Request):
    """A prompt about one passage and one side of its task (0 or 1)."""

    side: int

    @property
    def label(self) -> Verdict:
        """What the passage does to the side."""
        return self.task.labels[self.passages[0].id, self.side]


def requests_of(tasks: Sequence[Task]) -> list[Pair]:
    """The same pairs for the same tasks, ``DRAWN`` of each set, or as many as it has."""
    strata: dict[tuple[str, Verdict], list[tuple[str, Task, Passage, int]]] = defaultdict(list)
    for task in tasks:
        for passage, side in product(task.passages, (0, 1)):
            if task.set in _SETS and (label := task.labels.get((passage.id, side))):
                drawn_by = fingerprint(SEED, task.key, passage.id, side)
                strata[task.set, label].append((drawn_by, task, passage, side))
    return [
        Pair(task, _prompts(task, [passage], [side])[0], (passage,), side)
        for (_, label), held in strata.items()
        for _, task, passage, side in sorted(held, key=itemgetter(0))[: DRAWN[label]]
    ]


def _prompts(task: Task, passages: Sequence[Passage], sides: Sequence[int]) -> list[Prompt]:
    """What the real judge asks about some passages of a task and some of its sides."""
    llm = ScriptedLLM(lambda _: "no")
    run(LLMJudge(llm).judge([task.perspectives[i] for i in sides], passages))
    return llm.prompts


def record(
    pairs: Sequence[Pair], replies: Mapping[str, str], *, model: str, date: str
) -> tuple[dict[str, Any], list[str]]:
    """What the judge reads in the replies, without any text, and what it could not read."""
    kept: dict[str, Any] = {}
    problems: list[str] = []
    for each, value in zip(pairs, _judged(pairs, replies), strict=True):
        if np.isnan(value):
            problems.append(f"{each.task.key}: no reply of yes or no to {each.id}")
            continue
        place = {"task": each.task.key, "passage": each.passages[0].id, "side": "AB"[each.side]}
        kept[each.id] = {**place, "verdict": _WORDS[int(value > 0.5)]}
    return {"format": FORMAT, "model": model, "date": date, "prompts": kept}, problems


def _judged(pairs: Sequence[Pair], replies: Mapping[str, str]) -> list[float]:
    """P(support) of each pair by the real judge; NaN where there is no reply that it can read."""
    lacking = LLMError("nobody replied")
    llm = ScriptedLLM(lambda prompt: replies.get(prompt_id(prompt), lacking))
    asked = [each.task.perspectives[each.side] for each in pairs]
    return list(run(LLMJudge(llm).judge_pairs(asked, [each.passages[0] for each in pairs])))


def figures(
    tasks: Sequence[Task], found: Sequence[Read], kept: Mapping[str, Any]
) -> dict[str, Any]:
    """Both ways on the recorded pairs of each set, and what each asks about a whole question.

    Raises CorpusError for a recorded pair that is not among those drawn.
    """
    pairs = [each for each in requests_of(tasks) if each.id in kept["prompts"]]
    if lacking := len(kept["prompts"]) - len(pairs):
        raise CorpusError(
            f"{lacking} recorded pairs are no longer asked about: the prompt, the data or the draw "
            "has changed; answer what `prompts --pairs` writes and `record --pairs` it"
        )
    said = _judged(pairs, {name: each["verdict"] for name, each in kept["prompts"].items()})
    yes = {each.id: value > 0.5 for each, value in zip(pairs, said, strict=True)}
    reads = {each.task.key: each for each in found}
    listed = {each.id: _is_listed(each, reads[each.task.key]) for each in pairs}
    sets: dict[str, Any] = {}
    for name, names in [*((name, (name,)) for name in _SETS), ("together", _SETS)]:
        if own := [each for each in pairs if each.task.set in names]:
            whole = [each for each in tasks if each.set in names]
            lists = [each.prompt for each in recording.requests_of(whole)]
            single = [p for each in whole for p in _prompts(each, each.passages, (0, 1))]
            costs = _cost(lists, len(whole)), _cost(single, len(whole))
            shares = _shares(own, listed), _shares(own, yes)
            rows = {way: shares[i] | costs[i] for i, way in enumerate(_WAYS)}
            sets[name] = {"pairs": len(own)} | rows
    return {"model": kept["model"], "recorded": kept["date"], "sets": sets}


def _is_listed(pair: Pair, read: Read) -> bool:
    assert read.result.coverage.judged
    return bool(read.result.coverage.listed[read.task.passages.index(pair.passages[0]), pair.side])


def _shares(pairs: Sequence[Pair], listed: Mapping[str, bool]) -> dict[str, Any]:
    keys = list(dict.fromkeys(each.task.key for each in pairs))

    def counts(label: Verdict | None, *, all_of_them: bool = False) -> list[int]:
        own = [each for each in pairs if label in (None, each.label)]
        held = [each.task.key for each in own if all_of_them or listed[each.id]]
        return [held.count(key) for key in keys]

    wholes, true = counts(None), counts("true")
    return {
        "listed": sum(wholes),
        "true": share(true, wholes, seed=SEED),
        "opposing": share(counts("opposing"), wholes, seed=SEED),
        "of_supports": share(true, counts("true", all_of_them=True), seed=SEED),
    }


def _cost(prompts: Sequence[Prompt], questions: int) -> dict[str, float]:
    tokens = sum(tokens_in(each.system) + tokens_in(each.user) for each in prompts)
    return {"calls": len(prompts) / questions, "prompt_tokens": tokens / questions}


def table(measured: Mapping[str, Any]) -> Table:
    """A line for each way on each set."""
    names = ("set, way", "pairs", "listed", "true %", "opposing %", "of the supports %")
    shown = Table(
        f"The same pairs, one call a pair by {measured['model']}",
        (*names, "calls a question", "prompt tokens a question, about"),
    )
    for name, own in measured["sets"].items():
        for way in _WAYS:
            each = own[way]
            shares = [shown_share(each[key]) for key in ("true", "opposing", "of_supports")]
            cost = f"{each['calls']:.1f}", f"{each['prompt_tokens']:,.0f}"
            shown.add(f"{name}, {way}", str(own["pairs"]), str(each["listed"]), *shares, *cost)
    return shown
