"""Distillation: what the larger judge says of pairs, for the fast judge to learn."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from perspective_rag.addons import json_lines
from perspective_rag_train.two_sided.assess import Reader

AT_ONCE = 64


def label(read: Reader, rows: Path, out: Path) -> int:
    """Writes to ``out`` what a two-sided judge says of the rows, as ``judge train`` reads it.

    Args:
        read: The judge.
        rows: JSON lines with "statement", "opposite" and "document".
        out: JSON lines with "document", "statement" and "probabilities" of support, oppose and
            neutral, two for each row: its statement, then its opposite. Continued where it ends.

    Returns:
        How many rows ``out`` holds the two lines of.
    """
    done = out.read_text(encoding="utf-8").count("\n") // 2 if out.is_file() else 0
    waiting = islice((row for _, row in json_lines(rows)), done, None)
    with out.open("a", encoding="utf-8") as file:
        while batch := list(islice(waiting, AT_ONCE)):
            file.write("".join(json.dumps(line) + "\n" for line in _lines(read, batch)))
            file.flush()
            done += len(batch)
    return done


def _lines(read: Reader, rows: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    found = read([(row["statement"], row["opposite"], row["document"]) for row in rows])
    for row, (one, two, neither, both) in zip(rows, found.tolist(), strict=True):
        support, oppose = one + both / 2, two + both / 2
        for text, shares in (("statement", (support, oppose)), ("opposite", (oppose, support))):
            yield {
                "document": row["document"],
                "statement": row[text],
                "probabilities": [*shares, neither],
            }
