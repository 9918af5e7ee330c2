"""The requirements are all there, each with tests that exist."""

from __future__ import annotations

import re

import pytest

from tests.docs.blocks import ROOT

PAGE = (ROOT / "docs" / "requirements.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (R\d+) \| (.+?) \| (must|should) \| (.+) \|$", PAGE, re.MULTILINE)


def test_all_32_are_listed_in_order():
    assert [row[0] for row in ROWS] == [f"R{number}" for number in range(1, 33)]


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_every_test_that_proves_it_exists(row):
    _, requirement, _, proof = row
    assert requirement.endswith(".")
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", proof)
    assert named
    for path, name in named:
        below = "tests" if path.startswith(("unit/", "integrations/")) else "tests/integrations"
        text = (ROOT / below / path).read_text(encoding="utf-8")
        assert re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE), f"{path}::{name}"
