"""``python -m benchmarks.pir`` is ``python -m benchmarks pir``."""

from __future__ import annotations

import sys

from benchmarks.pir.command import main

if __name__ == "__main__":
    sys.exit(main())
