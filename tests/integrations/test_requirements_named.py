"""Every requirement has its tests, for each framework."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize("framework", ["langchain", "llama_index"])
def test_each_of_the_32_requirements_has_a_test_named_after_it(framework):
    files = [*HERE.glob("test_*.py"), *(HERE / framework).glob("test_*.py")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in files)
    named = {int(number) for number in re.findall(r"def test_r(\d+)_", code)}
    assert named == set(range(1, 33))
