"""``python -m benchmarks.essay`` is ``python -m benchmarks essay``."""

from __future__ import annotations

import sys

from benchmarks.essay.command import main

if __name__ == "__main__":
    sys.exit(main())
