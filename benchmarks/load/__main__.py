"""Serves examples/serve_fastapi.py and asks it more and more questions at once.

python -m benchmarks.load                       # a minute in all
python -m benchmarks.load --users 1 8 --seconds 10
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import publish, run_command
from benchmarks.load.driver import drive
from benchmarks.load.report import table
from benchmarks.load.server import APP, served
from perspective_rag import CrossEncoderJudge, OnnxMiniLM
from perspective_rag.jsonl import json_lines
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL

USERS = (1, 2, 4, 8, 16, 32)
PATHS = ("/ask", "/ask-sync")
DEBATES = results.CHECKOUT / "examples" / "debates"


def main(
    arguments: Sequence[str] | None = None, *, app: str = APP, console: Console | None = None
) -> int:
    """Runs the benchmark; the exit status is 0, 1 when a request failed, 2 without a server,
    and 130 after Ctrl-C.
    """
    run = partial(_run, app=app)
    return run_command(arguments, _parser(), run, console)


def _run(options: argparse.Namespace, given: list[str], console: Console, *, app: str) -> int:
    started, load = time.perf_counter(), os.getloadavg()[0]
    questions = _questions()
    share = options.seconds / (len(options.users) * len(PATHS))
    steps = []
    with console.status("starting the server") as status, served(app) as (url, pid):
        for path in PATHS:  # what is loaded at the first question is loaded now
            asyncio.run(drive(url, path, questions, users=1, seconds=0.0, pid=pid))
        for users in options.users:
            for path in PATHS:
                status.update(f"{users} users on {path}")
                coming = drive(url, path, questions, users=users, seconds=share, pid=pid)
                steps.append(asyncio.run(coming))
    failed = sum(step["errors"] for step in steps)
    document = results.document(
        "load",
        arguments=given,
        config={
            "seconds": options.seconds,
            "app": app,
            "load_average_before": round(load, 2),
            "load_average_after": round(os.getloadavg()[0], 2),
        },
        seed=0,
        data={"name": "examples/debates", "questions": len(questions)},
        embedder=OnnxMiniLM().name,
        judge=results.judge_identity(CrossEncoderJudge(), DEFAULT_MODEL),
        seconds=time.perf_counter() - started,
        degradations=0,
        results={"steps": steps, "errors": failed},
    )
    partial = app != APP or tuple(options.users) != USERS or options.seconds < 60
    shown = table(document["results"])
    out = options.out or results.place("load", partial=partial)
    publish(document, out, console, markdown=shown.markdown(), shown=[shown])
    return int(failed > 0)


def _questions() -> list[str]:
    return [row["question"] for _, row in json_lines(DEBATES / "questions.jsonl")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("--users", type=whole, nargs="+", default=list(USERS), help="at once")
    parser.add_argument("--seconds", type=float, default=60.0, help="in all")
    parser.add_argument("--out", type=Path, help="results file (.json; the table goes beside it)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
