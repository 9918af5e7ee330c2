"""Essays that are to take a stance, written from the five passages of each way of retrieving.

python -m benchmarks.essay --data data/pir_demo/perspectrum.json --llm gpt-4o-mini
python -m benchmarks.essay --data data/pir_demo/perspectrum.json \
    --local-python .venv-torch/bin/python
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.markup import escape

from benchmarks.core import results
from benchmarks.core.arguments import whole
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
from benchmarks.downstream.retrieving import passages_for, ranker, sampled
from benchmarks.essay.report import table
from benchmarks.essay.scoring import STANCES, polarity, side_taken
from benchmarks.essay.summary import Row, summary
from benchmarks.perspective_detection.judging import named_judge
from benchmarks.pir.tasks import PirQuery, Task, read_task
from perspective_rag import CorpusError, PerspectiveRAGError
from perspective_rag.prompts import PromptTemplate
from perspective_rag.protocols import Judge
from perspective_rag.types import Prompt

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
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(given)
    console = console or wide_console()
    try:
        whole_task = _stanced(read_task(options.data))
        with reader_of(options) as reader:
            document = _run(options, given, whole_task, reader, judge, console)
        console.print(table(document).rich())
        name = f"essay-{slug(whole_task.name)}-{slug(reader.name.rpartition('/')[2])}.json"
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
    whole_task: Task,
    reader: Reader,
    judge: Judge | None,
    console: Console,
) -> dict[str, Any]:
    started = time.perf_counter()
    task = sampled(whole_task, options.examples, seed=options.seed)
    retriever = retriever_of(options)
    rank = ranker(task, retriever, options.cache)
    conditions = conditions_of(options)
    passages = {name: passages_for(task, name, PASSAGES, rank) for name in conditions}
    template = read_template(PROMPT)
    requests = [
        Request(name, query.text, places, _prompt(template, task, query, places, options))
        for name in conditions
        for query, places in zip(task.queries, passages[name], strict=True)
    ]
    rows = replies(
        requests,
        reader,
        options,
        benchmark="essay",
        key={"data": whole_task.fingerprint, "llm": reader.llm.name, "prompt": template.hash},
        console=console,
    )
    folder = None
    if judge is None:
        judge, folder = named_judge(options.judge)
    stances = [STANCES[query.label] for query in task.queries]
    measured = {}
    count = len(task.queries)
    for i, name in enumerate(conditions):
        essays = [row["reply"] for row in rows[i * count :][:count]]
        sides = [
            side_taken(judge, essay, query.root, stance)
            for essay, query, stance in zip(essays, task.queries, stances, strict=True)
        ]
        gold = [
            float(np.mean([place in query.gold for place in places])) if places else 0.0
            for query, places in zip(task.queries, passages[name], strict=True)
        ]
        measured[name] = Row([polarity(essay) for essay in essays], sides, gold)
    failed = sum(side.failed for row in measured.values() for side in row.sides)
    empty = sum(not row["reply"].strip() for row in rows)
    return results.document(
        "essay",
        arguments=given,
        config={
            "llm": reader.name,
            "prompt": template.hash,
            "max_tokens": options.max_tokens,
            "words": options.words,
            "passages": PASSAGES,
            "resamples": options.resamples,
        },
        seed=options.seed,
        data={task.name: whole_task.fingerprint},
        embedder=retriever.name,
        judge=results.judge_identity(judge, folder),
        seconds=time.perf_counter() - started,
        degradations=failed + empty,
        results={
            "task": task.name,
            "essays": count,
            "essays_in_all": len(whole_task.queries),
            "support": stances.count("support"),
            "conditions": summary(
                measured, stances, seed=options.seed, resamples=options.resamples
            ),
            "tokens": {
                "in": sum(row["prompt_tokens"] for row in rows),
                "out": sum(row["completion_tokens"] for row in rows),
            },
        },
    )


def _stanced(task: Task) -> Task:
    """The task's queries that take a side, those of equal text as one."""
    queries = tuple(query for query in task.merged().queries if query.label in STANCES)
    if not queries:
        raise CorpusError(f"{task.name} has no queries labelled {' or '.join(STANCES)}")
    return replace(task, queries=queries)


def _prompt(
    template: PromptTemplate,
    task: Task,
    query: PirQuery,
    places: Sequence[int],
    options: argparse.Namespace,
) -> Prompt:
    texts = "\n".join(f"- {task.corpus[place]}" for place in places)
    prompt = template.fill(
        background=f"Background:\n{texts}\n\n" if places else "",
        topic=query.root,
        stance=STANCES[query.label],
        words=options.words,
    )
    return replace(prompt, max_tokens=options.max_tokens, seed=options.seed)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.essay",
        description="Essays that are to take a stance, from five retrieved passages.",
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="a PIR task with labels support and undermine")
    add("--judge", default="default", help="default, a folder, a preset or a model id")
    add("--words", type=whole, default=WORDS, help="of an essay (default: %(default)s)")
    add_arguments(parser, examples=EXAMPLES, max_tokens=200)
    return parser


if __name__ == "__main__":
    sys.exit(main())
