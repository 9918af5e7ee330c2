"""The command ``perspective-rag``."""

from __future__ import annotations

import argparse
import logging
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from perspective_rag import __version__
from perspective_rag.commands import ask, audit, example, index
from perspective_rag.errors import PerspectiveRAGError
from perspective_rag.extensions import command_adders
from perspective_rag.redaction import redacted
from perspective_rag.text import printable

FAILED = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Returns 0 or the command's own exit code (1 is reserved for a missed limit), 2 after an error,
    which is printed in one line (unexpected errors print a traceback), 130 after Ctrl-C.
    """
    options = _parser().parse_args(arguments)
    # The commands show degradations themselves; without a handler Python would print them too.
    logging.getLogger("perspective_rag").addHandler(logging.NullHandler())
    try:
        return options.run(options) or 0
    except (PerspectiveRAGError, OSError) as error:  # OSError: a file that cannot be written
        sys.stderr.write(f"perspective-rag: {printable(redacted(str(error)))}\n")
        return FAILED
    except Exception:  # of a user's own factory or model; exit code 1 is reserved
        sys.stderr.write(printable(redacted(traceback.format_exc())))
        return FAILED
    except KeyboardInterrupt:
        sys.stderr.write("perspective-rag: interrupted; what is on disk is kept\n")
        return INTERRUPTED


class _Parser(argparse.ArgumentParser):
    """A parser whose messages, which repeat the arguments, cannot steer the terminal."""

    def _print_message(self, message: str, file: Any = None) -> None:
        super()._print_message(printable(message) if message else message, file)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="perspective-rag", description=__doc__)
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in (ask, index, audit, example):
        command.add_command(commands)
    for add_command in command_adders().values():
        add_command(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
