"""``python -m benchmarks.answers`` is ``python -m benchmarks answers``."""

from __future__ import annotations

import sys

from benchmarks.answers.command import main

if __name__ == "__main__":
    sys.exit(main())
