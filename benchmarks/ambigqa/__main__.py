"""Answers to ambiguous questions from the one passage that each way of retrieving puts first.

python -m benchmarks.ambigqa --data data/ambigqa --llm gpt-4o-mini --price-in 0.15 --price-out 0.6
python -m benchmarks.ambigqa --data data/ambigqa --local-python .venv-torch/bin/python
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from benchmarks.ambigqa.data import AnswerTask, read_answer_task
from benchmarks.ambigqa.report import table
from benchmarks.ambigqa.summary import Row, summary
from benchmarks.core import results
from benchmarks.core.cells import slug
from benchmarks.core.table import wide_console
from benchmarks.downstream.asking import Request
from benchmarks.downstream.commands import (
    INTERRUPTED,
    Reader,
    add_arguments,
    conditions_of,
    reader_of,
    replies,
    retriever_of,
)
from benchmarks.downstream.prompts import read_template
from benchmarks.downstream.retrieving import hits, passages_for, ranker
from benchmarks.pir.tasks import Task
from perspective_rag import PerspectiveRAGError
from perspective_rag.prompts import PromptTemplate
from perspective_rag.types import Prompt

PROMPT = Path(__file__).with_name("answer.txt")
EXAMPLES = 120
"""Questions that the paper samples."""
PASSAGES = 1


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Runs the experiment.

    The exit status is 0, 2 for what could not be done, and 130 after Ctrl-C; the same command goes
    on from where a run ended.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(given)
    console = console or wide_console()
    try:
        whole_task = read_answer_task(options.data)
        asked = whole_task.sampled(options.examples, seed=options.seed)
        with reader_of(options) as reader:
            document = _run(options, given, whole_task, asked, reader, console)
        console.print(table(document).rich())
        name = f"ambigqa-{slug(asked.task.name)}-{slug(reader.name.rpartition('/')[2])}.json"
        out = options.out or results.RESULTS / name
        results.write(document, out)
        console.print(f"Written to {out}", highlight=False)
    except PerspectiveRAGError as error:
        console.print(f"[red]{type(error).__name__}:[/red] {escape(str(error))}")
        return 2
    except KeyboardInterrupt:
        console.print("Interrupted. The same command goes on from here.")
        return INTERRUPTED
    return 0


def _run(
    options: argparse.Namespace,
    given: Sequence[str],
    whole_task: AnswerTask,
    asked: AnswerTask,
    reader: Reader,
    console: Console,
) -> dict[str, Any]:
    started = time.perf_counter()
    task = asked.task
    retriever = retriever_of(options)
    rank = ranker(task, retriever, options.cache)
    conditions = conditions_of(options)
    passages = {name: passages_for(task, name, PASSAGES, rank) for name in conditions}
    template = read_template(PROMPT)
    requests = [
        Request(name, query.text, places, _prompt(template, task, query.text, places, options))
        for name in conditions
        for query, places in zip(task.queries, passages[name], strict=True)
    ]
    rows = replies(
        requests,
        reader,
        options,
        benchmark="ambigqa",
        key={"data": whole_task.task.fingerprint, "llm": reader.llm.name, "prompt": template.hash},
        console=console,
    )
    count = len(task.queries)
    found = {
        name: Row([row["reply"] for row in rows[i * count :][:count]], hits(task, passages[name]))
        for i, name in enumerate(conditions)
    }
    return results.document(
        "ambigqa",
        arguments=given,
        config={
            "llm": reader.name,
            "prompt": template.hash,
            "max_tokens": options.max_tokens,
            "passages": PASSAGES,
            "resamples": options.resamples,
        },
        seed=options.seed,
        data={task.name: whole_task.task.fingerprint},
        embedder=retriever.name,
        judge=None,
        seconds=time.perf_counter() - started,
        degradations=sum(not row["reply"].strip() for row in rows),
        results={
            "task": task.name,
            "queries": count,
            "queries_in_all": len(whole_task.task.queries),
            "documents": len(task.corpus),
            "conditions": summary(
                found, asked.answers, seed=options.seed, resamples=options.resamples
            ),
            "tokens": {
                "in": sum(row["prompt_tokens"] for row in rows),
                "out": sum(row["completion_tokens"] for row in rows),
            },
        },
    )


def _prompt(
    template: PromptTemplate,
    task: Task,
    question: str,
    places: Sequence[int],
    options: argparse.Namespace,
) -> Prompt:
    knowledge = "".join(f"Knowledge: {task.corpus[place]}\n\n" for place in places)
    prompt = template.fill(knowledge=knowledge, question=question)
    return replace(prompt, max_tokens=options.max_tokens, seed=options.seed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ambigqa",
        description="Answers to ambiguous questions from one retrieved passage.",
    )
    parser.add_argument(
        "--data",
        type=Path,
        required=True,
        help="a folder with AmbigNQ and fragments, or a PIR task (benchmarks/ambigqa/data.py)",
    )
    add_arguments(parser, examples=EXAMPLES, max_tokens=24)
    return parser


if __name__ == "__main__":
    sys.exit(main())
