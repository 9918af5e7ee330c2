"""A result and its answer in a terminal: the answer first, then the passages that prove it.

Nothing shown can steer the terminal: all output goes through ``SafeConsole``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.panel import Panel
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from perspective_rag.answer import standing
from perspective_rag.answer.passages import (
    citation_keys,
    excerpt,
    origin_of,
    span_of,
    without_headings,
)
from perspective_rag.answer.sentences import only_reports
from perspective_rag.answer.standing import Groups, grouped
from perspective_rag.local.corpus import Corpus
from perspective_rag.text import printable
from perspective_rag.types import Answer, Candidate, Claim, Perspective, RetrievalResult

Proofs = Mapping[tuple[int, str], str]
"""Sentences of ``supporting_sentences``."""

LONGEST = 420
"""Characters of a passage that are shown around the sentence that proves it."""

NARROWEST = 44
"""Columns of a terminal below which a side gets no panel beside another."""

PROBLEMS_SHOWN = 5
HOW_TO_CHANGE = "to name other sides: --perspective TEXT, repeated"
_FRAME = 6  # columns of a panel around its title
_STANCES = {"support": "for", "oppose": "against"}
# No user before the host, which would hide it; ASCII alone, so that no letter looks like another.
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]{1,255}(?:[/?#][!-~]{0,1800})?")


class SafeConsole(Console):
    """A rich console that shows no control characters of a text, wherever the text is from.

    Passages, titles, questions and error messages all pass here; ``text.printable`` says what is
    left out. Links are those of ``linked`` alone: mark-up in a text makes none.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments, with printable text and checked links only; rich's own codes stay."""
        for segment in super().render(renderable, options):
            style = segment.style
            if segment.control:
                yield segment
                continue
            if style is not None and style.link is not None:
                checked = style.meta.get("checked link") is True and _ADDRESS.fullmatch(style.link)
                style = style if checked else style.update_link(None)
            yield Segment(printable(segment.text), style)


def linked(text: str, url: str | None) -> Text:
    """A text that opens an address of http or https where the terminal can (OSC 8); plain for any
    other address.
    """
    if url is None or not _ADDRESS.fullmatch(url):
        return Text(printable(text))
    return Text(printable(text), style=Style(link=url, meta={"checked link": True}))


def safe(text: str) -> str:
    """A text without control characters, as mark-up that shows it as it is."""
    return escape(printable(text))


def counted(number: int, one: str, many: str) -> str:
    """ "1 search", "2 searches"."""
    return f"{number} {one if number == 1 else many}"


def progress_bars(
    console: Console, *, transient: bool = True, in_bytes: bool = False, rate: str = ""
) -> Progress:
    """Bars with what is done, how much of how much, and the time left.

    ``transient`` bars are gone when all is done; ``in_bytes`` shows amounts as file sizes; ``rate``
    names what is counted, and its number a second is shown.
    """

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f} {rate}/s" if rate and task.speed else "")

    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn(), Rate())
    return Progress(*columns, console=console, transient=transient)


def show(
    result: RetrievalResult,
    answer: Answer,
    console: Console,
    proofs: Proofs | None = None,
    *,
    full: bool = False,
    change: str = HOW_TO_CHANGE,
) -> None:
    """How the question was read, how the corpus stands, the answer, the passages of each side.

    ``proofs`` and ``full`` as in ``show_passages``; ``change`` tells how another reading is asked
    for. Verdicts are words; the probabilities are in the result's JSON form.
    """
    show_opening(result, console, change=change)
    claims = Claims(result, console)
    for claim in answer.claims:
        claims.show(claim)
    show_missing(answer, console)
    show_passages(result, console, proofs, full=full)
    show_trace(result, answer, console)


def show_opening(result: RetrievalResult, console: Console, *, change: str) -> None:
    """The question, how it was read and how the corpus stands to it."""
    console.print()
    console.rule(f"[bold]{safe(result.question)}")
    reading = result.reading
    texts = [each.text.rstrip(" .") for each in result.perspectives]
    if not reading and texts:
        reading = f"I understood: {' / '.join(map(repr, texts))}"
    elif len(texts) > 2 and all(text in reading for text in texts):
        reading = f"I understood {len(texts)} sides"  # which stand below, twice already
    if reading:
        console.print(f"{safe(reading)} [dim]({safe(change)})[/dim]", highlight=False)
    if result.caution:
        console.print(f"[yellow]{safe(result.caution)}[/yellow]", highlight=False)
    if not result.perspectives:
        console.print("[dim]No sides were looked for.[/dim]")
    if any(each["stage"] == "discover" for each in result.trace.decisions):
        console.print("[dim]The question names no sides: these are the passages' own.[/dim]")
    if stands := standing.standing(result):
        console.print(f"[bold]{safe(stands)}[/bold]", highlight=False)


