"""``python -m benchmarks.embedding`` is ``python -m benchmarks embedding``."""

from __future__ import annotations

import sys

from benchmarks.embedding.command import main

if __name__ == "__main__":
    sys.exit(main())
