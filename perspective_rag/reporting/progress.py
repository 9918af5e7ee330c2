"""The progress bar of every command."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress


def progress_bars(
    console: Console, *, transient: bool = True, in_bytes: bool = False, rate: str = ""
) -> Progress:
    """Bars with what is done, how much of how much, and the time left; needs rich.

    ``transient`` bars are gone when all is done; ``in_bytes`` shows amounts as file sizes; ``rate``
    names what is counted, and its number a second is shown.
    """
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    amount = DownloadColumn() if in_bytes else MofNCompleteColumn()

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:,.0f} {rate}/s" if rate and task.speed else "")

    columns = (TextColumn("{task.description}"), BarColumn(), amount, TimeRemainingColumn(), Rate())
    return Progress(*columns, console=console, transient=transient)
