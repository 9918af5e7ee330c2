"""Fills the ``<!-- results:NAME -->`` blocks of documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path


def filled(text: str, bodies: Mapping[str, str]) -> str:
    """The text with the block of every name in ``bodies`` made anew; other blocks are left alone.

    A block stands between ``<!-- results:NAME -->`` and ``<!-- /results:NAME -->``. Raises
    ValueError for one that does not end.
    """
    for name, body in bodies.items():
        opening, closing = f"<!-- results:{name} -->\n", f"<!-- /results:{name} -->"
        before, found, rest = text.partition(opening)
        if found:
            _, end, after = rest.partition(closing)
            if not end:
                raise ValueError(f"the block {name!r} has no end: {closing}")
            text = before + opening + body + closing + after
    return text


def fill(paths: Iterable[Path], bodies: Mapping[str, str], *, check: bool) -> list[Path]:
    """The documents that are out of date; they are rewritten unless ``check``."""
    changed = []
    for path in paths:
        old = path.read_text(encoding="utf-8")
        new = filled(old, bodies)
        if new != old:
            changed.append(path)
            if not check:
                path.write_text(new, encoding="utf-8")
    return changed
