"""``python -m benchmarks.list_judge`` is ``python -m benchmarks list_judge``."""

from __future__ import annotations

import sys

from benchmarks.list_judge.command import main

if __name__ == "__main__":
    sys.exit(main())
