"""A terminal that nothing shown on it can steer."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from perspective_rag.text import printable

# No user before the host, which would hide it; ASCII alone, so that no letter looks like another.
_ADDRESS = re.compile(r"https?://[A-Za-z0-9.\-\[\]:]{1,255}(?:[/?#][!-~]{0,1800})?")
_CHECKED = {"checked link": True}


def linked(text: str, url: str | None) -> Text:
    """A text that opens an address of http or https where the terminal can (OSC 8); plain for any
    other address.
    """
    if url is None or not _ADDRESS.fullmatch(url):
        return Text(printable(text))
    return Text(printable(text), style=Style(link=url, meta=_CHECKED))


class SafeConsole(Console):
    """A rich console that shows no control characters of a text, wherever the text is from.

    Passages, titles, questions and error messages all pass here; ``text.printable`` says what is
    left out. Links are those of ``linked`` alone: mark-up in a text makes none.
    """

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments, with printable text and checked links only; rich's own codes stay."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(segment.text), _checked(segment.style))


def _checked(style: Style | None) -> Style | None:
    if style is None or style.link is None:
        return style
    own = style.meta.get("checked link") is True and _ADDRESS.fullmatch(style.link)
    return style if own else style.update_link(None)
