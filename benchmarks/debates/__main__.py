"""``python -m benchmarks.debates`` is ``python -m benchmarks debates``."""

from __future__ import annotations

import sys

from benchmarks.debates.command import main

if __name__ == "__main__":
    sys.exit(main())
