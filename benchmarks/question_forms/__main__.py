"""How many questions of many forms the rules read as a person would.

python -m benchmarks.question_forms --data question_forms/dev.jsonl
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from benchmarks.core import results
from benchmarks.core.command import publish, run_command
from benchmarks.core.table import Table
from benchmarks.question_forms.scoring import Question, by_form, passes, question_of
from perspective_rag import Extraction
from perspective_rag.addons import extract_by_rule


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Runs the benchmark; the exit status is 0, or 2 for data that cannot be read."""
    return run_command(arguments, _parser(), _run, console)


def _run(options: argparse.Namespace, given: list[str], console: Console) -> int:
    started = time.perf_counter()
    try:
        lines = options.data.read_text(encoding="utf-8").splitlines()
        questions = [question_of(json.loads(line)) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        console.print(f"{options.data} cannot be read: {escape(str(error))}")
        return 2
    found = [extract_by_rule(question.text) for question in questions]
    passed = [passes(q, each) for q, each in zip(questions, found, strict=True)]
    failures = [
        (question, each)
        for question, each, right in zip(questions, found, passed, strict=True)
        if not right
    ]
    # Ids and counts only: the questions themselves stay where the data is.
    document = results.document(
        "question_forms",
        arguments=given,
        config={},
        seed=0,
        data={
            "name": options.data.name,
            "questions": len(questions),
            "sha256": results.hash_of_files(options.data.parent, [options.data]),
        },
        embedder="none",
        judge=None,
        seconds=time.perf_counter() - started,
        degradations=0,
        results={
            "passed": sum(passed),
            "questions": len(questions),
            "forms": by_form(questions, passed),
            "failed": [question.id for question, _ in failures],
        },
    )
    for question, each in failures:
        console.print(_said(question, each), markup=False, highlight=False)
    shown = table(document["results"])
    out = options.out or results.place("question_forms", partial=False)
    publish(document, out, console, markdown=shown.markdown(), shown=[shown])
    return 0


def _said(question: Question, found: Extraction) -> str:
    """A failure for the terminal: what was asked, expected and read."""
    texts = " | ".join(each.text for each in found.perspectives)
    return f"{question.id} {question.form}: {question.text}\n    read as {found.kind}: {texts}"


def table(found: Mapping[str, Any]) -> Table:
    """One row for each form, and one for all."""
    share = found["passed"] / max(found["questions"], 1)
    shown = Table(
        f"Questions that the rules read right: {share:.1%}", ("form", "passed", "questions")
    )
    for form, counts in found["forms"].items():
        shown.add(form, str(counts["passed"]), str(counts["questions"]))
    shown.add("all", str(found["passed"]), str(found["questions"]))
    return shown


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.question_forms", description=__doc__
    )
    parser.add_argument("--data", type=Path, required=True, help="question_forms/dev.jsonl")
    parser.add_argument("--out", type=Path, help="results file (.json; the table goes beside it)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
