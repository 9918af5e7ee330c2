"""``python -m benchmarks.scale`` is ``python -m benchmarks scale``."""

from __future__ import annotations

import sys

from benchmarks.scale.command import main

if __name__ == "__main__":
    sys.exit(main())
