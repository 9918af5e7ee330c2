"""``perspective-rag index --to``: a corpus into a vector store."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, get_args

from perspective_rag import ConfigError, CorpusError, Passage
from perspective_rag.addons import ReadProblem, fingerprint
from perspective_rag.addons import read_corpus as stream_corpus
from perspective_rag.commands import console, encoder_of, progress_bars, reading
from perspective_rag.extend import Embedder
from perspective_rag_scale.faiss_kinds import Kind
from perspective_rag_scale.filling import Filled, fill
from perspective_rag_scale.folder import embedder_name
from perspective_rag_scale.rate import RateLines
from perspective_rag_scale.sinks.targets import FORMS, make_sink

if TYPE_CHECKING:
    from rich.console import Console

_PROBLEMS_SHOWN = 5
_COUNTED = 2_000  # passages between two looks at the clock


def target_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--to`` and what goes with it."""
    add = parser.add_argument
    add(
        "--to",
        metavar="TARGET",
        help=f"what to fill: {', '.join(FORMS.values())} (default: the cache)",
    )
    add(
        "--kind",
        choices=("auto", *get_args(Kind)),
        default="auto",
        help="of the index in faiss:FOLDER (default: auto, by size and free memory)",
    )
    add("--append", action="store_true", help="add to a store that holds other passages")
    add("--restart", action="store_true", help="write all again, whatever was written before")


def check_without_target(options: argparse.Namespace) -> None:
    """Raises ConfigError for options that go with ``--to`` alone."""
    if options.kind != "auto" or options.append or options.restart:
        raise ConfigError("--kind, --append and --restart go with --to TARGET")


def fill_target(options: argparse.Namespace) -> None:
    """Fills what ``--to`` names, with progress, and says what it holds in the end."""
    screen = console(stderr=True)
    embedder = encoder_of(options.encoder) or _packaged()
    name = embedder_name(embedder)
    kind = None if options.kind == "auto" else options.kind

    def say(text: str) -> None:
        screen.print(text, highlight=False, markup=False, soft_wrap=True)

    with closing(make_sink(options.to, model_name=name, kind=kind)) as sink:
        total = _counted(options, screen, say)
        hub = str(options.corpus).startswith("hf:")
        corpus = str(options.corpus if hub else options.corpus.resolve())
        work = options.cache / "filling" / fingerprint(sink.key, corpus)
        with _told(screen, total, say) as on_progress:
            filled = fill(
                _as_counted(options, total, say),
                sink,
                embedder,
                sink.folder / "work" if options.to.startswith("faiss:") else work,
                model_name=name,
                append=options.append,
                restart=options.restart,
                on_progress=on_progress,
                tell=say,
            )
        console().print(_said(filled, sink.name), highlight=False, markup=False, soft_wrap=True)


def _said(filled: Filled, name: str) -> str:
    there = filled.passages - filled.embedded
    before = f" ({there:,} of them before)" if there else ""
    return f"{filled.passages:,} passages written{before}; {name} holds {filled.held:,}"


def _packaged() -> Embedder:
    from perspective_rag import OnnxMiniLM

    return OnnxMiniLM()


def _counted(options: argparse.Namespace, screen: Console, say: Callable[[str], None]) -> int:
    """Reads the corpus once without keeping it: its problems are shown, its passages counted, so
    that the time left is known.
    """
    problems = 0

    def show(problem: ReadProblem) -> None:
        nonlocal problems
        problems += 1
        if problems <= _PROBLEMS_SHOWN:
            say(str(problem))

    total = 0
    with screen.status("reading the corpus") as status:
        for total, _ in enumerate(_stream(options, show), start=1):
            if total % _COUNTED == 0:
                status.update(f"reading the corpus: {total:,} passages")
    say(f"{total:,} passages, {problems} problems")
    return total


def _as_counted(
    options: argparse.Namespace, total: int, say: Callable[[str], None]
) -> Iterator[Passage]:
    """The same passages again; raises CorpusError where it ends before, or goes on behind, what was
    counted. Windows written until then are kept.
    """
    last: ReadProblem | None = None

    def see(problem: ReadProblem) -> None:
        nonlocal last
        last = problem

    found = 0
    for passage in _stream(options, see):
        found += 1
        if found > total:
            break
        yield passage
    if found != total:
        if last is not None:
            say(str(last))
        gave = f"{found:,} passages of" if found < total else "more passages than"
        raise CorpusError(
            f"{options.corpus} gave {gave} the {total:,} that were counted before: run the same "
            "command again once it can be read whole and nothing writes to it"
        )


def _stream(options: argparse.Namespace, tell: Callable[[ReadProblem], None]) -> Iterator[Passage]:
    return stream_corpus(options.corpus, on_problem=tell, **reading(options))


@contextmanager
def _told(
    screen: Console, total: int, say: Callable[[str], None]
) -> Iterator[Callable[[int], None]]:
    """Progress as a bar in a terminal, as a line every few seconds elsewhere."""
    if not screen.is_terminal:
        yield RateLines(say, total, "passages")
        return
    with progress_bars(screen, rate="passages") as bars:
        task = bars.add_task("embedding", total=total, start=False)

        def on_progress(done: int) -> None:
            if not bars.tasks[task].started:
                bars.start_task(task)
            bars.update(task, completed=done)

        yield on_progress
