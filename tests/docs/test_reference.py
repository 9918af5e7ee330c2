"""The pages of the reference that are written from the code say what the code says."""

from __future__ import annotations

import os
import re
from dataclasses import fields

import pytest

import perspective_rag
from perspective_rag.options import PipelineOptions
from tests.docs.blocks import ROOT
from tests.docs.reference import commands_page, options_page

REFERENCE = ROOT / "docs" / "reference"


@pytest.mark.parametrize(
    ("name", "write"), [("options", options_page), ("commands", commands_page)]
)
def test_the_generated_page_is_up_to_date(name, write):
    path = REFERENCE / f"{name}.md"
    if os.environ.get("WRITE_DOCS"):
        path.write_text(write(), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == write(), (
        f"{path.name} is out of date: WRITE_DOCS=1 python -m pytest tests/docs -k reference"
    )


def test_every_option_has_a_row():
    rows = re.findall(r"^\| `(\w+)` \| `([^`]*)` \| \S", options_page(), re.MULTILINE)
    assert dict(rows) == {field.name: repr(field.default) for field in fields(PipelineOptions)}


def test_every_command_has_a_section():
    sections = re.findall(r"^## perspective-rag (.+)$", commands_page(), re.MULTILINE)
    assert {"ask", "index", "audit", "build-dataset", "example", "judge train"} <= set(sections)


def test_every_public_name_is_on_a_page_of_the_reference():
    pages = "\n".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    shown = set(re.findall(r"^::: perspective_rag(?:\.\w+)*\.(\w+)$", pages, re.MULTILINE))
    assert not set(perspective_rag.__all__) - shown


def test_every_error_is_explained():
    page = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    public = [getattr(perspective_rag, name) for name in perspective_rag.__all__]
    kinds = [each for each in public if isinstance(each, type) and issubclass(each, Exception)]
    assert len(kinds) > 8
    assert not [kind.__name__ for kind in kinds if f"`{kind.__name__}`" not in page]
