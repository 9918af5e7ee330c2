"""A result and its answer in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from perspective_rag.corpus import Corpus
from perspective_rag.types import Answer, Candidate, RetrievalResult

PROBLEMS_SHOWN = 5


def show(result: RetrievalResult, answer: Answer, console: Console) -> None:
    """The passages of each perspective, the answer with its citations, and what stayed open."""
    numbers = {c.passage.id: n for n, c in enumerate(result.candidates, start=1)}
    console.print()
    console.rule(f"[bold]{escape(result.question)}")
    if any(each.get("verdict") == "no perspectives" for each in result.trace.decisions):
        console.print("[dim]No perspectives to cover: searched as it is.[/dim]")
    if any(each["stage"] == "discover" for each in result.trace.decisions):
        console.print("[dim]The question names no sides: these are the passages' own.[/dim]")
    if not result.candidates:
        console.print("[yellow]No passage was found.[/yellow]")
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
