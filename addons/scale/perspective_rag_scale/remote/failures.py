"""What a request to a model server can end with."""

from __future__ import annotations

from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

AGAIN = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses after which the same request may work."""
DOWN = frozenset({500, 502, 503, 504})
"""Those of a server, or of a proxy before it, that does not work."""
TOO_MUCH = frozenset({400, 413, 422})
"""Those of a request that holds too much, or one thing that cannot be read."""


class ServerError(Exception):
    """A request failed; the text names the server and holds no secret.

    ``status`` is that of the reply, if there was one. ``again``: the same request may work later,
    ``retry_after`` seconds from now where the server says so. ``down``: the server does not work,
    as far as one can tell.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        again: bool = False,
        down: bool = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.again = again
        self.down = down
        self.retry_after = retry_after


def seconds_to_wait(header: str | None) -> float | None:
    """The seconds that a ``Retry-After`` header asks for: a number or a date; None for neither."""
    if not header:
        return None
    if header.strip().isdecimal():
        return float(header.strip()[:9])
    try:
        date = parsedate_to_datetime(header)
        if date.tzinfo is None:
            date = date.replace(tzinfo=timezone.utc)
        return max(0.0, (date - datetime.now(timezone.utc)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None
