"""More and more users on each path of a served application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.load.driver import drive
from benchmarks.load.server import served


def measure(
    app: str,
    paths: Sequence[str],
    users: Sequence[int],
    questions: Sequence[str],
    *,
    seconds: float,
    told: Callable[[str], object] = lambda name: None,
) -> list[dict[str, Any]]:
    """What each number of users experienced on each path; ``seconds`` are for all of them.

    Raises PerspectiveRAGError when the server does not start.
    """
    share = seconds / (len(users) * len(paths))
    steps = []
    told("starting the server")
    with served(app) as (url, pid):
        for path in paths:  # what is loaded at the first question is loaded now
            asyncio.run(drive(url, path, questions, users=1, seconds=0.0, pid=pid))
        for count in users:
            for path in paths:
                told(f"{count} users on {path}")
                coming = drive(url, path, questions, users=count, seconds=share, pid=pid)
                steps.append(asyncio.run(coming))
    return steps
