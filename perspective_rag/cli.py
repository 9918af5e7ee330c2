"""The command ``perspective-rag``."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence

from perspective_rag.commands import ask, audit, dataset, index
from perspective_rag.errors import PerspectiveRAGError
from perspective_rag.judge.training.cli import add_commands

FAILED = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns 0, the command's own status (1 where a limit was missed), 2 after
    an error that is printed in one line (one that is not this project's with its traceback), or 130
    after Ctrl-C.
    """
    options = _parser().parse_args(arguments)
    try:
        return options.run(options) or 0
    except (PerspectiveRAGError, OSError) as error:  # OSError: a file that cannot be written
        sys.stderr.write(f"perspective-rag: {error}\n")
        return FAILED
    except Exception:  # of a factory or model of the user's: Python's own status is that of a limit
        traceback.print_exc()
        return FAILED
    except KeyboardInterrupt:
        sys.stderr.write("perspective-rag: interrupted; what is on disk is kept\n")
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="perspective-rag", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (ask, index, audit, dataset):
        command.add_command(commands)
    judge = commands.add_parser("judge", help="train and evaluate judges").add_subparsers(
        required=True
    )
    add_commands(judge)
    return parser


if __name__ == "__main__":
    sys.exit(main())
