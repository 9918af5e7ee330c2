"""Pairs of passage and perspective in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perspective_rag import CorpusError, Passage, Perspective
from perspective_rag.addons import Pair, json_lines

_TEXTS = ("document", "statement")
_OPTIONAL = ("passage", "perspective", "title", "stance", "claim")


def read_pairs(path: str | Path) -> Iterator[Pair]:
    """The pairs of a JSON lines file (``.gz`` or not), one line in memory at a time.

    A line holds ``document`` and ``statement``, as those that a judge learns from. It may hold the
    ids ``passage`` and ``perspective`` (without them: the line's number), the document's ``title``,
    and the statement's ``stance`` ("support" or "oppose") towards a ``claim``. Raises CorpusError,
    with the line's place, for one that cannot be used.
    """
    for number, (place, row) in enumerate(json_lines(Path(path)), start=1):
        yield _pair(row, place, str(number))


def _pair(row: dict[str, Any], place: str, number: str) -> Pair:
    for name in (*_TEXTS, *_OPTIONAL):
        value = row.get(name)
        if value is None and name in _OPTIONAL:
            continue
        if not isinstance(value, str) or (name in _TEXTS and not value.strip()):
            raise CorpusError(f"{place}: {name!r} must be a text, got {value!r:.80}")
    stance = row.get("stance")
    if stance not in (None, "support", "oppose"):
        raise CorpusError(f"{place}: 'stance' must be 'support' or 'oppose', got {stance!r:.80}")
    title = row.get("title")
    metadata = {"title": title} if title else {}
    passage = Passage(row.get("passage") or number, row["document"], metadata)
    identity = row.get("perspective") or number
    return passage, Perspective(identity, row["statement"], stance, claim=row.get("claim"))
