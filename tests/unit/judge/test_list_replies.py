"""What models reply about lists: good replies in any form, and a catalogue of bad ones."""

from __future__ import annotations

import json
import random

import pytest

from perspective_rag.errors import LLMReplyError
from perspective_rag.judge.llm_list import (
    ListVerdict,
    letter,
    list_schema,
    parse_list_reply,
)
from perspective_rag.types import Prompt

PROMPT = Prompt("judge_list", "which?")
A = ListVerdict((0,), "clear", "zoos breed them")
B = ListVerdict((1,), "fair", "cages harm")
NONE = ListVerdict((), "clear", "")
ENTRIES = [
    {"passage": 1, "quote": "zoos breed them", "side": "A", "grade": "clear"},
    {"passage": 2, "quote": "cages harm", "side": "B", "grade": "fair"},
    {"passage": 3, "quote": "", "side": "none", "grade": "clear"},
]
WANTED = {1: A, 2: B, 3: NONE}


def read(text, *, count=3, sides=2):
    return parse_list_reply(text, PROMPT, count=count, sides=sides)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"verdicts": ENTRIES}),
        json.dumps(ENTRIES),
        json.dumps({"results": ENTRIES}, indent=2),
        "Sure! Here are the verdicts:\n```json\n"
        + json.dumps(ENTRIES)
        + "\n```\nI hope this helps.",
        "\n".join(json.dumps(each) for each in ENTRIES),
        ",\n".join(json.dumps(each) for each in ENTRIES),
        json.dumps({str(each["passage"]): each for each in ENTRIES}),
        json.dumps({"verdicts": {str(each["passage"]): each for each in ENTRIES}}),
        json.dumps([{**each, "passage": str(each["passage"])} for each in ENTRIES]),
        json.dumps([{**each, "passage": float(each["passage"])} for each in ENTRIES]),
        json.dumps([{**each, "passage": f"[{each['passage']}]"} for each in ENTRIES]),
        json.dumps([{**each, "side": each["side"].lower()} for each in ENTRIES]),
        json.dumps([{**each, "side": f"Side {each['side']}."} for each in ENTRIES]),
        json.dumps([{**each, "grade": each["grade"].upper()} for each in ENTRIES]),
        json.dumps([{**e, "side": None if e["side"] == "none" else e["side"]} for e in ENTRIES]),
        json.dumps([{**e, "side": e["side"].replace("A", "A: Zoos stay")} for e in ENTRIES]),
    ],
)
def test_the_same_verdicts_in_many_forms(text):
    assert read(text) == WANTED


def test_the_order_of_the_entries_says_nothing():
    for seed in range(20):
        mixed = random.Random(seed).sample(ENTRIES, 3)
        assert read(json.dumps({"verdicts": mixed})) == WANTED


@pytest.mark.parametrize(
    ("said", "sides", "columns"),
    [
        ("both", 2, (0, 1)),
        ("A and B", 2, (0, 1)),
        ("A+C", 3, (0, 2)),
        ("C, A", 3, (0, 2)),
        (["A", "C"], 3, (0, 2)),
        ("both", 1, (0,)),
        ("neither", 2, ()),
        ("N/A", 2, ()),
        ([], 2, ()),
    ],
)
def test_sides_by_many_names(said, sides, columns):
    found = read(json.dumps([{"passage": 1, "side": said, "grade": "fair"}]), sides=sides)
    assert found == {1: ListVerdict(columns, "fair", "")}


@pytest.mark.parametrize(
    "entry",
    [
        {"passage": 2, "side": "C", "grade": "clear"},  # no such side
        {"passage": 2, "side": "ABBA"},
        {"passage": 2, "side": 1},
        {"passage": 2, "side": {"A": 1}},
        {"passage": 2},  # no side at all
        {"passage": 0, "side": "A"},
        {"passage": 4, "side": "A"},  # no such passage
        {"passage": -1, "side": "A"},
        {"passage": True, "side": "A"},
        {"passage": 1.5, "side": "A"},
        {"passage": "two", "side": "A"},
        {"passage": "9" * 5000, "side": "A"},
        {"passage": [2], "side": "A"},
        {"side": "A", "grade": "clear"},
        "A",
        7,
        None,
        [],
    ],
)
def test_an_entry_that_cannot_be_read_is_left_out(entry):
    assert read(json.dumps([ENTRIES[0], entry])) == {1: A}


@pytest.mark.parametrize("grade", ["sure", "", None, 3, ["clear"], {"grade": "clear"}])
def test_an_unknown_grade_is_leaning(grade):
    assert read(json.dumps([{**ENTRIES[0], "grade": grade}]))[1].grade == "leaning"


@pytest.mark.parametrize("quote", [None, 3, ["zoos"], {"text": "zoos"}])
def test_a_quotation_that_is_no_text_is_none(quote):
    assert read(json.dumps([{**ENTRIES[0], "quote": quote}]))[1].quote == ""


def test_a_passage_with_two_verdicts_has_none():
    again = {**ENTRIES[0], "side": "B"}
    assert read(json.dumps([*ENTRIES, again])) == {2: B, 3: NONE}
    assert read(json.dumps([*ENTRIES, ENTRIES[0]])) == WANTED


def test_a_reply_that_broke_off_keeps_its_whole_entries():
    whole = json.dumps({"verdicts": ENTRIES})
    assert read(whole[: whole.index('"passage": 3') + 20]) == {1: A, 2: B}


BAD = [
    "",
    "I'd say mostly A.",
    "1: A\n2: B",
    "{}",
    "[]",
    "null",
    "42",
    '"A"',
    '{"verdicts": []}',
    '{"verdicts": "A"}',
    '{"verdicts": null}',
    '{"verdicts": [[1, "A"]]}',
    '{"verdicts": [{"passage": 1, "si',
    '{"A": [1, 2]}',
    "[" * 5000,
    '{"a":' * 5000,
    "{" + '"' * 4999,
    "NaN",
    '[{"passage": NaN, "side": "A"}]',
    '[{"passage": Infinity, "side": "A"}]',
    '[{"passage": 1e400, "side": "A"}]',
    json.dumps([{"passage": 1, "side": "Z" * 100_000}]),
    json.dumps({"passage": 99, "side": "A"}),
    "\ud800\x00",
]


@pytest.mark.parametrize("text", BAD)
def test_a_reply_without_any_verdict_is_one_error(text):
    with pytest.raises(LLMReplyError):
        read(text)


def test_the_schema_names_the_sides():
    entry = list_schema(2)["properties"]["verdicts"]["items"]
    assert entry["properties"]["side"]["enum"] == ["A", "B", "both", "none"]
    assert list_schema(1)["properties"]["verdicts"]["items"]["properties"]["side"]["enum"] == [
        "A", "none",
    ]  # fmt: skip
    assert "enum" not in list_schema(3)["properties"]["verdicts"]["items"]["properties"]["side"]
    assert [letter(i) for i in (0, 25, 26, 27, 701, 702)] == ["A", "Z", "AA", "AB", "ZZ", "AAA"]
