"""The old command: as ``python -m benchmarks perspective_detection``."""

from __future__ import annotations

import sys

from benchmarks.perspective_detection.command import main

if __name__ == "__main__":
    sys.exit(main())
