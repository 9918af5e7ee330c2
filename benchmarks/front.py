"""One command for all benchmarks.

python -m benchmarks                              # what there is
python -m benchmarks NAME ...                     # runs one
python -m benchmarks NAME --help                  # its options, and where its data comes from
python -m benchmarks download [NAME ...] --to DIR # gets public data
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console

from benchmarks.catalogue import TOOLS, Main, listed, named
from benchmarks.core.command import exit_status
from benchmarks.core.table import Table, wide_console
from perspective_rag import MissingDependency


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Lists the benchmarks, or runs one with the arguments after its name.

    The exit status is the benchmark's; 2 for a name that does not exist.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    console = console or wide_console()
    if not given or given[0] in ("-h", "--help"):
        console.print(__doc__.strip() if __doc__ else "", highlight=False, markup=False)
        console.print()
        for table in tables():
            console.print(table.rich(text=True))
        return 0
    return exit_status(lambda: _main(given[0])(given[1:]), console)


def _main(name: str) -> Main:
    """The command line of a benchmark; raises MissingDependency without its packages."""
    benchmark = named(name)
    try:
        return benchmark.main()
    except ModuleNotFoundError as error:
        raise MissingDependency("bench", f"benchmark {name!r}") from error


def tables() -> list[Table]:
    """A line for each benchmark, and for each tool."""
    table = Table("Benchmarks", ("name", "measures", "data", "download", "time"))
    for each in listed():
        public = each.downloads[0] if each.downloads else "-"
        table.add(each.name, each.measures, each.data, public, each.time)
    tools = Table("Tools", ("name", "what it does", "needs"))
    for each in TOOLS:
        tools.add(each.name, each.measures, each.data)
    return [table, tools]
