"""The passages of a result in a terminal: a panel for each side, in a row if it is wide."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from perspective_rag.answer.groups import Groups, grouped
from perspective_rag.answer.reported import only_reports
from perspective_rag.answer.standing import leaning_only, one_source
from perspective_rag.reporting.terminal import linked
from perspective_rag.results import RetrievalResult
from perspective_rag.serve.metadata import origin_of
from perspective_rag.text import printable
from perspective_rag.types import Candidate, Perspective

LONGEST = 280
_FRAME = 6  # columns of a panel around its title
_STANCES = {"support": "for", "oppose": "against"}
NARROWEST = 44
"""Columns of a terminal below which a side gets no panel beside another."""


def show_passages(result: RetrievalResult, console: Console) -> None:
    """Every passage once: under its side, or with those that take none."""
    groups = grouped(result)
    if result.coverage is not None and result.perspectives:
        count = len(result.perspectives)
        row = count > 1 and console.width // count >= NARROWEST
        width = console.width // count if row else console.width
        sides = [_side(result, each, groups, width) for each in result.perspectives]
        _shown(sides, console, row=row)
    others = "Passages" if result.coverage is None else "Also found, taking no side"
    for places, title, style in (
        (groups.mixed, "Mixed: argues for and against", "magenta"),
        (groups.leaning, "May bear on this, taking no clear side", "dim"),
        (groups.silent, others, "dim"),
        (groups.unrelated, "Nearest passages, perhaps not about the question", "dim"),
    ):
        if places:
            table = _table(result, places)
            console.print(Panel(table, title=title, title_align="left", border_style=style))


def show_side(result: RetrievalResult, perspective: Perspective, console: Console) -> None:
    """The passages of one side alone."""
    console.print(_side(result, perspective, grouped(result), console.width))


def heading(candidate: Candidate) -> Text:
    """Title, as a link where the passage has an address, and source of a passage."""
    origin = origin_of(candidate.passage)
    text = Text(end="")
    text.append_text(linked(origin.title or candidate.passage.id, origin.url))
    text.stylize("bold")
    further = [each for each in (origin.source, origin.date) if each and each != origin.title]
    if further:
        text.append(f" ({', '.join(further)})", style="dim")
    if only_reports(candidate.passage.text):
        text.append(" (reports what others say)", style="dim")
    return text


def _shown(panels: Sequence[RenderableType], console: Console, *, row: bool) -> None:
    """In one row, or one below the other."""
    if not row:
        for panel in panels:
            console.print(panel)
        return
    grid = Table.grid(expand=True)
    for _ in panels:
        grid.add_column(ratio=1)
    grid.add_row(*panels)
    console.print(grid)


def _side(result: RetrievalResult, perspective: Perspective, groups: Groups, width: int) -> Panel:
    """The panel of a side; a statement that is too long for its title stands in it."""
    places = groups.listed[perspective.id]
    text = Text(printable(perspective.text), style="bold")
    inside: RenderableType = _table(result, places) if places else _searched(result, perspective)
    title = text
    if cell_len(text.plain) > width - _FRAME:
        number = result.perspectives.index(perspective) + 1
        title = Text(_STANCES.get(perspective.stance or "", f"side {number}"), style="bold")
        inside = Group(Padding(text, (0, 1)), inside)
    one = one_source([result.candidates[i] for i in places])
    # Where everything is from one source the line on top says so.
    rests = one and not one_source(result.candidates)
    return Panel(
        inside,
        title=title,
        title_align="left",
        border_style="cyan" if places else "yellow",
        subtitle="all from one source" if rests else None,
        subtitle_align="right",
    )


def _searched(result: RetrievalResult, perspective: Perspective) -> str:
    """That nothing clear was found, and the searches that were made for it."""
    assert result.coverage is not None
    open_still = any(each.id == perspective.id for each in result.coverage.unjudged)
    said = "No passage was found that supports this"
    if leaning_only(result):
        said = "Nothing clear enough was found for this"
    said += "; some could not be judged." if open_still else "."
    queries = [q for q in result.trace.queries if q.perspective == perspective.id]
    return f"{said} [dim]{counted(len(queries), 'search', 'searches')} looked for it.[/dim]"


def _table(result: RetrievalResult, places: Sequence[int]) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1), expand=True)
    table.add_column(justify="right", style="cyan", no_wrap=True)
    table.add_column(ratio=1)
    for place in places:
        candidate = result.candidates[place]
        text = heading(candidate)
        text.append("\n" + shortened(candidate.passage.text, LONGEST))
        table.add_row(f"\\[{place + 1}]", text)
    return table


def counted(number: int, one: str, many: str) -> str:
    """ "1 search", "2 searches"."""
    return f"{number} {one if number == 1 else many}"


def shortened(text: str, length: int) -> str:
    """The beginning of a text, printable, cut at a space."""
    line = printable(text)
    return line if len(line) < length else line[: length - 1].rsplit(" ", 1)[0] + " …"
