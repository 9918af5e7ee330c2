"""``python -m benchmarks.overhead`` is ``python -m benchmarks overhead``."""

from __future__ import annotations

import sys

from benchmarks.overhead.command import main

if __name__ == "__main__":
    sys.exit(main())
