"""The pages of the reference that are written from the code say what the code says."""

from __future__ import annotations

import importlib
import os
import re
from dataclasses import fields

import pytest

import perspective_rag
import perspective_rag_scale
import perspective_rag_train
from perspective_rag.options import PipelineOptions
from tests.docs.blocks import ROOT
from tests.docs.reference import commands_page, options_page

REFERENCE = ROOT / "docs" / "reference"
_WITH_OTHER_PACKAGES = ("deepeval_", "ragas_")  # `make test-evaluation` imports them


def _shown() -> list[str]:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    return re.findall(r"^::: (\S+)$", pages, re.MULTILINE)


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
    assert {"ask", "index", "audit", "build-dataset", "example", "judge train", "serve"} <= set(
        sections
    )


def test_every_public_name_is_on_a_page_of_the_reference():
    shown = set(_shown())
    public = (perspective_rag, perspective_rag_scale, perspective_rag_train)
    assert not {f"{each.__name__}.{name}" for each in public for name in each.__all__} - shown
    selectors = ("Selector", "PlainFirst")
    assert not {f"perspective_rag.extend.{name}" for name in selectors} - shown


@pytest.mark.parametrize(
    "name", sorted(name for name in _shown() if not name.startswith(_WITH_OTHER_PACKAGES))
)
def test_every_name_on_a_page_of_the_reference_is_there(name):
    home, _, last = name.rpartition(".")
    assert hasattr(importlib.import_module(home), last)


def test_every_error_is_explained():
    page = (REFERENCE / "errors.md").read_text(encoding="utf-8")
    public = [getattr(perspective_rag, name) for name in perspective_rag.__all__]
    kinds = [each for each in public if isinstance(each, type) and issubclass(each, Exception)]
    assert len(kinds) > 8
    assert not [kind.__name__ for kind in kinds if f"`{kind.__name__}`" not in page]
