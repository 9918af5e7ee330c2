"""``perspective-rag judge run``: the verdicts of a judge on the pairs of a file."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from perspective_rag.addons import count
from perspective_rag.commands import console, uncached_judge
from perspective_rag_train.cli import show
from perspective_rag_train.engine_options import engine_of, engine_options
from perspective_rag_train.many import judge_many
from perspective_rag_train.pair_file import read_pairs


def add_command(judge: Any) -> None:
    """Adds ``run`` to the subparsers of ``judge``."""
    parser = judge.add_parser(
        "run", help="judge the pairs of a file, here or on the machines of a Ray cluster"
    )
    add = parser.add_argument
    add("pairs", type=Path, metavar="PAIRS", help="JSONL (.gz) with document and statement")
    add("out", type=Path, metavar="OUT", help="JSONL with the verdicts; call again to resume")
    add("--judge", default="default", help="default, a preset[@URL], llm:MODEL[@URL], a model")
    add("--batch-size", type=int, default=256, metavar="N", help="pairs (default: %(default)s)")
    add("--strict", action="store_true", help="a pair without a verdict is an error")
    engine_options(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    count("--batch-size", options.batch_size)
    judge = uncached_judge(options.judge)
    with engine_of(options) as engine, console(stderr=True).status("judging") as status:
        done = judge_many(
            judge,
            read_pairs(options.pairs),
            options.out,
            batch_size=options.batch_size,
            strict=options.strict,
            progress=lambda pairs: status.update(f"judged {pairs:,} pairs"),
            engine=engine,
        )
    show({"out": str(options.out), **asdict(done)})
