"""Serves examples/serve_fastapi.py and asks it more and more questions at once.

python -m benchmarks load                       # a minute in all
python -m benchmarks load --users 1 8 --seconds 10
python -m benchmarks load --outage                # the store hangs, dies and returns
python -m benchmarks load --serve                 # perspective-rag serve, 50 users for a minute
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import publish, run_command
from benchmarks.load.experiment import measure
from benchmarks.load.outage import APP as OUTAGE_APP
from benchmarks.load.outage import holds, measure_outage, outage_table
from benchmarks.load.report import SERVED, table
from benchmarks.load.serve import measure_serve
from benchmarks.load.server import APP
from perspective_rag import CrossEncoderJudge, OnnxMiniLM
from perspective_rag.addons import PACKAGED_JUDGE, json_lines

USERS = (1, 2, 4, 8, 16, 32)
SERVED_USERS = (50,)
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
    if options.serve:
        return _serve(options, given, questions, console)
    if options.outage:
        return _outage(options, given, questions, console)
    with console.status("starting") as status:
        steps = measure(
            app, PATHS, options.users, questions, seconds=options.seconds, told=status.update
        )
    failed = sum(step["errors"] for step in steps)
    found = {"steps": steps, "errors": failed}
    document = _document(options, given, app, questions, found, started, load)
    partial = app != APP or tuple(options.users) != USERS or options.seconds < 60
    shown = table(document["results"])
    out = options.out or results.place("load", partial=partial)
    publish(document, out, console, markdown=shown.markdown(), shown=[shown])
    return int(failed > 0)


def _outage(
    options: argparse.Namespace, given: list[str], questions: list[str], console: Console
) -> int:
    started, load = time.perf_counter(), os.getloadavg()[0]
    users = max(options.users)
    with console.status("starting") as status:
        found = measure_outage(questions, users=users, seconds=options.seconds, told=status.update)
    document = _document(options, given, OUTAGE_APP, questions, found, started, load)
    document["config"]["users"] = users
    shown = outage_table(found)
    out = options.out or results.place("load_outage", partial=options.seconds < 20)
    publish(document, out, console, markdown=shown.markdown(), shown=[shown])
    return int(not holds(found))


def _document(
    options: argparse.Namespace,
    given: list[str],
    app: str,
    questions: list[str],
    found: dict[str, Any],
    started: float,
    load: float,
) -> dict[str, Any]:
    """The results of a run that began at ``started``, under the load average ``load``."""
    return results.document(
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
        judge=results.judge_identity(CrossEncoderJudge(), PACKAGED_JUDGE),
        seconds=time.perf_counter() - started,
        degradations=0,
        results=found,
    )


def _serve(
    options: argparse.Namespace, given: list[str], questions: list[str], console: Console
) -> int:
    started, load = time.perf_counter(), os.getloadavg()[0]
    users = SERVED_USERS if options.users == list(USERS) else tuple(options.users)
    with console.status("starting") as status:
        steps = measure_serve(users, questions, seconds=options.seconds, told=status.update)
    errors = sum(step["errors"] for step in steps)
    document = results.document(
        "load",
        arguments=given,
        config={
            "seconds": options.seconds,
            "load_average_before": round(load, 2),
            "load_average_after": round(os.getloadavg()[0], 2),
        },
        seed=0,
        data={"name": "examples/debates", "questions": len(questions)},
        embedder=OnnxMiniLM().name,
        judge=results.judge_identity(CrossEncoderJudge(), PACKAGED_JUDGE),
        seconds=time.perf_counter() - started,
        degradations=0,
        results={"steps": steps, "errors": errors},
    )
    shown = table(document["results"], title=SERVED)
    partial = users != SERVED_USERS or options.seconds < 60
    out = options.out or results.place("load_serve", partial=partial)
    publish(document, out, console, markdown=shown.markdown(), shown=[shown])
    return int(errors > 0)


def _questions() -> list[str]:
    return [row["question"] for _, row in json_lines(DEBATES / "questions.jsonl")]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks load",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Data: none; it asks over examples/debates.",
    )
    parser.add_argument("--users", type=whole, nargs="+", default=list(USERS), help="at once")
    parser.add_argument("--seconds", type=float, default=60.0, help="in all")
    parser.add_argument(
        "--outage",
        action="store_true",
        help="of a store that hangs, dies and returns; status 1 where "
        "an answer is wrong, a thread is left or the recovery takes more than ten seconds",
    )
    parser.add_argument(
        "--serve",
        action="store_true",
        help="of perspective-rag serve, asked as its page asks; 50 users unless --users says else",
    )
    parser.add_argument("--out", type=Path, help="results file (.json; the table goes beside it)")
    return parser
