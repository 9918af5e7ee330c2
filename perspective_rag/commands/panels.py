"""The passages of a result in a terminal: a panel for each side, in a row if it is wide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from perspective_rag.answer import standing
from perspective_rag.answer.excerpts import excerpt, span_of, without_headings
from perspective_rag.answer.groups import Groups, grouped
from perspective_rag.answer.reported import only_reports
from perspective_rag.answer.standing import nothing_for, one_source
from perspective_rag.reporting.origins import origin_of
from perspective_rag.reporting.terminal import linked
from perspective_rag.text import printable
from perspective_rag.types import Candidate, Perspective, RetrievalResult

LONGEST = 420
"""Characters of a passage that are shown around the sentence that proves it."""

Proofs = Mapping[tuple[int, str], str]
"""Sentences of ``supporting_sentences``."""

_FRAME = 6  # columns of a panel around its title
_STANCES = {"support": "for", "oppose": "against"}
NARROWEST = 44
"""Columns of a terminal below which a side gets no panel beside another."""


def show_passages(
    result: RetrievalResult,
    console: Console,
    proofs: Proofs | None = None,
    *,
    full: bool = False,
) -> None:
    """Every passage once: under its side, or with those that stand under none.

    The sentence of ``proofs`` is marked in its context; ``full``: the whole passage.
    """
    groups = grouped(result)
    if any(groups.listed.values()):  # else the line on top says that none is sorted
        count = len(result.perspectives)
        row = count > 1 and console.width // count >= NARROWEST
        width = console.width // count if row else console.width
        excerpts = _Excerpts(result, proofs or {}, full)
        sides = [_side(excerpts, each, groups, width) for each in result.perspectives]
        _shown(sides, console, row=row)
    for title, places in groups.others:
        table = _table(_Excerpts(result, {}, full), places)
        console.print(Panel(table, title=title, title_align="left", border_style="dim"))


def show_side(
    result: RetrievalResult,
    perspective: Perspective,
    console: Console,
    proofs: Proofs | None = None,
    *,
    full: bool = False,
) -> None:
    """The passages of one side alone."""
    excerpts = _Excerpts(result, proofs or {}, full)
    console.print(_side(excerpts, perspective, grouped(result), console.width))


def side_name(result: RetrievalResult, perspective: Perspective) -> str:
    """ "For" or "Against" where the line on top says for and against what, else the statement."""
    texts = [each.text.rstrip(" .") for each in result.perspectives]
    told = all(text in result.reading for text in texts)
    return printable(standing.side_name(result, perspective) if told else perspective.text)


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


@dataclass(frozen=True, slots=True)
class _Excerpts:
    """What is shown of each passage of a result."""

    result: RetrievalResult
    proofs: Proofs
    full: bool

    def of(self, place: int, perspective: Perspective | None) -> Text:
        """The passage, or what stands around the sentence that proves its side, marked."""
        text = without_headings(printable(self.result.candidates[place].passage.text)).strip()
        candidate, side = self.result.candidates[place], perspective.id if perspective else ""
        quoted = candidate.proofs.get(side)
        proof = self.proofs.get((place, side)) if quoted is None else quoted.of(candidate.passage)
        span = span_of(proof, text) if proof else None
        shown, span = (text, span) if self.full else excerpt(text, span, LONGEST)
        told = Text(shown)
        if span is not None:
            told.stylize("bold underline", *span)
        return told


def _side(excerpts: _Excerpts, perspective: Perspective, groups: Groups, width: int) -> Panel:
    """The panel of a side; a statement that is too long for its title stands in it."""
    result = excerpts.result
    places = groups.listed[perspective.id]
    text = Text(side_name(result, perspective), style="bold")
    inside: RenderableType = _searched(result, perspective)
    if places:
        inside = _table(excerpts, places, perspective)
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
    """That no passage is sorted under it, and the searches that were made for it."""
    queries = [q for q in result.trace.queries if q.perspective == perspective.id]
    searches = counted(len(queries), "search", "searches")
    return f"{nothing_for(result)} [dim]{searches} looked for it.[/dim]"


def _table(
    excerpts: _Excerpts, places: Sequence[int], perspective: Perspective | None = None
) -> Table:
    table = Table(box=None, show_header=False, padding=(0, 1), expand=True)
    table.add_column(justify="right", style="cyan", no_wrap=True)
    table.add_column(ratio=1)
    for place in places:
        text = heading(excerpts.result.candidates[place])
        text.append("\n").append_text(excerpts.of(place, perspective))
        table.add_row(f"\\[{place + 1}]", text)
    return table


def counted(number: int, one: str, many: str) -> str:
    """ "1 search", "2 searches"."""
    return f"{number} {one if number == 1 else many}"
