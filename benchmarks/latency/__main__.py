"""``python -m benchmarks.latency`` is ``python -m benchmarks latency``."""

from __future__ import annotations

import sys

from benchmarks.latency.command import main

if __name__ == "__main__":
    sys.exit(main())
