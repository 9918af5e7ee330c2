"""The progress bar of every command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


def progress_bars(console: Console, *, transient: bool = True, in_bytes: bool = False) -> Progress:
    """Bars with what is done, how much of how much, and the time left; needs rich.

    ``transient`` bars are gone when all is done; ``in_bytes`` shows amounts as file sizes.
    """
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()
    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn())
    return Progress(*columns, console=console, transient=transient)
