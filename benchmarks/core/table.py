"""One table, shown in a terminal and written as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import rich.table
from rich import box
from rich.console import Console
from rich.text import Text


def wide_console() -> Console:
    """A console as wide as the terminal, or wide enough for our tables where there is none."""
    console = Console()
    return console if console.is_terminal else Console(width=130)


@dataclass(slots=True)
class Table:
    """Rows of text under ``columns``; the first column names the row, the others are numbers."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)

    def add(self, *cells: str) -> None:
        """One more row; raises ValueError when it does not fit the columns."""
        if len(cells) != len(self.columns):
            raise ValueError(f"{len(cells)} cells for {len(self.columns)} columns")
        self.rows.append(cells)

    def rich(self, *, text: bool = False) -> rich.table.Table:
        """The table for a rich console; with ``text``, all columns hold words, none numbers."""
        table = rich.table.Table(title=self.title, title_justify="left", box=box.SIMPLE_HEAD)
        for place, column in enumerate(self.columns):
            table.add_column(
                column,
                justify="right" if place and not text else "left",
                no_wrap=text and not place,
            )
        for row in self.rows:
            # As Text, because a string like "[44.4, 58.6]" would be read as markup. A console too
            # narrow wraps headings and cells, so that neither names nor numbers are cut.
            table.add_row(*map(Text, row))
        return table

    def markdown(self) -> str:
        """The table in Markdown, its title in bold above it."""
        rule = ["---", *("---:" for _ in self.columns[1:])]
        lines = [list(self.columns), rule, *map(list, self.rows)]
        body = "\n".join(
            "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |"
            for line in lines
        )
        return f"**{self.title}**\n\n{body}\n"
