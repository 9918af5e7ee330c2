"""``python -m benchmarks.load`` is ``python -m benchmarks load``."""

from __future__ import annotations

import sys

from benchmarks.load.command import main

if __name__ == "__main__":
    sys.exit(main())
