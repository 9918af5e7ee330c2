"""Gets what is public of the data that the benchmarks use, over plain HTTPS.

python -m benchmarks download                       # all of it
python -m benchmarks download pir berds --to data   # by benchmark
python -m benchmarks download perspectrum           # by data set
python -m benchmarks download --list
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks.catalogue import BENCHMARKS
from benchmarks.core.command import run_command, transfers
from benchmarks.core.data import FOLDER
from benchmarks.core.table import Table
from benchmarks.download.fetching import fetch
from benchmarks.download.sources import SOURCES, Source
from perspective_rag.extend import unknown_name

RAW = ".downloads"
"""Below the target folder: the files as published, from which a run that was cut off goes on."""


def main(
    arguments: Sequence[str] | None = None,
    *,
    sources: Mapping[str, Source] = SOURCES,
    console: Console | None = None,
) -> int:
    """Downloads; the exit status is 0, 2 for what could not be had, 130 after Ctrl-C."""
    return run_command(arguments, _parser(), partial(_run, sources=sources), console)


def download(
    names: Sequence[str],
    to: Path,
    console: Console,
    *,
    sources: Mapping[str, Source] = SOURCES,
) -> list[Path]:
    """The files written below ``to`` for data sets or benchmarks by name; all without names.

    Prints what is downloaded and under which licence before it is used. Raises ConfigError for an
    unknown name, CorpusError for a file that cannot be had or is not the right one.
    """
    chosen = chosen_sources(names, sources)
    for source in chosen:
        console.print(f"{source.name}: {source.what}", markup=False, highlight=False)
        console.print(f"  licence: {source.licence}", markup=False, highlight=False)
    written: list[Path] = []
    for source in chosen:
        folder = to / RAW / source.name
        files = {file.name: folder / file.name for file in source.files}
        with transfers(console) as bars:
            for file in source.files:
                task = bars.add_task(f"{source.name}/{file.name}", total=None)
                fetch(
                    file,
                    files[file.name],
                    told=lambda done, total, task=task: bars.update(  # type: ignore[misc]
                        task, completed=done, total=total
                    ),
                )
                bars.remove_task(task)
        made = source.convert(files, to)
        written += made
        places = ", ".join(str(path.relative_to(to)) for path in made[:6])
        more = f" and {len(made) - 6} more" if len(made) > 6 else ""
        console.print(f"Written to {to}: {places}{more}", markup=False, highlight=False)
    return written


def chosen_sources(names: Sequence[str], sources: Mapping[str, Source]) -> list[Source]:
    """The data sets that names of data sets or benchmarks stand for; raises ConfigError."""
    known = {each.name: each.downloads for each in BENCHMARKS if each.downloads}
    found: dict[str, None] = {}
    for name in names or sources:
        if name in sources:
            found[name] = None
        elif name in known:
            found.update(dict.fromkeys(known[name]))
        else:
            raise unknown_name(name, (*sources, *known), "data set or benchmark")
    return [sources[name] for name in found]


def _run(
    options: argparse.Namespace,
    given: list[str],
    console: Console,
    *,
    sources: Mapping[str, Source],
) -> int:
    if options.list:
        table = Table("What can be downloaded", ("name", "what", "licence", "writes"))
        for source in sources.values():
            table.add(source.name, source.what, source.licence, ", ".join(source.writes))
        console.print(table.rich(text=True))
        return 0
    download(options.names, options.to, console, sources=sources)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks download",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help=f"{', '.join(SOURCES)}, or a benchmark's name")
    add("--to", type=Path, default=FOLDER, metavar="DIR", help="folder (default: %(default)s)")
    add("--list", action="store_true", help="show what there is, and download nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
