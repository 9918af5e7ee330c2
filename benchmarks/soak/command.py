"""Serves from a Chroma server for minutes, kills that server half-way and starts it again.

python -m benchmarks soak                              # ten minutes
python -m benchmarks soak --seconds 30 --away 5
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import publish, run_command
from benchmarks.soak.experiment import holds, measure_soak
from benchmarks.soak.report import table
from perspective_rag import CrossEncoderJudge, OnnxMiniLM
from perspective_rag.addons import PACKAGED_JUDGE, json_lines
from perspective_rag.commands import EXAMPLE_DEBATES

SECONDS, USERS, AWAY = 600.0, 2, 20.0


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Runs the benchmark; the exit status is 0, 1 where an answer was wrong, the recovery took more
    than ten seconds or memory grew by more than a tenth, 2 without a server, 130 after Ctrl-C.
    """
    return run_command(arguments, _parser(), _run, console)


def _run(options: argparse.Namespace, given: list[str], console: Console) -> int:
    started, load = time.perf_counter(), os.getloadavg()[0]
    questions = [
        row["question"] for _, row in json_lines(EXAMPLE_DEBATES.parent / "questions.jsonl")
    ]
    with console.status("starting") as status:
        found = measure_soak(
            questions,
            users=options.users,
            seconds=options.seconds,
            away=options.away,
            told=status.update,
        )
    document = results.document(
        "soak",
        arguments=given,
        config={
            "seconds": options.seconds,
            "users": options.users,
            "away": options.away,
            "store": "chroma run, LangChain's Chroma over HTTP",
            "load_average_before": round(load, 2),
            "load_average_after": round(os.getloadavg()[0], 2),
        },
        seed=0,
        data={"name": "examples/debates", "questions": len(questions)},
        embedder=OnnxMiniLM().name,
        judge=results.judge_identity(CrossEncoderJudge(), PACKAGED_JUDGE),
        seconds=time.perf_counter() - started,
        degradations=sum(each["partial"] for each in found["phases"]),
        results=found,
    )
    shown = table(found)
    out = options.out or results.place("soak", partial=options.seconds < SECONDS)
    publish(document, out, console, markdown=shown.markdown(), shown=[shown])
    return int(not holds(found))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Data: none; it asks over examples/debates. Needs chromadb.",
    )
    add = parser.add_argument
    add("--seconds", type=float, default=SECONDS, help="in all (default: %(default)g)")
    add("--users", type=whole, default=USERS, help="at once, without a pause")
    add("--away", type=float, default=AWAY, help="seconds without the database")
    add("--out", type=Path, help="results file (.json; the table goes beside it)")
    return parser
