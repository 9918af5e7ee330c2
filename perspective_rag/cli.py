"""The command ``perspective-rag``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from perspective_rag.errors import PerspectiveRAGError
from perspective_rag.judge.training.cli import add_commands


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, or 1 after an error that is printed in one line."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except PerspectiveRAGError as error:
        sys.stderr.write(f"perspective-rag: {error}\n")
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="perspective-rag", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    judge = commands.add_parser("judge", help="train and evaluate judges").add_subparsers(
        required=True
    )
    add_commands(judge)
    return parser


if __name__ == "__main__":
    sys.exit(main())
