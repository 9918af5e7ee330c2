"""Charts as inline SVG, from numbers and texts alone; texts are escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH = 760
_LABEL = 330
_LABEL_CHARACTERS = 44


class Svg(str):
    """A drawing; templates put it into a page as it is, while they escape other strings."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


@dataclass(frozen=True, slots=True)
class Share:
    """One part of a bar: what it stands for, and a colour of the page's style."""

    name: str
    colour: str


@dataclass(frozen=True, slots=True)
class Point:
    """A value with the bounds of its interval."""

    x: float
    mean: float
    low: float
    high: float


def stacked_bars(shares: Sequence[Share], rows: Sequence[tuple[str, Sequence[float]]]) -> Svg:
    """A horizontal bar for each row (label, one number for each share); all on one scale."""
    longest = max((sum(values) for _, values in rows), default=0.0) or 1.0
    height = 24
    parts, x = [], 0.0
    for share in shares:
        parts.append(_box(x, 2, 12, 12, share.colour) + _text(x + 17, 13, share.name))
        x += 34 + 7.6 * len(share.name)
    for place, (label, values) in enumerate(rows):
        y, x = 30 + place * height, float(_LABEL)
        parts.append(_text(0, y + 14, _short(label), title=label))
        for share, value in zip(shares, values, strict=True):
            width = value / longest * (_WIDTH - _LABEL - 4)
            if value:
                parts.append(_box(x, y, width, height - 6, share.colour))
                parts.append(_number(x + width / 2, y + 13, f"{value:g}"))
            x += width
    return _svg(34 + len(rows) * height, parts)


def curve(series: Sequence[tuple[str, str, Sequence[Point]]], *, x_label: str, y_label: str) -> Svg:
    """Lines with bands for (name, colour, points); y is a share in [0, 1], drawn from 0 to 100%."""
    left, top, width, height = 52, 26, _WIDTH - 70, 230
    points = [point for _, _, line in series for point in line]
    first = min((point.x for point in points), default=0.0)
    last = max((point.x for point in points), default=1.0)
    span = (last - first) or 1.0

    def at(x: float, y: float) -> tuple[float, float]:
        return left + (x - first) / span * width, top + (1.0 - y) * height

    parts = [_text(0, 12, y_label, css="soft")]
    for step in range(5):
        y = at(first, step / 4)[1]
        parts.append(_line(left, y, left + width, y))
        parts.append(_text(left - 6, y + 4, f"{step * 25}%", anchor="end", css="soft"))
    for x in _ticks(first, last):
        parts.append(_text(at(x, 0)[0], top + height + 18, f"{x:g}", anchor="middle", css="soft"))
    parts.append(_text(left + width, top + height + 36, x_label, anchor="end", css="soft"))
    for place, (name, colour, line) in enumerate(series):
        band = [at(p.x, p.high) for p in line] + [at(p.x, p.low) for p in reversed(line)]
        parts.append(f'<polygon points="{_path(band)}" fill="var(--{colour})" opacity=".18"/>')
        middle = _path([at(p.x, p.mean) for p in line])
        parts.append(
            f'<polyline points="{middle}" fill="none" stroke="var(--{colour})" stroke-width="2.5"/>'
        )
        if len(series) > 1:
            parts.append(_box(left + 14, top + 8 + 20 * place, 12, 12, colour))
            parts.append(_text(left + 32, top + 19 + 20 * place, name))
    return _svg(top + height + 44, parts)


def intervals(
    rows: Sequence[tuple[str, str, Point]], *, low: float, high: float, ends: tuple[str, str]
) -> Svg:
    """A mean with its interval for each row (label, colour, point), on a scale from ``low`` to
    ``high`` whose ends are named.
    """
    span, height = _WIDTH - _LABEL - 30, 28

    def at(value: float) -> float:
        share = (value - low) / (high - low)
        return _LABEL + 10 + min(max(share, 0.0), 1.0) * span

    bottom = 24 + len(rows) * height
    parts = [_line(at(x), 20, at(x), bottom) for x in (low, (low + high) / 2, high)]
    parts.append(_text(at(low), 12, ends[0], css="soft"))
    parts.append(_text(at(high), 12, ends[1], anchor="end", css="soft"))
    for place, (label, colour, point) in enumerate(rows):
        y = 24 + place * height + 12
        parts.append(_text(0, y + 4, _short(label), title=label))
        parts.append(
            f'<line x1="{at(point.low):.1f}" y1="{y}" x2="{at(point.high):.1f}" y2="{y}" '
            f'stroke="var(--{colour})" stroke-width="3"/>'
        )
        parts.append(f'<circle cx="{at(point.mean):.1f}" cy="{y}" r="6" fill="var(--{colour})"/>')
    return _svg(bottom + 6, parts)


def _svg(height: float, parts: Sequence[str]) -> Svg:
    body = "\n".join(parts)
    return Svg(
        f'<svg viewBox="0 0 {_WIDTH} {height:.0f}" width="{_WIDTH}" height="{height:.0f}" '
        f'role="img" xmlns="http://www.w3.org/2000/svg">\n{body}\n</svg>'
    )


def _text(
    x: float, y: float, value: str, *, anchor: str = "start", css: str = "", title: str = ""
) -> str:
    attribute = f' class="{css}"' if css else ""
    hover = f"<title>{escape(title)}</title>" if title else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{attribute}>{escape(value)}{hover}'
        "</text>"
    )


def _number(x: float, y: float, value: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" '
        f'style="fill:#fff;font-weight:600">{escape(value)}</text>'
    )


def _box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="var(--{colour})"/>'
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="var(--line)"/>'


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _ticks(first: float, last: float) -> list[float]:
    step = next((s for s in (1, 2, 5, 10, 20, 50, 100) if (last - first) / s <= 10), 200)
    inner = [x for x in range(0, int(last) + 1, step) if first < x < last - step / 2]
    return [first, *inner, last]


def _short(label: str) -> str:
    if len(label) <= _LABEL_CHARACTERS:
        return label
    return label[: _LABEL_CHARACTERS - 1] + "…"
