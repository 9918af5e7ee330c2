"""A conversation in a terminal: questions, follow-ups, and commands about the last answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from rich.console import Console

from perspective_rag import (
    Answer,
    ConfigError,
    Perspective,
    PerspectivePipeline,
    PerspectiveRAGError,
    RetrievalResult,
)
from perspective_rag.addons import QuestionThread, extract_by_rule, shares_words
from perspective_rag.commands import (
    Claims,
    proofs_of,
    safe,
    show_missing,
    show_opening,
    show_passages,
    show_side,
    show_trace,
)
from perspective_rag.extend import as_perspectives
from perspective_rag_serve.commands.details import show_sources, show_why
from perspective_rag_serve.commands.line_editor import ReadLine

CHANGE = "other sides: /sides A | B"
FURTHER = 3
"""How much more is fetched, judged and searched again for a side that is searched for further."""

_HELP = {
    "/sides A | B": "answer the question again with these sides; alone: show them",
    "/auto": "answer it again with the sides found in the question",
    "/more SIDE": "search further for a side: for, against, its number, or words of it",
    "/why N": "why passage N is there: verdicts, scores, the search that found it",
    "/sources": "the sources of the last answer",
    "/export FILE": "write the last answer as .md, .html or .json",
    "/help": "this list",
    "/quit": "end (Ctrl-D too); Ctrl-C stops an answer",
}
COMMANDS = tuple(each.partition(" ")[0] for each in _HELP)


@dataclass(frozen=True, slots=True)
class Answered:
    """The last answer, which commands speak of."""

    result: RetrievalResult
    answer: Answer


class Conversation:
    """Answers lines until /quit or the end of the input.

    A line is a question, a follow-up of the last one, a command or small talk. Ctrl-C stops the
    answer that is being made; an error is shown in a line. ``read`` gives the lines; ``sides``
    are covered in every question (None: those of each question); ``full`` shows the whole passages.
    Sides that /sides names are those of the question and its follow-ups, and end with the next
    question that stands alone.
    """

    def __init__(
        self,
        pipeline: PerspectivePipeline,
        console: Console,
        read: ReadLine,
        *,
        sides: Sequence[str] | None = None,
        full: bool = False,
    ) -> None:
        self.full = full
        self.pipeline, self.console, self._read = pipeline, console, read
        self._thread = QuestionThread()
        self._of_every_question = sides
        self.sides: Sequence[Perspective | str] | None = sides
        self.last: Answered | None = None
        self._commands: dict[str, Callable[[str], None]] = {
            "/sides": self._sides,
            "/auto": self._auto,
            "/more": self._more,
            "/why": self._why,
            "/sources": self._sources,
            "/export": self._export,
            "/help": self._help,
        }

    @property
    def question(self) -> str:
        """The last question as it stands alone; "" before the first."""
        return self._thread.question

    def run(self) -> None:
        """Reads and answers lines."""
        self._say("Ask a question; /help lists the commands, /quit ends.")
        while True:
            try:
                line = self._read().strip()
            except EOFError:
                return
            except KeyboardInterrupt:
                self._say("/quit ends")
                continue
            if line in {"/quit", "/exit"}:
                return
            if line:
                self.take(line)

    def take(self, line: str) -> None:
        """Does what one line asks for."""
        try:
            if line.startswith("/"):
                self._command(line)
            elif extract_by_rule(line).kind == "chat":
                self._say("Ask me a question that people answer differently; /help says what else.")
            else:
                self._thread, before = self._thread.then(line), self.question
                if before and not self._thread.follows:
                    self.sides = self._of_every_question
                self._ask()
        except PerspectiveRAGError as error:
            self.console.print(f"[red]{safe(str(error))}[/red]", highlight=False)
        except OSError as error:
            self.console.print(f"[red]{safe(f'{type(error).__name__}: {error}')}[/red]")
        except KeyboardInterrupt:
            self.console.print("\n[yellow]stopped[/yellow]")

    def _command(self, line: str) -> None:
        name, _, rest = line.partition(" ")
        found = self._commands.get(name.lower())
        if found is not None:
            found(rest.strip())
            return
        near = get_close_matches(name.lower(), COMMANDS, 1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        known = ", ".join(_HELP)
        said = f"[yellow]No command {safe(name)}{meant}. Commands: {known}[/yellow]"
        self.console.print(said, highlight=False)

    def _ask(self, **options: Any) -> None:
        """Retrieves and answers the question, telling each part as soon as it is known."""
        with self.console.status("searching"):
            result = self.pipeline.retrieve(self.question, perspectives=self.sides, **options)
        show_opening(result, self.console, change=CHANGE)
        claims = Claims(result, self.console)
        answer = self.pipeline.answer(result, on_claim=claims.show)
        show_missing(answer, self.console)
        show_passages(result, self.console, proofs_of(self.pipeline, result), full=self.full)
        show_trace(result, answer, self.console)
        self.last = Answered(result, answer)

    def _sides(self, rest: str) -> None:
        given = [side.strip() for side in rest.split("|") if side.strip()]
        if given:
            as_perspectives(given)  # the sides before stay where these cannot be used
            self.sides = given
            if self.question:
                self._ask()
            return
        known = self.last.result.perspectives if self.last else ()
        for number, each in enumerate(known, start=1):
            self.console.print(f"{number}  {safe(each.text)}", highlight=False)
        if not known:
            self._say("No sides yet. Name them: /sides Zoos teach children | Zoos are cruel")

    def _auto(self, rest: str) -> None:
        self.sides = self._of_every_question = None
        if self.question:
            self._ask()

    def _more(self, rest: str) -> None:
        """Searches again, further, and shows what the side has then."""
        result = self._answered().result
        side = _named(rest, result.perspectives)
        weighted = [
            replace(each, weight=FURTHER * each.weight) if each.id == side.id else each
            for each in result.perspectives
        ]
        given = self.pipeline.options
        wider = {
            name: FURTHER * getattr(given, name)
            for name in ("fetch_k", "judge_k", "guard_searches", "max_queries")
        }
        k = len(result.candidates) + given.k
        with self.console.status("searching further"):
            found = self.pipeline.retrieve(
                result.question, perspectives=weighted, k=k, **{**wider, "discover": 0}
            )
            answer = self.pipeline.answer(found)
        known = {candidate.passage.id for candidate in result.candidates}
        new = [each for each in found.supporting(side) if each.passage.id not in known]
        count = f"{len(new)} new passage{'' if len(new) == 1 else 's'}"
        self.console.print(f"[bold]Searched further: {count} for {safe(side.text)}[/bold]")
        show_side(found, side, self.console, proofs_of(self.pipeline, found), full=self.full)
        show_trace(found, answer, self.console)
        self.last = Answered(found, answer)

    def _why(self, rest: str) -> None:
        result = self._answered().result
        count = len(result.candidates)
        if not rest.isdecimal() or not 1 <= int(rest) <= count:
            raise ConfigError(f"/why needs the number of a passage, 1 to {count}; got {rest!r:.80}")
        show_why(result, int(rest) - 1, self.console)

    def _sources(self, rest: str) -> None:
        show_sources(self._answered().result, self.console)

    def _export(self, rest: str) -> None:
        from perspective_rag_serve.commands.exporting import FORMATS, export

        last = self._answered()
        if not rest:
            raise ConfigError(f"/export needs a file that ends in {', '.join(FORMATS)}")
        path = Path(rest).expanduser()
        export(last.result, last.answer, path)
        self.console.print(f"Written: {safe(str(path))}", highlight=False)

    def _help(self, rest: str) -> None:
        for name, meaning in _HELP.items():
            self.console.print(f"[cyan]{name:<14}[/cyan] {meaning}", highlight=False)
        self._say(
            "Follow-ups keep the topic: and in Europe? what about the cost? why? is it legal?"
        )

    def _answered(self) -> Answered:
        if self.last is None:
            raise ConfigError("ask a question first")
        return self.last

    def _say(self, text: str) -> None:
        self.console.print(f"[dim]{safe(text)}[/dim]", highlight=False)


def _named(text: str, perspectives: Sequence[Perspective]) -> Perspective:
    """The side that a person means by "for", "against", a number or words of it.

    Of two sides that neither affirm nor deny one statement, "for" is the first.
    """
    wanted = " ".join(text.lower().split())
    stance = {"for": "support", "pro": "support", "against": "oppose", "con": "oppose"}.get(wanted)
    found = [each for each in perspectives if stance is not None and each.stance == stance]
    if stance and len(perspectives) == 2 and not any(each.stance for each in perspectives):
        found = [perspectives[stance == "oppose"]]
    if wanted.isdecimal() and 1 <= int(wanted) <= len(perspectives):
        found = [perspectives[int(wanted) - 1]]
    if not found and wanted:
        found = [each for each in perspectives if wanted in each.text.lower()]
    if not found and wanted:
        found = [each for each in perspectives if shares_words(wanted, each.text)]
    if len(found) == 1:
        return found[0]
    if not perspectives:
        raise ConfigError("the last question has no sides; name them: /sides A | B")
    known = "; ".join(f"{n} {each.text}" for n, each in enumerate(perspectives, start=1))
    raise ConfigError(f"/more needs one side, by its number or its words: {known}")
