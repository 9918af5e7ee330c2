"""Answers to ambiguous questions from the one passage that each way of retrieving puts first.

python -m benchmarks download ambignq
python -m benchmarks ambigqa --data data/ambigqa --llm gpt-4o-mini --price-in 0.15 --price-out 0.6
python -m benchmarks ambigqa --data data/ambigqa --local-python .venv-torch/bin/python
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.ambigqa.data import read_answer_task
from benchmarks.ambigqa.report import table
from benchmarks.ambigqa.summary import Row, summary
from benchmarks.core.command import run_command
from benchmarks.core.data import data_note, needed
from benchmarks.downstream.commands import add_arguments
from benchmarks.downstream.experiment import Experiment
from benchmarks.downstream.retrieving import hits
from benchmarks.pir.tasks import PirQuery

PROMPT = Path(__file__).with_name("answer.txt")
EXAMPLES = 120
"""Questions that the paper samples."""
PASSAGES = 1


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Runs the experiment.

    The exit status is 0, 2 for what could not be done, and 130 after Ctrl-C; the same command goes
    on from where a run ended.
    """
    return run_command(arguments, _parser(), _run, console)


def _run(options: argparse.Namespace, given: Sequence[str], console: Console) -> int:
    experiment = Experiment(
        name="ambigqa",
        prompt=PROMPT,
        passages=PASSAGES,
        options=options,
        given=given,
        console=console,
    )
    whole = read_answer_task(needed(options.data, "ambigqa"))
    asked = whole.sampled(options.examples, seed=options.seed)
    task = asked.task

    def fields(query: PirQuery, places: Sequence[int]) -> Mapping[str, Any]:
        knowledge = "".join(f"Knowledge: {task.corpus[place]}\n\n" for place in places)
        return {"knowledge": knowledge, "question": query.text}

    found = experiment.answers(whole.task, task, fields)
    rows = {
        name: Row(replies, hits(task, found.passages[name]))
        for name, replies in found.replies.items()
    }
    conditions = summary(rows, asked.answers, seed=options.seed, resamples=options.resamples)
    measured = {
        "queries": len(task.queries),
        "queries_in_all": len(whole.task.queries),
        "documents": len(task.corpus),
        "conditions": conditions,
    }
    experiment.publish(found, table, measured)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks ambigqa",
        description="Answers to ambiguous questions from one retrieved passage.",
        epilog=data_note("ambigqa"),
    )
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        help="a folder with AmbigNQ and fragments, or a PIR task (benchmarks/ambigqa/data.py)",
    )
    add_arguments(parser, examples=EXAMPLES, max_tokens=24)
    return parser
