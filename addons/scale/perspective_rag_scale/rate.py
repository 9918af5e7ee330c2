"""Long work in lines: how far, how fast, how long still."""

from __future__ import annotations

import time
from collections.abc import Callable


class RateLines:
    """Tells of work that goes on for hours, a line every ``every`` seconds.

    ``total`` is how much there is in all, ``unit`` what is counted; the rate is that of this run,
    whatever was done before it. ``clock`` gives seconds.
    """

    def __init__(
        self,
        tell: Callable[[str], None],
        total: int,
        unit: str,
        *,
        every: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tell, self._total, self._unit = tell, total, unit
        self._every, self._clock = every, clock
        self._begun: tuple[float, int] | None = None
        self._told = 0.0

    def __call__(self, done: int) -> None:
        """``done`` of the total are done."""
        now = self._clock()
        if self._begun is None:
            self._begun, self._told = (now, done), now
            return
        if now - self._told < self._every:
            return
        self._told = now
        seconds, new = now - self._begun[0], done - self._begun[1]
        rate = new / seconds if seconds > 0 else 0.0
        left = f", {duration((self._total - done) / rate)} left" if rate > 0 else ""
        self._tell(f"{done:,} of {self._total:,} {self._unit} ({rate:,.0f} a second{left})")


def duration(seconds: float) -> str:
    """Seconds as a person says them: "40 s", "12 min", "3 h 05 min"."""
    if seconds < 90:
        return f"{max(0.0, seconds):.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
