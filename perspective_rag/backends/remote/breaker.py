"""A circuit breaker: a server that fails again and again is left alone for a while."""

from __future__ import annotations

import math
from collections.abc import Callable

from perspective_rag.backends.remote.failures import ServerError


class CircuitBreaker:
    """Closed, open, half open (Nygard, Release It!, 2nd ed., 2018, ch. 5).

    ``failures`` failed attempts in a row open it; while it is open ``admit`` raises. After
    ``seconds`` one attempt is let through: if it works the breaker closes, if it fails it stays
    open for as long again. ``clock`` gives seconds. For use from one thread.
    """

    def __init__(
        self, server: str, failures: int, seconds: float, clock: Callable[[], float]
    ) -> None:
        self._server, self._limit, self._seconds, self._clock = server, failures, seconds, clock
        self._failed = 0
        self._opened: float | None = None
        self._probing = False
        self._last: ServerError | None = None

    def admit(self) -> None:
        """Raises ServerError unless an attempt may be made now."""
        if self._opened is None:
            return
        left = self._opened + self._seconds - self._clock()
        if left <= 0 and not self._probing:
            self._probing = True
            return
        when = f"not asked for another {math.ceil(left)} s" if left > 0 else "being tried just now"
        raise ServerError(
            f"{self._server} is {when}: {self._failed} attempts in a row failed, the last with: "
            f"{self._last}",
            down=True,
        ) from self._last

    def succeeded(self) -> None:
        """An attempt got an answer."""
        self._failed, self._opened, self._probing, self._last = 0, None, False, None

    def failed(self, error: ServerError) -> None:
        """An attempt showed that the server does not work."""
        self._failed += 1
        self._last = error
        if self._probing or self._failed >= self._limit:
            self._opened, self._probing = self._clock(), False

    def abandoned(self) -> None:
        """An attempt was given up before it ended: nothing was learned."""
        self._probing = False
