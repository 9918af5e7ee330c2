"""``python -m benchmarks.vllm`` is ``python -m benchmarks vllm``."""

from __future__ import annotations

import sys

from benchmarks.vllm.command import main

if __name__ == "__main__":
    sys.exit(main())
