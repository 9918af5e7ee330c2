"""The sections of ``benchmarks/berds/RESULTS.md``, made from ``benchmarks/results/berds*.json``.

``python -m benchmarks.berds.page`` is ``python -m benchmarks report``.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.berds.report import markdown
from benchmarks.core import results


def sections(folder: Path) -> dict[str, str]:
    """Name -> Markdown of every run that there are results of."""
    return {
        path.stem: f"\n{markdown(results.read(path))}\n"
        for path in sorted(folder.glob("berds*.json"))
        if not path.name.endswith(".verdict.json")
    }


if __name__ == "__main__":
    from benchmarks.report import main

    sys.exit(main())
