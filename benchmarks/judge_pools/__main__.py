"""``python -m benchmarks.judge_pools`` is ``python -m benchmarks judge_pools``."""

from __future__ import annotations

import sys

from benchmarks.judge_pools.command import main

if __name__ == "__main__":
    sys.exit(main())