class Claims:
    """Shows claims one by one, each new side under its heading."""

    def __init__(self, result: RetrievalResult, console: Console) -> None:
        self._console = console
        keys = citation_keys(result.candidates)
        self._numbers = {key: n for n, key in enumerate(keys, start=1)}
        self._texts = {each.id: side_name(result, each) for each in result.perspectives}
        self._strength = standing.strengths(result)
        self._side: str | None = None

    def show(self, claim: Claim) -> None:
        """A claim with the numbers of the passages it rests on."""
        side = claim.perspective if claim.perspective in self._texts else None
        if side != self._side:
            strength = self._strength.get(side or "", "")
            known = f" [dim]({safe(strength)})[/dim]" if strength else ""
            text = self._texts[side] if side is not None else "Besides"
            self._console.print(f"[bold]{safe(text)}[/bold]{known}", highlight=False)
        self._side = side
        marks = "".join(f"\\[{self._numbers[k]}]" for k in claim.citations if k in self._numbers)
        notes = " [dim](reported)[/dim]" if claim.reported else ""
        if claim.verified is False:
            notes += " [yellow](not borne out by what it cites)[/yellow]"
        line = f"• {safe(claim.text)}{notes} [cyan]{marks}[/cyan]"
        self._console.print(line, highlight=False)


def show_missing(answer: Answer, console: Console) -> None:
    """What a language model found that no passage says."""
    for text in answer.missing:
        console.print(f"[dim]No passage says:[/dim] {safe(text)}", highlight=False)


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
        passages = _Passages(result, proofs or {}, full)
        sides = [passages.side(each, groups, width) for each in result.perspectives]
        if row:
            grid = Table.grid(expand=True)
            for _ in sides:
                grid.add_column(ratio=1)
            grid.add_row(*sides)
            console.print(grid)
        else:
            for side in sides:
                console.print(side)
    for title, places in groups.others:
        table = _Passages(result, {}, full).table(places)
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
    passages = _Passages(result, proofs or {}, full)
    console.print(passages.side(perspective, grouped(result), console.width))


def show_trace(result: RetrievalResult, answer: Answer, console: Console) -> None:
    """What it took, and what went wrong."""
    trace = result.trace
    seconds = sum(trace.seconds.values()) + sum(answer.trace.seconds.values())
    console.print(
        f"[dim]{counted(len(trace.queries), 'search', 'searches')}, "
        f"{counted(trace.counts.get('judged_pairs', 0), 'pair', 'pairs')} of passage and side "
        f"judged, {seconds:.1f} s[/dim]",
        highlight=False,
    )
    for degradation in (*trace.degradations, *answer.trace.degradations):
        console.print(f"[yellow]{safe(degradation.stage)}: {safe(degradation.message)}[/yellow]")


def show_problems(corpus: Corpus, console: Console) -> None:
    """The lines that could not be read: the first few, and how many in all."""
    for problem in corpus.problems[:PROBLEMS_SHOWN]:
        console.print(f"[yellow]{safe(str(problem))}[/yellow]")
    if corpus.problems:
        count = corpus.problem_count
        console.print(f"[yellow]{count} could not be read; {len(corpus)} passages were[/yellow]")


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


@dataclass(frozen=True, slots=True)
class _Passages:
    """The passages of a result in panels and tables."""

    result: RetrievalResult
    proofs: Proofs
    full: bool

    def side(self, perspective: Perspective, groups: Groups, width: int) -> Panel:
        """The panel of a side; a statement that is too long for its title stands in it."""
        result = self.result
        places = groups.listed[perspective.id]
        text = Text(side_name(result, perspective), style="bold")
        if places:
            inside: RenderableType = self.table(places, perspective)
        else:
            queries = [q for q in result.trace.queries if q.perspective == perspective.id]
            searches = counted(len(queries), "search", "searches")
            inside = f"{standing.nothing_for(result)} [dim]{searches} looked for it.[/dim]"
        title = text
        if cell_len(text.plain) > width - _FRAME:
            number = result.perspectives.index(perspective) + 1
            title = Text(_STANCES.get(perspective.stance or "", f"side {number}"), style="bold")
            inside = Group(Padding(text, (0, 1)), inside)
        one = standing.one_source([result.candidates[i] for i in places])
        # Where everything is from one source the line on top says so.
        rests = one and not standing.one_source(result.candidates)
        return Panel(
            inside,
            title=title,
            title_align="left",
            border_style="cyan" if places else "yellow",
            subtitle="all from one source" if rests else None,
            subtitle_align="right",
        )

    def table(self, places: Sequence[int], perspective: Perspective | None = None) -> Table:
        """Passages with number, heading and text."""
        table = Table(box=None, show_header=False, padding=(0, 1), expand=True)
        table.add_column(justify="right", style="cyan", no_wrap=True)
        table.add_column(ratio=1)
        for place in places:
            text = heading(self.result.candidates[place])
            text.append("\n").append_text(self._text(place, perspective))
            table.add_row(f"\\[{place + 1}]", text)
        return table

    def _text(self, place: int, perspective: Perspective | None) -> Text:
        """The passage, or what stands around the sentence that proves its side, marked."""
        candidate, side = self.result.candidates[place], perspective.id if perspective else ""
        text = without_headings(printable(candidate.passage.text)).strip()
        quoted = candidate.proofs.get(side)
        proof = self.proofs.get((place, side)) if quoted is None else quoted.of(candidate.passage)
        span = span_of(proof, text) if proof else None
        shown, span = (text, span) if self.full else excerpt(text, span, LONGEST)
        told = Text(shown)
        if span is not None:
            told.stylize("bold underline", *span)
        return told
