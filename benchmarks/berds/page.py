"""Puts the measured tables into docs/berds.md: ``python -m benchmarks.berds.page``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.berds.__main__ import markdown
from benchmarks.core import results

PAGE = results.CHECKOUT / "docs" / "berds.md"
OPENING, CLOSING = "<!-- results:{} -->\n", "<!-- /results:{} -->"


def filled(text: str, folder: Path) -> str:
    """The page with every ``<!-- results:NAME -->`` section made anew from ``NAME.json``."""
    for path in sorted(folder.glob("berds*.json")):
        opening, closing = (mark.format(path.stem) for mark in (OPENING, CLOSING))
        before, found, rest = text.partition(opening)
        if found:
            body = markdown(results.read(path))
            text = f"{before}{opening}\n{body}\n{rest[rest.index(closing) :]}"
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrites the page, or with ``--check`` says by exit code 1 that it is out of date."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.berds.page", description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    old = PAGE.read_text(encoding="utf-8")
    new = filled(old, results.RESULTS)
    if not options.check:
        PAGE.write_text(new, encoding="utf-8")
    return int(options.check and new != old)


if __name__ == "__main__":
    sys.exit(main())
