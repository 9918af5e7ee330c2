"""``python -m benchmarks.download`` is ``python -m benchmarks download``."""

from __future__ import annotations

import sys

from benchmarks.download.command import main

if __name__ == "__main__":
    sys.exit(main())
