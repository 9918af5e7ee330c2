"""A result and its answer in a terminal: the answer first, then the passages that prove it."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape

from perspective_rag.answer.citations import citation_keys
from perspective_rag.answer.standing import standing, strengths
from perspective_rag.commands.panels import Proofs, counted, show_passages, side_name
from perspective_rag.local.corpus import Corpus
from perspective_rag.text import printable
from perspective_rag.types import Answer, Claim, RetrievalResult

PROBLEMS_SHOWN = 5
HOW_TO_CHANGE = "to name other sides: --perspective TEXT, repeated"
_NONE_YET = object()


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
    for. Verdicts are words; the probabilities are in
    the result's JSON form.
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
    _show_reading(result, console, change)
    if stands := standing(result):
        console.print(f"[bold]{safe(stands)}[/bold]", highlight=False)


def show_missing(answer: Answer, console: Console) -> None:
    """What a language model found that no passage says."""
    for text in answer.missing:
        console.print(f"[dim]No passage says:[/dim] {safe(text)}", highlight=False)


class Claims:
    """Shows claims one by one, each new side under its heading."""

    def __init__(self, result: RetrievalResult, console: Console) -> None:
        self._result, self._console = result, console
        keys = citation_keys(result.candidates)
        self._numbers = {key: n for n, key in enumerate(keys, start=1)}
        self._texts = {each.id: side_name(result, each) for each in result.perspectives}
        self._strength = strengths(result)
        self._side: object = _NONE_YET
        self.count = 0

    def show(self, claim: Claim) -> None:
        """A claim with the numbers of the passages it rests on."""
        side = claim.perspective if claim.perspective in self._texts else None
        if side != self._side and (side is not None or self._side is not _NONE_YET):
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
        self.count += 1


def _show_reading(result: RetrievalResult, console: Console, change: str) -> None:
    """What the question was understood to be, and how to change that."""
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


def safe(text: str) -> str:
    """A text without control characters, as mark-up that shows it as it is."""
    return escape(printable(text))
