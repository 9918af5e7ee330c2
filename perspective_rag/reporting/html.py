"""One HTML page in one file: no script, no network, every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape


class Markup(str):
    """HTML that is safe to put into a page as it is; plain texts are escaped on the way in."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage in a report: ``marks`` are (what it supports, css class) in the order shown."""

    title: str
    text: str
    marks: Sequence[tuple[str, str]] = ()


_STYLE = """
:root{color-scheme:light dark;--ink:#1d2330;--soft:#667085;--line:#d9dee7;--ground:#fff;
--panel:#f6f8fb;--support:#2f6fb3;--oppose:#c4622d;--both:#6b4fa0;--none:#aab2bf}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ef;--soft:#98a2b3;--line:#333b49;--ground:#14181f;
--panel:#1c222c;--support:#6ea8e6;--oppose:#e8935f;--both:#a78bdb;--none:#5b6472}}
body{font:16px/1.5 system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif;color:var(--ink);
background:var(--ground);max-width:62rem;margin:2rem auto;padding:0 1.2rem}
h1{font-size:1.6rem;margin:0 0 .3rem}h2{font-size:1.15rem;margin:2.2rem 0 .6rem}
h3{font-size:1rem;margin:1.4rem 0 .3rem}p{margin:.4rem 0;max-width:48rem}
.soft{color:var(--soft)}.lead{font-size:1.05rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.92rem;margin:.6rem 0}
th,td{padding:.3rem .8rem .3rem 0;text-align:right;border-bottom:1px solid var(--line);
font-variant-numeric:tabular-nums;vertical-align:top}
th:first-child,td:first-child{text-align:left}th{color:var(--soft);font-weight:600}
td.good{color:#1a7f4b;font-weight:600}td.bad{color:#c0392b;font-weight:600}
svg{max-width:100%;height:auto;display:block;margin:.6rem 0}svg text{fill:var(--ink);font-size:13px}
svg .soft{fill:var(--soft)}
.passage{background:var(--panel);border-left:4px solid var(--none);padding:.5rem .8rem;
margin:.5rem 0;overflow-wrap:anywhere}.passage p{max-width:none;margin:.2rem 0;font-size:.92rem}
.passage.support{border-color:var(--support)}.passage.oppose{border-color:var(--oppose)}
.passage.both{border-color:var(--both)}
.mark{font-size:.82rem;font-weight:600;color:var(--soft)}.mark.support{color:var(--support)}
.mark.oppose{color:var(--oppose)}.mark.both{color:var(--both)}
details>summary{cursor:pointer;font-weight:600;margin:.8rem 0 .2rem;overflow-wrap:anywhere}
"""


def text(value: object) -> Markup:
    """A plain text, escaped; Markup stays as it is."""
    return value if isinstance(value, Markup) else Markup(escape(str(value), quote=True))


def join(parts: Iterable[object]) -> Markup:
    """Parts one after another, plain texts escaped."""
    return Markup("\n".join(text(part) for part in parts))


def element(tag: str, content: object, css: str = "") -> Markup:
    """One element; ``css`` is its class."""
    attribute = f' class="{escape(css, quote=True)}"' if css else ""
    return Markup(f"<{tag}{attribute}>{text(content)}</{tag}>")


def section(title: str, *parts: object) -> Markup:
    """A heading and what stands under it."""
    return join([element("h2", title), *parts])


def table(columns: Sequence[object], rows: Iterable[Sequence[object]]) -> Markup:
    """A table; a cell is a text, or a pair (text, css class)."""
    head = Markup("".join(element("th", column) for column in columns))
    lines = [element("tr", head)]
    for row in rows:
        lines.append(element("tr", Markup("".join(_cells(row)))))
    return element("div", element("table", join(lines)), "scroll")


def details(summary: object, *parts: object, is_open: bool = False) -> Markup:
    """Something to unfold."""
    opening = "<details open>" if is_open else "<details>"
    return Markup(f"{opening}{element('summary', summary)}\n{join(parts)}</details>")


def passages(shown: Iterable[ShownPassage]) -> Markup:
    """Passages in their order, each with what it supports."""
    blocks = []
    for number, each in enumerate(shown, start=1):
        marks = [element("span", mark, f"mark {css}") for mark, css in each.marks]
        head = join([element("b", f"{number}. {each.title}"), *marks])
        css = {css for _, css in each.marks}
        side = css.pop() if len(css) == 1 else "both" if css else ""
        body = join([element("div", head), element("p", each.text)])
        blocks.append(element("div", body, f"passage {side}".strip()))
    return join(blocks)


def page(title: str, *parts: object) -> str:
    """The whole document."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        f"{element('title', title)}\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"{element('h1', title)}\n{join(parts)}\n</body>\n</html>\n"
    )


def _cells(row: Sequence[object]) -> Iterable[Markup]:
    for cell in row:
        yield element("td", *cell) if isinstance(cell, tuple) else element("td", cell)
