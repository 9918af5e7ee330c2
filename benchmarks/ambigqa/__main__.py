"""``python -m benchmarks.ambigqa`` is ``python -m benchmarks ambigqa``."""

from __future__ import annotations

import sys

from benchmarks.ambigqa.command import main

if __name__ == "__main__":
    sys.exit(main())
