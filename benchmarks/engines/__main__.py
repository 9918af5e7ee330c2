"""``python -m benchmarks.engines`` is ``python -m benchmarks engines``."""

from __future__ import annotations

import sys

from benchmarks.engines.command import main

if __name__ == "__main__":
    sys.exit(main())
