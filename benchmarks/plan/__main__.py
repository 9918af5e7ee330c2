"""``python -m benchmarks.plan`` is ``python -m benchmarks plan``."""

from __future__ import annotations

import sys

from benchmarks.plan.command import main

if __name__ == "__main__":
    sys.exit(main())
