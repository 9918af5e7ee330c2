"""``python -m benchmarks.soak`` is ``python -m benchmarks soak``."""

from __future__ import annotations

import sys

from benchmarks.soak.command import main

if __name__ == "__main__":
    sys.exit(main())
