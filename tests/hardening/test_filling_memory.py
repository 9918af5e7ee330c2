"""A filling takes no more memory for more passages."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

FILL = """
import sys
import psutil
import numpy as np
from pathlib import Path
from perspective_rag_scale.sinks import faiss
from perspective_rag_scale.filling import fill
from perspective_rag.types import Passage

class Hashed:
    def embed_passages(self, texts):
        numbers = np.array([hash(text) % 1_000_003 for text in texts], dtype=np.float64)
        return np.cos(numbers[:, None] * np.arange(1, 65))
    embed_queries = embed_passages

total, here, most = 200_000, psutil.Process(), {}
def watch(done):
    now = here.memory_full_info().uss
    half = done > total // 2
    most[half] = max(most.get(half, 0), now)

stream = (Passage(f"p{i}", f"passage {i}", {"n": i}) for i in range(total))
sink = faiss.FaissSink(sys.argv[1], model_name="m", kind="ivfpq")
done = fill(stream, sink, Hashed(), Path(sys.argv[1]) / "work", model_name="m", batch=2048,
            on_progress=watch)
sink.close()
assert done.held == total
print(most[False], most[True])
"""


def test_200_000_passages(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-c", FILL, str(tmp_path / "i")], capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    first, second = map(int, ran.stdout.split())
    assert second < first + 20_000_000, f"{first:,} then {second:,} bytes"
