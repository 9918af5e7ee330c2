"""What every benchmark's command line does around its run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from benchmarks.core import results
from benchmarks.core.table import Table, wide_console
from perspective_rag import PerspectiveRAGError
from perspective_rag.commands import progress_bars
from perspective_rag.extend import Embedder, Judge

INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a benchmark: its options, its arguments as they were given, where it prints, and
    parts that replace those of the command line.
    """

    options: argparse.Namespace
    given: list[str]
    console: Console
    embedder: Embedder | None = None
    judge: Judge | None = None


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark's ``main``: the exit status of a run.

    That is what ``run`` returns, 2 for what could not be done, and 130 after Ctrl-C.
    """

    parser: Callable[[], argparse.ArgumentParser]
    run: Callable[[Run], int]

    def __call__(
        self,
        arguments: Sequence[str] | None = None,
        *,
        embedder: Embedder | None = None,
        judge: Judge | None = None,
        console: Console | None = None,
    ) -> int:
        """``arguments`` are those of the process where they are None."""

        def run(options: argparse.Namespace, given: list[str], shown: Console) -> int:
            return self.run(Run(options, given, shown, embedder, judge))

        return run_command(arguments, self.parser(), run, console)


def run_command(
    arguments: Sequence[str] | None,
    parser: argparse.ArgumentParser,
    run: Callable[[argparse.Namespace, list[str], Console], int],
    console: Console | None,
) -> int:
    """The exit status of ``run``, given the options, the arguments and a console.

    ``arguments`` are those of the process where they are None.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser.parse_args(given)
    console = console or wide_console()
    return exit_status(lambda: run(options, given, console), console)


def exit_status(run: Callable[[], int], console: Console) -> int:
    """The status that ``run`` gives, 2 after an error of this project, which is printed in one
    line, or 130 after Ctrl-C.
    """
    try:
        return run()
    except PerspectiveRAGError as error:
        console.print(f"[red]{type(error).__name__}:[/red] {escape(str(error))}")
        return 2
    except KeyboardInterrupt:
        console.print("Interrupted. The same command goes on from what was kept.")
        return INTERRUPTED


def progress(console: Console) -> Progress:
    """Bars that count, and are gone when all is done."""
    return progress_bars(console)


def transfers(console: Console) -> Progress:
    """The same for bytes."""
    return progress_bars(console, in_bytes=True)


def publish(
    document: Mapping[str, Any],
    out: Path,
    console: Console,
    *,
    markdown: str | None = None,
    shown: Sequence[Table] = (),
) -> None:
    """Writes the results, ``markdown`` beside them, and shows the tables."""
    results.write(document, out)
    places = str(out)
    if markdown is not None:
        out.with_suffix(".md").write_text(markdown, encoding="utf-8")
        places += f" and {out.with_suffix('.md').name}"
    for table in shown:
        console.print(table.rich())
    console.print(f"Written to {places}", highlight=False)
