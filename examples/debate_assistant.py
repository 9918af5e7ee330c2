"""Ask a contentious question and see every side, with the passages that prove it.

python examples/debate_assistant.py --question "Should zoos be closed?"
python examples/debate_assistant.py --corpus my_passages.jsonl.gz          # opens a chat
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from perspective_rag import (
    Answer,
    Candidate,
    Corpus,
    GroundedAnswerer,
    LLMExtractor,
    OpenAICompatibleLLM,
    PerspectivePipeline,
    PerspectiveRAGError,
    RetrievalResult,
    RuleExtractor,
    local_pipeline,
)

SAMPLE = Path(__file__).parent / "debates" / "passages.jsonl"
CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "perspective-rag"
PROBLEMS_SHOWN = 5


def build(options: argparse.Namespace, corpus: Corpus, console: Console) -> PerspectivePipeline:
    """Everything on this machine; a language model only when one is named."""
    parts: dict[str, Any] = {}
    if options.llm:
        llm = OpenAICompatibleLLM(options.llm, base_url=options.base_url)
        parts["extractor"] = LLMExtractor(llm, fallback=RuleExtractor())
        parts["answerer"] = GroundedAnswerer(llm)
    columns = (TextColumn("embedding"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(corpus), visible=options.dense)
        return local_pipeline(
            corpus,
            cache=options.cache,
            dense=options.dense,
            on_progress=lambda done, total: progress.update(task, completed=done, total=total),
            k=options.k,
            strict=options.strict,
            **parts,
        )


def ask(
    pipeline: PerspectivePipeline, question: str, perspectives: list[str] | None
) -> tuple[RetrievalResult, Answer]:
    """The passages for a question, and the answer that rests on them."""
    result = pipeline.retrieve(question, perspectives=perspectives)
    return result, pipeline.answer(result)


def show(result: RetrievalResult, answer: Answer, console: Console) -> None:
    """The passages of each perspective, the answer with its citations, and what stayed open."""
    numbers = {c.passage.id: n for n, c in enumerate(result.candidates, start=1)}
    console.print()
    console.rule(f"[bold]{escape(result.question)}")
    shown: set[str] = set()
    for perspective in result.perspectives:
        supporting = result.supporting(perspective)
        shown.update(c.passage.id for c in supporting)
        title = f"[bold]{escape(perspective.text)}"
        if supporting:
            table = _table(
                supporting, numbers, {c.passage.id: c.support[perspective.id] for c in supporting}
            )
            console.print(Panel(table, title=title, title_align="left", border_style="cyan"))
        else:
            console.print(
                Panel(
                    "No passage was found that supports this.",
                    title=title,
                    title_align="left",
                    border_style="yellow",
                )
            )
    others = [c for c in result.candidates if c.passage.id not in shown]
    if others:
        title = "Also found, taking no side" if result.perspectives else "Passages"
        table = _table(others, numbers, {c.passage.id: c.score for c in others})
        console.print(Panel(table, title=title, title_align="left", border_style="dim"))
    for claim in answer.claims:
        marks = "".join(f"\\[{numbers[i]}]" for i in claim.citations)
        console.print(f"• {escape(claim.text)} [cyan]{marks}[/cyan]")
    for perspective in answer.unsupported:
        text = escape(perspective.text)
        console.print(f"• [yellow]Nothing in this corpus was found to support:[/yellow] {text}")
    _show_trace(result, answer, console)


def _table(
    candidates: Sequence[Candidate], numbers: dict[str, int], scores: dict[str, float]
) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1), expand=True)
    table.add_column(justify="right", style="cyan", no_wrap=True)
    table.add_column(justify="right", style="green", no_wrap=True)
    table.add_column(ratio=1)
    for candidate in candidates:
        passage = candidate.passage
        source = escape(str(passage.metadata.get("source") or passage.id))
        head = f"[bold]{escape(passage.title or passage.id)}[/bold] [dim]({source})[/dim]"
        text = (
            passage.text if len(passage.text) < 280 else passage.text[:279].rsplit(" ", 1)[0] + " …"
        )
        mark = f"\\[{numbers[passage.id]}]"
        table.add_row(mark, f"{scores[passage.id]:.2f}", f"{head}\n{escape(text)}")
    return table


def _show_trace(result: RetrievalResult, answer: Answer, console: Console) -> None:
    trace = result.trace
    seconds = sum(trace.seconds.values()) + sum(answer.trace.seconds.values())
    console.print(
        f"[dim]{len(trace.queries)} queries, {trace.counts.get('judged_pairs', 0)} pairs judged, "
        f"{seconds:.1f} s[/dim]"
    )
    for degradation in (*trace.degradations, *answer.trace.degradations):
        console.print(
            f"[yellow]{escape(degradation.stage)}: {escape(degradation.message)}[/yellow]"
        )


def show_problems(corpus: Corpus, console: Console) -> None:
    """The lines that could not be read: the first few, and how many in all."""
    for problem in corpus.problems[:PROBLEMS_SHOWN]:
        console.print(f"[yellow]{escape(str(problem))}[/yellow]")
    if corpus.problems:
        count = len(corpus.problems)
        console.print(f"[yellow]{count} could not be read; {len(corpus)} passages were[/yellow]")


def chat(pipeline: PerspectivePipeline, console: Console) -> None:
    """Questions until /quit or the end of the input."""
    console.print("Ask a question.")
    console.print("[dim]/sides A | B: set the perspectives, /auto: find them, /quit: end[/dim]")
    perspectives: list[str] | None = None
    while True:
        try:
            line = console.input("[bold cyan]> [/bold cyan]").strip()
        except (EOFError, KeyboardInterrupt):
            return
        if line in {"/quit", "/exit"}:
            return
        if line.startswith("/sides"):
            perspectives = [
                side.strip() for side in line[len("/sides") :].split("|") if side.strip()
            ] or None
        elif line == "/auto":
            perspectives = None
        elif line.startswith("/"):
            console.print("[yellow]Commands: /sides A | B, /auto, /quit[/yellow]")
        elif line:
            try:
                show(*ask(pipeline, line, perspectives), console)
            except PerspectiveRAGError as error:
                console.print(f"[red]{escape(str(error))}[/red]")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        default=SAMPLE,
        help="JSONL (.gz), CSV, or a folder of texts (default: the sample debates)",
    )
    parser.add_argument("--question", help="answer this once and exit; without it a chat opens")
    parser.add_argument(
        "--perspective",
        action="append",
        metavar="TEXT",
        help="a side to cover; repeat for each (default: found in the question)",
    )
    parser.add_argument("--json", action="store_true", help="print the whole result as JSON")
    parser.add_argument(
        "--dense", action="store_true", help="embed the whole corpus first and search by vector"
    )
    parser.add_argument(
        "--cache", type=Path, default=CACHE, help=f"where indexes are kept (default: {CACHE})"
    )
    parser.add_argument("-k", type=int, default=6, help="passages to show (default: 6)")
    parser.add_argument(
        "--llm", metavar="MODEL", help="a language model for perspectives and answer"
    )
    parser.add_argument(
        "--base-url", metavar="URL", help="its OpenAI-compatible server (vLLM, Ollama, ...)"
    )
    parser.add_argument(
        "--strict", action="store_true", help="stop at anything that failed instead of reporting it"
    )
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the assistant; 0, or 1 after an error that was shown in one line."""
    options = parse(arguments)
    console = Console(stderr=options.json)
    try:
        with console.status("reading the corpus"):
            corpus = Corpus.load(options.corpus)
        show_problems(corpus, console)
        pipeline = build(options, corpus, console)
        if not options.question:
            chat(pipeline, console)
            return 0
        result, answer = ask(pipeline, options.question, options.perspective)
    except PerspectiveRAGError as error:
        console.print(f"[red]{escape(str(error))}[/red]")
        return 1
    except KeyboardInterrupt:
        console.print("[yellow]interrupted; what was embedded is kept[/yellow]")
        return 130
    if options.json:
        document = {"result": result.to_dict(), "answer": answer.to_dict()}
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        show(result, answer, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
