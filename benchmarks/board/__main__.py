"""``python -m benchmarks.board`` is ``python -m benchmarks board``."""

from __future__ import annotations

import sys

from benchmarks.board.command import main

if __name__ == "__main__":
    sys.exit(main())
