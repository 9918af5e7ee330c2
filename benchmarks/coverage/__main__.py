"""``python -m benchmarks.coverage`` is ``python -m benchmarks coverage``."""

from __future__ import annotations

import sys

from benchmarks.coverage.command import main

if __name__ == "__main__":
    sys.exit(main())
