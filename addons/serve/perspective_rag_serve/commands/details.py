"""Why a passage is in an answer, and the sources of an answer, in a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from perspective_rag import RetrievalResult
from perspective_rag.addons import origin_of, printable
from perspective_rag.commands import heading

_SAID = {
    "clear": "supports it",
    "leaning": "not sorted: perhaps it supports it, the judge cannot tell",
    "mixed": "argues for and against it",
    "silent": "does not support it",
    "unsorted": "not sorted: the judge cannot tell",
}


def show_why(result: RetrievalResult, place: int, console: Console) -> None:
    """The verdicts on a passage with their probabilities, its scores, and what found it."""
    candidate = result.candidates[place]
    console.print(Text(f"[{place + 1}] ", style="cyan"), heading(candidate), end="\n", sep="")
    console.print(Text(printable(candidate.passage.text)))
    verdicts = result.verdicts_on(candidate)
    for each in result.perspectives:
        if each.id not in verdicts:
            continue
        known = candidate.support.get(each.id)
        judged = "not judged" if known is None else f"P(support) {known:.2f}"
        said = _SAID[verdicts[each.id]] if known is not None else "nobody could say"
        console.print(Text(f"• {printable(each.text)}: {said} ({judged})"))
    if not verdicts:
        console.print(Text("• nothing was judged"))
    relevance = candidate.scores.get("relevance")
    if relevance is not None:
        console.print(Text(f"• similarity to the question: {relevance:.2f}"))
    for query in candidate.found_by:
        console.print(Text(f"• found by the search: {printable(query)}"))


def show_sources(result: RetrievalResult, console: Console) -> None:
    """One line a passage: its number, title, source, date and address."""
    table = Table(box=None, show_header=False, padding=(0, 1))
    table.add_column(justify="right", style="cyan", no_wrap=True)
    table.add_column()
    for number, candidate in enumerate(result.candidates, start=1):
        text = heading(candidate)
        url = origin_of(candidate.passage).url
        if url is not None:
            text.append(f"\n{url}", style="dim")
        table.add_row(f"\\[{number}]", text)
    console.print(table)
