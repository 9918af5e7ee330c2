"""Essays that are to take a stance, written from the five passages of each way of retrieving.

python -m benchmarks download pir-demo
python -m benchmarks essay --data data/pir_demo/perspectrum.json --llm gpt-4o-mini
python -m benchmarks essay --data data/pir_demo/perspectrum.json \
    --local-python .venv-torch/bin/python
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import run_command
from benchmarks.core.data import data_note, needed
from benchmarks.core.judges import JUDGES, named_judge
from benchmarks.downstream.commands import add_arguments
from benchmarks.downstream.experiment import Experiment
from benchmarks.downstream.retrieving import sampled
from benchmarks.essay.report import table
from benchmarks.essay.scoring import STANCES, polarity, side_taken
from benchmarks.essay.summary import Row, summary
from benchmarks.pir.tasks import PirQuery, Task, read_task
from perspective_rag import CorpusError
from perspective_rag.extend import Judge

PROMPT = Path(__file__).with_name("essay.txt")
EXAMPLES = 30
"""Essays that the paper samples."""
PASSAGES = 5
WORDS = 100


def main(
    arguments: Sequence[str] | None = None,
    *,
    judge: Judge | None = None,
    console: Console | None = None,
) -> int:
    """Runs the experiment; ``judge`` replaces the one of the command line.

    The exit status is 0, 2 for what could not be done, and 130 after Ctrl-C; the same command goes
    on from where a run ended.
    """
    run = partial(_run, judge=judge)
    return run_command(arguments, _parser(), run, console)


def _run(
    options: argparse.Namespace, given: Sequence[str], console: Console, *, judge: Judge | None
) -> int:
    experiment = Experiment(
        name="essay",
        prompt=PROMPT,
        passages=PASSAGES,
        options=options,
        given=given,
        console=console,
    )
    whole_task = _stanced(read_task(needed(options.data, "essay")))
    task = sampled(whole_task, options.examples, seed=options.seed)

    def fields(query: PirQuery, places: Sequence[int]) -> Mapping[str, Any]:
        texts = "\n".join(f"- {task.corpus[place]}" for place in places)
        return {
            "background": f"Background:\n{texts}\n\n" if places else "",
            "topic": query.root,
            "stance": STANCES[query.label],
            "words": options.words,
        }

    found = experiment.answers(whole_task, task, fields)
    folder = None
    if judge is None:
        judge, folder = named_judge(options.judge)
    rows = {
        name: _measured(essays, found.passages[name], task, judge)
        for name, essays in found.replies.items()
    }
    stances = [STANCES[query.label] for query in task.queries]
    conditions = summary(rows, stances, seed=options.seed, resamples=options.resamples)
    measured = {
        "essays": len(task.queries),
        "essays_in_all": len(whole_task.queries),
        "support": stances.count("support"),
        "conditions": conditions,
    }
    experiment.publish(
        found,
        table,
        measured,
        config={"words": options.words},
        judge=results.judge_identity(judge, folder),
        failed=sum(side.failed for row in rows.values() for side in row.sides),
    )
    return 0


def _stanced(task: Task) -> Task:
    """The task's queries that take a side, those of equal text as one."""
    queries = tuple(query for query in task.merged().queries if query.label in STANCES)
    if not queries:
        raise CorpusError(f"{task.name} has no queries labelled {' or '.join(STANCES)}")
    return replace(task, queries=queries)


def _measured(
    essays: Sequence[str], passages: Sequence[tuple[int, ...]], task: Task, judge: Judge
) -> Row:
    sides = [
        side_taken(judge, essay, query.root, STANCES[query.label])
        for essay, query in zip(essays, task.queries, strict=True)
    ]
    gold = [
        float(np.mean([place in query.gold for place in places])) if places else 0.0
        for query, places in zip(task.queries, passages, strict=True)
    ]
    return Row([polarity(essay) for essay in essays], sides, gold)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks essay",
        description="Essays that are to take a stance, from five retrieved passages.",
        epilog=data_note("essay"),
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="a PIR task with labels support and undermine")
    add("--judge", default="default", help=JUDGES)
    add("--words", type=whole, default=WORDS, help="of an essay (default: %(default)s)")
    add_arguments(parser, examples=EXAMPLES, max_tokens=200)
    return parser
