"""A table store x capability in a document, written and kept true by the checks that ran."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from perspective_rag.testing.stores import STORE_CHECKS

WRITE = "WRITE_STORE_TABLE"
"""The environment variable under which ``StoreTable.write`` writes."""


class StoreTable:
    """A table in a Markdown document, store by check: compared with what checks say, or written.

    It stands between ``<!-- stores:NAME -->`` and ``<!-- /stores:NAME -->``.

    Args:
        path: The document.
        name: NAME in the marks.

    Raises:
        ValueError: The document lacks the marks.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self._new: dict[str, dict[str, str]] = {}
        self._absent: dict[str, str] = {}
        self._rows = _parse(self._section())

    def expect_rows(self, stores: Sequence[str]) -> None:
        """Checks that the document lists just these stores, in this order."""
        if list(self._rows) != list(stores) and not os.environ.get(WRITE):
            raise AssertionError(
                f"{self._path.name} lists {list(self._rows)}, tested are {list(stores)}: "
                f"write the table again with {WRITE}=1"
            )

    def record(self, store: str, check: str, run: Callable[[], str]) -> None:
        """Runs a check, keeps what it says, and compares that with the document."""
        cells = self._new.setdefault(store, {})
        cells[check] = "FAILS"
        cells[check] = said = run()
        if not os.environ.get(WRITE):
            self.expect(store, check, said)

    def expect(self, store: str, check: str, said: str) -> None:
        """Compares what a check said with the document."""
        known = self._rows.get(store, {}).get(check)
        if known != said:
            raise AssertionError(
                f"{self._path.name} says {known!r} of {store}, {check}; it is {said!r}: "
                f"write the table again with {WRITE}=1"
            )

    def absent(self, store: str, reason: str) -> None:
        """Notes that a store cannot run here."""
        self._absent[store] = reason

    def write(self) -> None:
        """Writes the recorded table into the document, if the environment variable
        WRITE_STORE_TABLE is set.
        """
        if not os.environ.get(WRITE):
            return
        lines = ["| store | " + " | ".join(STORE_CHECKS) + " |"]
        lines.append("| --- |" + " --- |" * len(STORE_CHECKS))
        for store in dict.fromkeys([*self._new, *self._absent]):
            reason = self._absent.get(store)
            cells = self._new.get(store, {})
            said = [
                f"not run: {reason}" if reason else cells.get(c, "not run") for c in STORE_CHECKS
            ]
            lines.append(f"| {store} | " + " | ".join(said) + " |")
        text = self._path.read_text(encoding="utf-8")
        begin, end = self._marks()
        pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
        body = f"{begin}\n" + "\n".join(lines) + f"\n{end}"
        self._path.write_text(pattern.sub(lambda _: body, text), encoding="utf-8")

    def _marks(self) -> tuple[str, str]:
        return f"<!-- stores:{self._name} -->", f"<!-- /stores:{self._name} -->"

    def _section(self) -> str:
        begin, end = self._marks()
        text = self._path.read_text(encoding="utf-8")
        if begin not in text or end not in text:
            raise ValueError(f"{self._path} has no {begin} ... {end}: add the two marks")
        return text.split(begin)[1].split(end)[0]


def _parse(section: str) -> dict[str, dict[str, str]]:
    lines = [line for line in section.splitlines() if line.startswith("|")]
    table: list[list[Any]] = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    if len(table) < 2:
        return {}
    return {row[0]: dict(zip(table[0][1:], row[1:], strict=True)) for row in table[2:]}
