"""What a language model reads of a retriever that it may call as a tool, in every framework."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from perspective_rag.annotations import report_in

TOOL_NAME = "search_every_side"
TOOL_DESCRIPTION = (
    "Finds passages on every side of a question, and says which side each one supports. "
    "What the judge cannot tell is 'not sorted': read it. The query is a whole question."
)
TOOL_QUERY = "The question, in full; never empty."
TOOL_PERSPECTIVES = (
    "The sides to look for, each as a full statement about the question ('Zoos save rare "
    "species from extinction', not 'conservation'); left out, they are found."
)


def tool_perspectives(given: Sequence[str] | None) -> list[str] | None:
    """Reads the perspectives that a model fills in when it calls a tool.

    Args:
        given: What the model filled in.

    Returns:
        The perspectives without the blank ones; None where nothing is left.
    """
    return [text for text in given or () if text.strip()] or None


def tool_text(found: Iterable[tuple[Mapping[str, Any], str]]) -> str:
    """Writes what a tool tells a model: numbered passages, their sides, and the sides without one.

    Args:
        found: Metadata (see ``report_in``) and text of each document that a wrapper returned.

    Returns:
        The text of the tool's message.
    """
    lines, reports = [], []
    for number, (metadata, text) in enumerate(found, start=1):
        reports.append(report_in(metadata))
        lines.append(_passage(number, str(metadata.get("title") or ""), text, reports[-1]))
    sides = {name: text for report in reports for name, text in report["sides"].items()}
    listed = {name for report in reports for name in report["supports"]}
    lacking = [text for name, text in sides.items() if name not in listed]
    states = [report["state"] for report in reports]
    if lacking and "not judged" in states:
        lines.append(f"Whether a passage supports a side was not judged: {'; '.join(lacking)}")
    elif lacking:
        count = states.count("not sorted")
        more = f" ({count} not sorted: the judge cannot tell, read them)" if count else ""
        lines.append(f"No passage is sorted under: {'; '.join(lacking)}{more}")
    return "\n\n".join(lines) or "Nothing was found."


def _passage(number: int, title: str, text: str, report: Mapping[str, Any]) -> str:
    head = f"{title}: " if title.strip() and title.strip() not in text[:200] else ""
    line = f"[{number}] {head}{text}"
    if not report["sides"]:
        return line
    sides = "; ".join(report["perspectives"])
    notes = ", and only reports what others say" if report["reported"] and sides else ""
    return f"{line}\n    {f'supports: {sides}{notes}' if sides else report['state']}"
