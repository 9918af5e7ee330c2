"""The memory of a run and of Ray's processes, and the kill of a worker in the middle."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

import psutil

_WORKER = "ray::MapWorker"


@dataclass(slots=True)
class Watch:
    """While it is open: memory every ``period`` seconds, and one worker killed once ``half`` says
    that the work is half done (None: no kill).

    ``samples`` are (seconds, MB of this process, MB of Ray's working processes); shared memory is
    counted in each process that has it mapped. ``killed`` is the number of workers killed.
    """

    half: Callable[[], bool] | None = None
    period: float = 1.0
    samples: list[tuple[float, float, float]] = field(default_factory=list)
    killed: int = 0
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Watch:
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stop.set()
        assert self._thread is not None
        self._thread.join()

    def figures(self) -> dict[str, Any]:
        """The largest memory in each quarter of the run, in MB."""
        size = len(self.samples)
        parts = [self.samples[i * size // 4 : max((i + 1) * size // 4, 1)] for i in range(4)]
        return {
            "samples": size,
            "driver_mb": [round(max((each[1] for each in part), default=0.0)) for part in parts],
            "workers_mb": [round(max((each[2] for each in part), default=0.0)) for part in parts],
            "killed": self.killed,
        }

    def _watch(self) -> None:
        started, own = time.perf_counter(), psutil.Process()
        while True:
            workers = _workers()
            used = sum(map(_mb, workers))
            self.samples.append((time.perf_counter() - started, _mb(own), used))
            if self.half is not None and not self.killed and workers and self.half():
                workers[0].kill()
                self.killed += 1
            if self._stop.wait(self.period):
                return


def _workers() -> list[psutil.Process]:
    """Ray's processes that work on batches, those that this process has started."""
    found = []
    for each in psutil.Process().children(recursive=True):
        try:
            if " ".join(each.cmdline()).startswith(_WORKER):
                found.append(each)
        except psutil.Error:
            continue
    return found


def _mb(process: psutil.Process) -> float:
    try:
        return float(process.memory_info().rss) / 1e6
    except psutil.Error:
        return 0.0


def cpu_seconds() -> float:
    """Of this process and its threads so far."""
    used = psutil.Process().cpu_times()
    return float(used.user + used.system)
