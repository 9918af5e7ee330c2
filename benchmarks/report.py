"""Puts the tables of ``benchmarks/results`` into the README: ``python -m benchmarks.report``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.core.results import CHECKOUT, RESULTS
from benchmarks.coverage.report import table as coverage_table
from benchmarks.latency.__main__ import tables as latency_tables


def coverage(document: Mapping[str, Any]) -> str:
    """The table of ``benchmarks.coverage`` and what it says in words."""
    results = document["results"]
    table = coverage_table(results, f"{results['questions']} questions, 95% intervals")
    return f"{table.markdown()}\n{results['statement']}\n"


def latency(document: Mapping[str, Any]) -> str:
    """The tables of ``benchmarks.latency``."""
    return "\n".join(table.markdown() for table in latency_tables(document["results"]))


SECTIONS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "coverage": coverage,
    "latency": latency,
}


def filled(text: str, results: Path) -> str:
    """The text with every ``<!-- results:NAME -->`` section made anew from ``NAME.json``."""
    for name, section in SECTIONS.items():
        path = results / f"{name}.json"
        if not path.is_file():
            continue
        document = json.loads(path.read_text(encoding="utf-8"))
        body = f"`{document['command']}`, {document['date'][:10]}:\n\n{section(document)}"
        opening, closing = f"<!-- results:{name} -->\n", f"<!-- /results:{name} -->"
        before, found, rest = text.partition(opening)
        if found:
            text = before + opening + body + rest[rest.index(closing) :]
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrites the README, or with ``--check`` says by exit code 1 that it is out of date."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    path = CHECKOUT / "README.md"
    old = path.read_text(encoding="utf-8")
    new = filled(old, RESULTS)
    if options.check:
        return int(new != old)
    path.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
