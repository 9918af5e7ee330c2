"""``python -m benchmarks`` lists the benchmarks, ``python -m benchmarks NAME ...`` runs one."""

from __future__ import annotations

import sys

from benchmarks.front import main

if __name__ == "__main__":
    sys.exit(main())
