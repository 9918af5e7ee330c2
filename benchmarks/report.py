"""Puts the tables of ``benchmarks/results`` into the README and the docs.

python -m benchmarks report [--check]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.answers.deeptrace import table as deeptrace_table
from benchmarks.answers.report import tables as answers_tables
from benchmarks.berds.page import sections as berds_sections
from benchmarks.board.page import page as board
from benchmarks.board.page import summary_table as board_summary_table
from benchmarks.core.command import run_command
from benchmarks.core.filling import fill
from benchmarks.core.results import CHECKOUT, RESULTS
from benchmarks.coverage.report import table as coverage_table
from benchmarks.debates.report import tables as debates_tables
from benchmarks.downstream.report import sections as downstream_sections
from benchmarks.embedding.report import table as embedding_table
from benchmarks.engines.report import tables as engines_tables
from benchmarks.judge_pools.report import tables as judge_pools_tables
from benchmarks.latency.report import tables as latency_tables
from benchmarks.list_judge.pairs import table as list_judge_pairs
from benchmarks.list_judge.report import tables as list_judge_tables
from benchmarks.load.outage import outage_table
from benchmarks.load.report import SERVED
from benchmarks.load.report import table as load_table
from benchmarks.overhead.report import table as overhead_table
from benchmarks.perspective_detection.report import tables as detection_tables
from benchmarks.pir.adaptive_report import sections as adaptive_sections
from benchmarks.pir.report import sections as pir_sections
from benchmarks.plan.report import tables as plan_tables
from benchmarks.question_forms.__main__ import table as question_forms_table
from benchmarks.scale.report import tables as scale_tables
from benchmarks.sides.report import (
    claim_table,
    labelled_sets_table,
    labelled_table,
    long_table,
    stage_table,
)
from benchmarks.sides.report import tables as sides_tables
from benchmarks.soak.report import table as soak_table
from benchmarks.vllm.report import table as vllm_table


def coverage(document: Mapping[str, Any]) -> str:
    """The table of ``benchmarks.coverage`` and what it says in words."""
    results = document["results"]
    table = coverage_table(results, f"{results['questions']} questions, 95% intervals")
    return f"{table.markdown()}\n{results['statement']}\n"


def embedding(document: Mapping[str, Any]) -> str:
    """The table of ``benchmarks.embedding``."""
    return embedding_table(document["results"]).markdown()


def list_judge(document: Mapping[str, Any]) -> str:
    """The tables of ``benchmarks.list_judge``."""
    measured = document["results"]
    shown = list_judge_tables(measured["sets"], measured["model"])
    if "pairs" in measured:
        shown.append(list_judge_pairs(measured["pairs"]))
    return "\n".join(table.markdown() for table in shown)


def latency(document: Mapping[str, Any]) -> str:
    """The tables of ``benchmarks.latency``."""
    return "\n".join(table.markdown() for table in latency_tables(document["results"]))


def perspective_detection(document: Mapping[str, Any]) -> str:
    """The tables of ``benchmarks.perspective_detection``."""
    return "\n".join(table.markdown() for table in detection_tables(document["results"]))


def load(document: Mapping[str, Any]) -> str:
    """The table of ``benchmarks.load``."""
    return load_table(document["results"]).markdown()


def load_serve(document: Mapping[str, Any]) -> str:
    """The table of ``benchmarks.load --serve``."""
    return load_table(document["results"], title=SERVED).markdown()


def load_outage(document: Mapping[str, Any]) -> str:
    """The table of ``benchmarks.load --outage``."""
    return outage_table(document["results"]).markdown()


def overhead(document: Mapping[str, Any]) -> str:
    """The table of ``benchmarks.overhead``."""
    return overhead_table(document["results"]).markdown()


def debates(document: Mapping[str, Any]) -> str:
    """The tables of ``benchmarks.debates``."""
    return "\n".join(table.markdown() for table in debates_tables(document["results"]))


def engines(document: Mapping[str, Any]) -> str:
    """The tables of ``benchmarks.engines``."""
    return "\n".join(table.markdown() for table in engines_tables(document["results"]))


def plan(document: Mapping[str, Any]) -> str:
    """The tables of ``benchmarks.plan``."""
    return "\n".join(table.markdown() for table in plan_tables(document))


def sides(document: Mapping[str, Any]) -> str:
    """The tables of ``benchmarks.sides``."""
    title = f"{document['data']['name']}, {document['data']['questions']} questions, 95% intervals"
    return "\n".join(table.markdown() for table in sides_tables(document["results"], title))


def board_summary(document: Mapping[str, Any]) -> str:
    """What the board says of sets that nothing was tuned on."""
    return board_summary_table(document["results"]).markdown().partition("\n\n")[2]


def sides_stages(document: Mapping[str, Any]) -> str:
    """Where ``benchmarks.sides --stages`` finds sides lost."""
    title = f"{document['data']['questions']} questions, k = {document['config']['k']}"
    return stage_table(document["results"], title).markdown()


def sides_lacking(document: Mapping[str, Any]) -> str:
    """What ``benchmarks.sides --lacking`` finds claimed."""
    title = f"{document['data']['questions']} questions, k = {document['config']['k']}"
    return claim_table(document["results"]["over"], title).markdown()


def sides_long(document: Mapping[str, Any]) -> str:
    """What ``benchmarks.sides --long`` finds in long chunks."""
    found, words = document["results"], document["config"]["words"]
    title = f"{found['chunks']} passages that take a side, in chunks of about {words} words"
    return long_table(found, title).markdown()


def sides_labelled(document: Mapping[str, Any]) -> str:
    """The questions that ``benchmarks.sides --labels`` scored."""
    data, k = document["data"], document["config"]["k"]
    title = f"{data['questions']} questions over {data['passages']:,} passages, 95% intervals"
    found = document["results"]
    tables = (labelled_table(found, title, k), labelled_sets_table(found, "By set", k))
    return "\n".join(table.markdown() for table in tables)


def answers(document: Mapping[str, Any]) -> str:
    """The tables of ``benchmarks.answers``."""
    return "\n".join(table.markdown() for table in answers_tables(document["results"]))


def deeptrace(document: Mapping[str, Any]) -> str:
    """The table of ``benchmarks.answers.deeptrace``."""
    return deeptrace_table(document["results"]["rows"]).markdown()


def judge_pools(document: Mapping[str, Any]) -> str:
    """The tables of ``benchmarks.judge_pools``."""
    return "\n".join(table.markdown() for table in judge_pools_tables(document["results"]))


def vllm(document: Mapping[str, Any]) -> str:
    """The table of ``benchmarks.vllm``."""
    return vllm_table(document["results"], pairs=document["config"]["pairs"]).markdown()


def question_forms(document: Mapping[str, Any]) -> str:
    """The tables of ``benchmarks.question_forms``."""
    return question_forms_table(document["results"]).markdown()


def scale(document: Mapping[str, Any]) -> str:
    """The tables of ``benchmarks.scale``."""
    found = document["results"]["measured"]
    return "\n".join(table.markdown() for table in scale_tables(found))


def soak(document: Mapping[str, Any]) -> str:
    """The table of ``benchmarks.soak``."""
    return soak_table(document["results"]).markdown()


SECTIONS: Mapping[str, tuple[str, Callable[[Mapping[str, Any]], str]]] = {
    "answers": ("answers-debates", answers),
    "answers-deeptrace": ("answers-deeptrace", deeptrace),
    "answers-small-model": ("answers-debates-smollm2-135m-instruct", answers),
    "board": ("board", board),
    "board-summary": ("board", board_summary),
    "coverage": ("coverage", coverage),
    "coverage-ablation": ("coverage_ablation", coverage),
    "coverage-topics": ("coverage_topics", coverage),
    "debates": ("debates", debates),
    "embedding": ("embedding", embedding),
    "engines": ("engines", engines),
    "engines-million": ("engines_million", engines),
    "judge_pools": ("judge_pools", judge_pools),
    "judge_pools-before": ("judge_pools-before", judge_pools),
    "latency": ("latency", latency),
    "list_judge": ("list_judge", list_judge),
    "load": ("load", load),
    "load-outage": ("load_outage", load_outage),
    "load-serve": ("load_serve", load_serve),
    "overhead": ("overhead", overhead),
    "perspective_detection": ("perspective_detection", perspective_detection),
    "plan": ("plan", plan),
    "question_forms": ("question_forms", question_forms),
    "scale": ("scale", scale),
    "sides": ("sides", sides),
    "sides-labelled": ("sides_labelled", sides_labelled),
    "sides-lacking": ("sides_lacking", sides_lacking),
    "sides-long": ("sides_long", sides_long),
    "sides-stages": ("sides_stages", sides_stages),
    "vllm": ("vllm", vllm),
    "soak": ("soak", soak),
}
"""For each section the results it is made of, and how."""

DOCUMENTS = ("README.md", "docs/**/*.md", "benchmarks/*/*.md")
"""Where documents with blocks to fill are."""


def bodies(results: Path) -> dict[str, str]:
    """What each section is to say."""
    found = {
        **pir_sections(results),
        **adaptive_sections(results),
        **downstream_sections(results),
        **berds_sections(results),
    }
    for name, (source, section) in SECTIONS.items():
        path = results / f"{source}.json"
        if path.is_file():
            document = json.loads(path.read_text(encoding="utf-8"))
            command = f"`{document['command']}`, {document['date'][:10]}"
            found[name] = f"{command}:\n\n{section(document)}"
    return found


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Rewrites the documents, or with ``--check`` says by exit status 1 that one is out of date."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks report", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 if outdated")
    return run_command(arguments, parser, _run, console)


def _run(options: argparse.Namespace, given: list[str], console: Console) -> int:
    paths = sorted({path for pattern in DOCUMENTS for path in CHECKOUT.glob(pattern)})
    changed = fill(paths, bodies(RESULTS), check=options.check)
    for path in changed:
        said = "out of date" if options.check else "written"
        console.print(f"{path.relative_to(CHECKOUT)}: {said}", highlight=False)
    return int(bool(changed)) if options.check else 0


if __name__ == "__main__":
    sys.exit(main())
