"""``perspective-rag example``: small files to try every command on."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from perspective_rag.commands.parts import console
from perspective_rag.errors import ConfigError
from perspective_rag.local.corpus.loading import EXAMPLE_DATA


def add_command(commands: Any) -> None:
    """Adds ``example`` to the subparsers."""
    parser = commands.add_parser(
        "example", help="write small sample files to try the other commands on"
    )
    parser.add_argument(
        "--to",
        type=Path,
        default=Path("perspective-rag-example"),
        metavar="DIR",
        help="the folder to write to; an existing file is never changed (default: %(default)s)",
    )
    parser.set_defaults(run=_run)


def write_example(folder: Path) -> list[Path]:
    """Writes the sample files into a folder and returns their paths, relative to it.

    A file that is there already with the same content is left alone. Raises ConfigError, before
    anything is written, when one is there with other content.
    """
    names = sorted(
        path.relative_to(EXAMPLE_DATA)
        for path in EXAMPLE_DATA.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    for name in names:
        target = folder / name
        if target.exists() and target.read_bytes() != (EXAMPLE_DATA / name).read_bytes():
            raise ConfigError(f"{target} exists and is not the sample file: choose another --to")
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes((EXAMPLE_DATA / name).read_bytes())
    return names


def _run(options: argparse.Namespace) -> None:
    screen = console()
    names = write_example(options.to)
    first = sorted({f"{n.parts[0]}/" if len(n.parts) > 1 else n.name for n in names})
    screen.print(f"Written to {options.to}: {', '.join(first)}", markup=False, highlight=False)
