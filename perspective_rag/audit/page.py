"""The audit as one HTML page in one file: no script, no network, every text escaped."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from perspective_rag.audit import verdict as words
from perspective_rag.audit.figures import AuditedPassage, AuditFigures, QuestionFigures, worst
from perspective_rag.audit.verdict import AuditLimits, AuditVerdict
from perspective_rag.errors import MissingDependency

_TEMPLATES = Path(__file__).parent / "templates"


def render(template: Path, **values: Any) -> str:
    """The page of a Jinja template, which may extend ``page.html`` and import ``parts.html`` and
    ``charts.html``.

    Values are escaped. Raises MissingDependency without jinja2.
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


def audit_page(
    figures: AuditFigures, *, about: Mapping[str, str], verdict: AuditVerdict | None = None
) -> str:
    """The page; ``about`` names what was audited and with what, ``verdict`` stands first.

    Raises MissingDependency without jinja2.
    """
    bars = [
        (row.question.text, (sides.support, sides.mixed, sides.oppose, sides.neither))
        for row in figures.questions
        if not row.error and (sides := row.neutral.sides)
    ]
    return render(
        _TEMPLATES / "audit.html",
        title="How many sides does this retriever show?",
        about=" · ".join(f"{name}: {value}" for name, value in about.items()),
        figures=figures,
        words=words,
        verdict=verdict or AuditLimits().verdict(figures),
        bars=bars,
        worst=[_question(each) for each in worst(figures.questions)],
        problems=[words.problem_line(each) for each in figures.degradations],
    )


def _question(row: QuestionFigures) -> dict[str, Any]:
    """What ``question`` of ``parts.html`` shows."""
    texts = {each.id: each.text for each in row.question.perspectives}
    css: dict[str, str] = {each.id: each.stance or "" for each in row.question.perspectives}
    if row.outcome and not any(css.values()):
        css = dict(zip(texts, ("support", "oppose"), strict=True))
    passages = [
        {
            "title": each.passage.title or each.passage.id,
            "text": each.passage.text,
            "marks": _marks(each, texts, css),
        }
        for each in row.neutral.passages
    ]
    missing = [text for identity, text in texts.items() if identity not in row.covered]
    return {"question": row.question.text, "missing": missing, "passages": passages}


def _marks(
    passage: AuditedPassage, texts: Mapping[str, str], css: Mapping[str, str]
) -> list[tuple[str, str]]:
    """What is said of a passage: the sides it supports, else the best that can be said of it."""
    verdicts = set(passage.verdicts.values())
    if "mixed" in verdicts:
        return [("mixed: argues for and against", "both")]
    if supports := passage.supports:
        return [(f"supports: {texts[each]}", css[each]) for each in supports]
    unknown = "not sorted: the judge cannot tell"
    return [("takes no side" if verdicts <= {"silent"} else unknown, "")]
