"""The review file: every entry with its source, and a box to untick."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from perspective_rag import CorpusError
from perspective_rag.addons import shorten
from perspective_rag_train.dataset.build import Built, Entry

_BOX = re.compile(r"^- \[(?P<tick>[ xX])\] keep `(?P<id>[^`]*)`", re.MULTILINE)
_EXCERPT = 400
_ORDER = ("kept", "failed", "personal", "duplicate", "dropped")
_TITLES = {
    "kept": "In the data set",
    "failed": "Failed: the next run tries again",
    "personal": "Left out as personal: tick to have it made all the same",
    "duplicate": "Left out as duplicates",
    "dropped": "Dropped by the reviewer: tick to take it back",
}


def read_decisions(path: Path) -> dict[str, bool]:
    """The boxes of a review file by id, where they say something else than the run did.

    An unticked box among the kept drops the entry, a ticked one among the personal and dropped
    takes it in. A file that is not there decides nothing. Raises CorpusError for one that cannot
    be read.
    """
    if not path.exists():
        return {}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path} cannot be read: {error}") from error
    decisions: dict[str, bool] = {}
    for status in _ORDER:
        part = text.partition(f"## {_TITLES[status]}")[2].partition("\n## ")[0]
        for match in _BOX.finditer(part):
            ticked = match["tick"] != " "
            if status in ("kept", "dropped"):
                decisions[match["id"]] = ticked
            elif status == "personal" and ticked:
                decisions[match["id"]] = True
    return decisions


def review_page(built: Built, name: str) -> str:
    """Markdown: what is kept first, then what was left out and why."""
    counts = {status: sum(e.status == status for e in built.entries) for status in _ORDER}
    lines = [
        f"# Review of {name}",
        "",
        ", ".join(f"{count} {status}" for status, count in counts.items() if count),
        "",
        "Untick what should not be in the data set, save, and run the same command again. "
        "Wordings are changed in the data set itself, after the last run.",
    ]
    for status in _ORDER:
        entries = [each for each in built.entries if each.status == status]
        if entries:
            lines += ["", f"## {_TITLES[status]}"]
            lines += [line for each in entries for line in _shown(each)]
    return "\n".join(lines) + "\n"


def _shown(entry: Entry) -> Sequence[str]:
    source = entry.source
    tick = "x" if entry.status == "kept" else " "
    lines = ["", f"- [{tick}] keep `{source.id}` ({source.kind})"]
    if entry.note:
        lines.append(f"  - note: {_line(entry.note)}")
    if entry.question:
        lines.append(f"  - question: {_line(entry.question)}")
    lines += [f"  - perspective: {_line(text)}" for text in entry.perspectives]
    if source.question and source.question != entry.question:
        lines.append(f"  - from the question: {_line(source.question)}")
    if source.kind != "debate":
        what = {"documents": "document", "survey": "option", "answers": "answer"}[source.kind]
        lines += [f"  - {what}: {_line(text)}" for text in source.texts]
    return lines


def _line(text: str) -> str:
    return shorten(" ".join(text.split()), _EXCERPT)
