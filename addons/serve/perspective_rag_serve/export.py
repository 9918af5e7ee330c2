"""A reply as a file: Markdown, HTML or JSON, with its sources."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from fastapi.responses import Response

from perspective_rag import __version__
from perspective_rag.addons import escaped, render_page
from perspective_rag_serve.asking import Asked, Reply
from perspective_rag_serve.view import Card, SideView, View
from perspective_rag_serve.writing import Writer, plain, source_line

Format = Literal["markdown", "html", "json"]
_TEMPLATE = Path(__file__).parent / "templates" / "export.html"
_KINDS = {
    "markdown": ("text/markdown", "md"),
    "html": ("text/html", "html"),
    "json": ("application/json", "json"),
}


class Wanted(Asked):
    """The body of ``POST /api/export``."""

    format: Format


def exported(reply: Reply, format: Format) -> Response:
    """The file, under a name that holds nothing of the question."""
    made = {"markdown": markdown, "html": html, "json": as_json}[format](reply)
    kind, ending = _KINDS[format]
    headers = {"Content-Disposition": f'attachment; filename="perspectives.{ending}"'}
    return Response(made, media_type=f"{kind}; charset=utf-8", headers=headers)


def as_json(reply: Reply) -> str:
    """Everything that ``/api/ask`` replies."""
    document = {"version": __version__, "at": _now(), **reply.to_dict()}
    return escaped(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)) + "\n"


def markdown(reply: Reply) -> str:
    """The answer, then every passage under its side."""
    writer = Writer()
    view = reply.view
    lines = [f"# {plain(view.question)}\n\n{plain(reply.reading['text'])}\n\n"]
    lines += writer.pieces("result", view.to_dict())
    for claim in reply.answer["claims"]:
        lines += writer.pieces("claim", claim)
    lines += writer.pieces("answer", {**reply.answer, "sources": False})
    for title, empty, cards in _columns(view):
        lines.append(f"\n## {plain(title)}\n")
        if empty:
            lines.append(f"\n{plain(empty)}\n")
        for card in cards:
            copies = f" (and {card.copies} that say the same)" if card.copies else ""
            values = {"title": card.title, "url": card.url, "source": card.source}
            head = source_line({**values, "date": card.date})
            lines.append(f"\n**[{card.n}]** {head}{copies}\n\n> {plain(card.text)}\n")
    return "".join(lines)


def html(reply: Reply) -> str:
    """One page in one file, without scripts; every text escaped."""
    view = reply.view
    marks = {id(card): _pieces(card) for _, _, cards in _columns(view) for card in cards}
    return render_page(
        _TEMPLATE,
        title=view.question,
        reading=reply.reading["text"],
        view=view,
        claims=[
            {
                **claim,
                "side": next((s.text for s in view.sides if s.id == claim["perspective"]), ""),
            }
            for claim in reply.answer["claims"]
        ],
        columns=[
            {"title": title, "empty": empty, "cards": [(c, marks[id(c)]) for c in cards]}
            for title, empty, cards in _columns(view)
        ],
        at=_now(),
    )


def _columns(view: View) -> list[tuple[str, str, tuple[Card, ...]]]:
    """Title, what is said where it is empty, and cards of each column; empty sides stay."""
    columns = [(side.text, _empty(side), side.cards) for side in view.sides]
    groups = {"mixed": view.mixed, "neither": view.neither, "unsorted": view.unsorted}
    return columns + [(view.titles[name], "", cards) for name, cards in groups.items() if cards]


def _empty(side: SideView) -> str:
    if side.cards:
        return ""
    return f"{side.empty} Searched for: {'; '.join(side.searched) or 'nothing'}."


def _pieces(card: Card) -> tuple[str, str, str]:
    """The text before, in and after the sentence that is marked."""
    if card.highlight is None:
        return card.text, "", ""
    data = card.text.encode("utf-16-le")
    start, end = (2 * each for each in card.highlight)
    cut: Any = (data[:start], data[start:end], data[end:])
    before, within, after = (each.decode("utf-16-le") for each in cut)
    return before, within, after


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
