"""Puts the tables of ``benchmarks/results`` into the README and the docs.

python -m benchmarks.report
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.core.results import CHECKOUT, RESULTS
from benchmarks.coverage.report import summary_table
from benchmarks.coverage.report import table as coverage_table
from benchmarks.downstream.report import sections as downstream_sections
from benchmarks.latency.report import tables as latency_tables
from benchmarks.latency.report import whole_table
from benchmarks.load.report import table as load_table
from benchmarks.overhead.report import table as overhead_table
from benchmarks.perspective_detection.report import tables as detection_tables
from benchmarks.pir.adaptive_report import sections as adaptive_sections
from benchmarks.pir.report import sections as pir_sections


def coverage(document: Mapping[str, Any]) -> str:
    """The table of ``benchmarks.coverage`` and what it says in words."""
    results = document["results"]
    table = coverage_table(results, f"{results['questions']} questions, 95% intervals")
    return f"{table.markdown()}\n{results['statement']}\n"


def coverage_summary(document: Mapping[str, Any]) -> str:
    """The rows of ``benchmarks.coverage`` that tell the story."""
    results = document["results"]
    return summary_table(results, f"{results['questions']} questions, 95% intervals").markdown()


def latency(document: Mapping[str, Any]) -> str:
    """The tables of ``benchmarks.latency``."""
    return "\n".join(table.markdown() for table in latency_tables(document["results"]))


def latency_summary(document: Mapping[str, Any]) -> str:
    """Whole questions alone."""
    return whole_table(document["results"]["end_to_end"]).markdown()


def perspective_detection(document: Mapping[str, Any]) -> str:
    """The tables of ``benchmarks.perspective_detection``."""
    return "\n".join(table.markdown() for table in detection_tables(document["results"]))


def load(document: Mapping[str, Any]) -> str:
    """The table of ``benchmarks.load``."""
    return load_table(document["results"]).markdown()


def overhead(document: Mapping[str, Any]) -> str:
    """The table of ``benchmarks.overhead``."""
    return overhead_table(document["results"]).markdown()


SECTIONS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], str]]] = {
    "coverage": ("coverage", coverage),
    "coverage-summary": ("coverage", coverage_summary),
    "coverage-ablation": ("coverage_ablation", coverage),
    "coverage-topics": ("coverage_topics", coverage),
    "latency": ("latency", latency),
    "latency-summary": ("latency", latency_summary),
    "load": ("load", load),
    "overhead": ("overhead", overhead),
    "perspective_detection": ("perspective_detection", perspective_detection),
}
"""For each section the results it is made of, and how."""

DOCUMENTS = (
    "README.md",
    "docs/adaptive.md",
    "docs/downstream.md",
    "docs/judge.md",
    "docs/measured.md",
    "docs/pir.md",
)
"""The files with sections to fill."""


def bodies(results: Path) -> dict[str, str]:
    """What each section is to say."""
    found = {
        **pir_sections(results),
        **adaptive_sections(results),
        **downstream_sections(results),
    }
    for name, (source, section) in SECTIONS.items():
        path = results / f"{source}.json"
        if path.is_file():
            document = json.loads(path.read_text(encoding="utf-8"))
            command = f"`{document['command']}`, {document['date'][:10]}"
            found[name] = f"{command}:\n\n{section(document)}"
    return found


def filled(text: str, results: Path) -> str:
    """The text with every ``<!-- results:NAME -->`` section made anew from the results."""
    for name, body in bodies(results).items():
        opening, closing = f"<!-- results:{name} -->\n", f"<!-- /results:{name} -->"
        before, found, rest = text.partition(opening)
        if found:
            text = before + opening + body + rest[rest.index(closing) :]
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrites the documents, or with ``--check`` says by exit code 1 that one is out of date."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    changed = 0
    for name in DOCUMENTS:
        path = CHECKOUT / name
        old = path.read_text(encoding="utf-8")
        new = filled(old, RESULTS)
        changed += new != old
        if new != old and not options.check:
            path.write_text(new, encoding="utf-8")
    return int(bool(changed)) if options.check else 0


if __name__ == "__main__":
    sys.exit(main())
