"""An answer as a file: nothing in a passage acts as mark-up, and nothing is overwritten."""

from __future__ import annotations

import json
import re

import pytest

from perspective_rag.errors import ConfigError
from perspective_rag.types import Answer, Claim
from perspective_rag_serve.commands.exporting import export, html, markdown
from tests.unit.commands.test_showing import SIDES, result_of

ATTACK = (
    "![x](https://collect.example/?q=1) <script>alert(1)</script> [a](javascript:x) \x1b[2J\u202e"
)
RESULT = result_of([(0.9, 0.1), (0.1, 0.9)], texts=[f"Good {ATTACK}.", "Bad, in short."])
ANSWER = Answer(
    (
        Claim("They help.", ("p0",), "support", verified=True),
        Claim("They hurt.", ("p1",), "oppose", reported=True, verified=False),
        Claim(ATTACK, ("p0",)),
    ),
    (SIDES[1],),
    summary="1 for, 1 against.",
    strength={"support": "1 passage from one source"},
)


def test_markdown_has_every_part_and_no_active_mark_up():
    text = markdown(RESULT, ANSWER)
    for part in (
        "# Are zoos good?",
        "## Zoos are good\n\n*1 passage from one source*\n\n- They help. [1]",
        "- They hurt. (reported) (not borne out by what it cites) [2]",
        "## Besides",
        "No passage is sorted under: Zoos are not good",
        "> Bad, in short.",
    ):
        assert part in text
    assert "https://" not in text
    assert "![" not in text.replace("\\!", "").replace("!\\", "")
    assert "<script" not in text.replace("\\<", "")
    assert not re.search("[\x1b\u202e]", text)


def test_html_escapes_every_text():
    page = html(RESULT, ANSWER)
    body = page.partition("<h1>")[2]
    assert "<script" not in body
    assert "&lt;script&gt;" in body
    assert "javascript:" not in "".join(re.findall(r"(?:href|src)=\"([^\"]*)", page))
    assert "They help. [1]" in page
    assert not re.search("[\x1b\u202e]", page)


def test_json_is_the_whole_result(tmp_path):
    path = tmp_path / "answer.json"
    export(RESULT, ANSWER, path)
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["answer"]["claims"][1]["verified"] is False
    assert document["result"]["question"] == "Are zoos good?"


@pytest.mark.parametrize("name", ["answer.txt", "answer"])
def test_another_ending_is_refused(tmp_path, name):
    with pytest.raises(ConfigError, match=r"\.md, \.html, \.json"):
        export(RESULT, ANSWER, tmp_path / name)


def test_nothing_is_overwritten(tmp_path):
    path = tmp_path / "answer.md"
    path.write_text("mine")
    with pytest.raises(ConfigError, match="nothing is overwritten"):
        export(RESULT, ANSWER, path)
    assert path.read_text() == "mine"
