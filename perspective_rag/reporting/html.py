"""Reports as one HTML page in one file: no script, no network, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from perspective_rag.errors import MissingDependency

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage in a report: ``marks`` are (what it supports, css class) in the order shown."""

    title: str
    text: str
    marks: Sequence[tuple[str, str]] = ()

    @property
    def css(self) -> str:
        """The class of its block: the one side it takes, both, or none."""
        sides = {css for _, css in self.marks if css}
        side = sides.pop() if len(sides) == 1 else "both" if sides else ""
        return f"passage {side}".strip()


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A question in a report, the perspectives that nothing was found for, and its passages."""

    question: str
    missing: Sequence[str]
    passages: Sequence[ShownPassage]


def render(template: Path, **values: Any) -> str:
    """The page of a Jinja template, which may extend ``page.html`` and import ``parts.html``.

    Values are escaped, except charts, which are SVG. Raises MissingDependency without jinja2.
    """
    try:
        import jinja2
    except ImportError as error:
        raise MissingDependency("local", "writing a report as HTML") from error
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([template.parent, _TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template.name).render(**values)
