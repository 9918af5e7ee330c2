"""A result and its answer as a file: Markdown, HTML or JSON, with sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from perspective_rag import Answer, Claim, ConfigError, RetrievalResult
from perspective_rag.addons import (
    citation_keys,
    escaped,
    grouped,
    origin_of,
    printable,
    render_page,
)
from perspective_rag_serve.writing import plain, source_line

_TEMPLATE = Path(__file__).parent / "templates" / "answer.html"
FORMATS = (".md", ".html", ".json")


def export(result: RetrievalResult, answer: Answer, path: Path) -> None:
    """Writes the file in the format of its ending.

    Raises ConfigError for another ending and for a file that is there already, OSError for one that
    cannot be written.
    """
    written = {".md": markdown, ".html": html, ".json": as_json}.get(path.suffix.lower())
    if written is None:
        raise ConfigError(f"{path.name} must end in one of {', '.join(FORMATS)}")
    text = written(result, answer)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise ConfigError(f"{path} exists: give another name, nothing is overwritten") from error


def as_json(result: RetrievalResult, answer: Answer) -> str:
    """Both as one JSON document; what is no number becomes null."""
    document = {"result": result.to_dict(), "answer": answer.to_dict()}
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return escaped(text) + "\n"


def markdown(result: RetrievalResult, answer: Answer) -> str:
    """The answer by side, then every passage with its source; nothing in a text acts as mark-up."""
    page = _page(result, answer)
    lines = [f"# {plain(page['title'])}", plain(page["reading"]), f"**{plain(page['summary'])}**"]
    for section in page["sections"]:
        lines.append(f"## {plain(section['title'])}")
        if section["strength"]:
            lines.append(f"*{plain(section['strength'])}*")
        lines += [f"- {plain(each['text'])} {each['marks']}" for each in section["claims"]]
    for text in page["missing"]:
        lines.append(f"No passage is sorted under: {plain(text)}")
    lines += [f"No passage says: {plain(text)}" for text in page["lacks"]]
    for column in page["columns"]:
        lines.append(f"## Passages: {plain(column['title'])}")
        for each in column["passages"]:
            lines.append(f"**\\[{each['n']}\\]** {source_line(each)}\n\n> {plain(each['text'])}")
    return "\n\n".join(line for line in lines if line.strip("*")) + "\n"


def html(result: RetrievalResult, answer: Answer) -> str:
    """One page in one file, without scripts, every text escaped.

    Raises MissingDependency without jinja2.
    """
    return render_page(_TEMPLATE, **_page(result, answer))


def _page(result: RetrievalResult, answer: Answer) -> dict[str, Any]:
    texts = {each.id: printable(each.text) for each in result.perspectives}
    numbers = {key: n for n, key in enumerate(citation_keys(result.candidates), start=1)}

    def claim_of(claim: Claim) -> dict[str, str]:
        marks = "".join(f"[{numbers[key]}]" for key in claim.citations if key in numbers)
        notes = " (reported)" if claim.reported else ""
        notes += " (not borne out by what it cites)" if claim.verified is False else ""
        return {"text": printable(claim.text) + notes, "marks": marks}

    sections = []
    for side in (*texts, None):
        known = [(c, c.perspective if c.perspective in texts else None) for c in answer.claims]
        own = [claim for claim, its_side in known if its_side == side]
        if own:
            title = texts.get(side or "") or ("Besides" if texts else "Answer")
            strength = answer.strength.get(side or "", "")
            sections.append(
                {"title": title, "strength": strength, "claims": [claim_of(c) for c in own]}
            )
    return {
        "title": printable(result.question),
        "reading": printable(result.reading),
        "summary": printable(answer.summary),
        "sections": sections,
        "missing": [printable(each.text) for each in answer.unsupported],
        "lacks": [printable(each) for each in answer.missing],
        "columns": _columns(result, texts),
    }


def _columns(result: RetrievalResult, texts: dict[str, str]) -> list[dict[str, Any]]:
    groups = grouped(result)
    named = [(texts[side], places) for side, places in groups.listed.items()]
    named += groups.others
    return [
        {"title": title, "passages": [_passage(result, place) for place in places]}
        for title, places in named
        if places
    ]


def _passage(result: RetrievalResult, place: int) -> dict[str, Any]:
    passage = result.candidates[place].passage
    origin = origin_of(passage)
    return {
        "n": place + 1,
        "title": origin.title,
        "source": origin.source,
        "url": origin.url,
        "date": origin.date,
        "text": printable(passage.text),
    }
