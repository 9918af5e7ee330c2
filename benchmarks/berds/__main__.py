"""``python -m benchmarks.berds`` is ``python -m benchmarks berds``."""

from __future__ import annotations

import sys

from benchmarks.berds.command import main

if __name__ == "__main__":
    sys.exit(main())
