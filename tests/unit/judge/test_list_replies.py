"""What models reply about lists, good and bad, and their quotations, found in linear time."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.errors import LLMReplyError
from perspective_rag.judge.llm_list import (
    MAX_WORDS,
    ListVerdict,
    find_quote,
    letter,
    list_schema,
    parse_list_reply,
)
from perspective_rag.types import Passage, Prompt, Proof

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
        json.dumps(ENTRIES[::-1]),
        json.dumps({"results": ENTRIES}, indent=2),
        "Sure! Here are the verdicts:\n```json\n"
        + json.dumps(ENTRIES)
        + "\n```\nI hope this helps.",
        "\n".join(json.dumps(each) for each in ENTRIES),
        ",\n".join(json.dumps(each) for each in ENTRIES),
        json.dumps({str(each["passage"]): each for each in ENTRIES}),
        json.dumps({"verdicts": {str(each["passage"]): each for each in ENTRIES}}),
        json.dumps(dict(enumerate(ENTRIES))),
        json.dumps({"verdicts": dict(enumerate(ENTRIES))}),
        json.dumps(
            dict(enumerate([{"number": e.pop("passage"), **e} for e in map(dict, ENTRIES)]))
        ),
        json.dumps({"notes": [], **{str(each["passage"]): each for each in ENTRIES}}),
        json.dumps({str(e.pop("passage")): {"id": "x", **e} for e in map(dict, ENTRIES)}),
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


@pytest.mark.parametrize("odd", ["sure", "", None, 3, ["clear"], {"grade": "clear"}])
def test_an_unknown_grade_is_leaning_and_a_quotation_that_is_no_text_is_none(odd):
    assert read(json.dumps([{**ENTRIES[0], "grade": odd}]))[1].grade == "leaning"
    if not isinstance(odd, str):
        assert read(json.dumps([{**ENTRIES[0], "quote": odd}]))[1].quote == ""


def test_a_passage_with_two_verdicts_has_none():
    again = {**ENTRIES[0], "side": "B"}
    assert read(json.dumps([*ENTRIES, again])) == {2: B, 3: NONE}
    assert read(json.dumps([*ENTRIES, ENTRIES[0]])) == WANTED


def test_a_reply_that_broke_off_keeps_its_whole_entries():
    whole = json.dumps({"verdicts": ENTRIES})
    assert read(whole[: whole.index('"passage": 3') + 20]) == {1: A, 2: B}


BAD = [
    "", "I'd say mostly A.", "1: A\n2: B", "{}", "[]", "null", "42", '"A"', "NaN", "\ud800\x00",
    '{"verdicts": "A"}', '{"verdicts": null}', '{"verdicts": [[1, "A"]]}', '{"A": [1, 2]}',
    '{"verdicts": [{"passage": 1, "si', "[" * 5000, '{"a":' * 5000, "{" + '"' * 4999,
    '[{"passage": NaN, "side": "A"}]', '[{"passage": 1e400, "side": "A"}]',
    json.dumps({"0": {"side": "A"}, "1": {"side": "B"}}),  # which passage is meant?
    json.dumps([{"passage": 1, "side": "Z" * 100_000}]), json.dumps({"passage": 99, "side": "A"}),
]  # fmt: skip


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


# Quotations

TEXT = (
    "Critics “never” asked\n  the keepers; the zoo’s  lions – all nine — pace. 動物園は閉じるべき。"
)


@pytest.mark.parametrize(
    ("quote", "words"),
    [
        ("the keepers; the", "the keepers; the"),
        ('Critics "never" asked the keepers', "Critics “never” asked\n  the keepers"),
        ("the zoo's lions - all nine", "the zoo’s  lions – all nine"),
        ('"lions – all nine — pace."', "lions – all nine — pace"),
        ("...asked the keepers…", "asked\n  the keepers"),
        ("動物園は閉じる", "動物園は閉じる"),
    ],
)
def test_white_space_and_marks_aside(quote, words):
    proof = find_quote(quote, TEXT)
    assert proof is not None
    assert proof.of(Passage("p", TEXT)) == words


@pytest.mark.parametrize(
    "quote",
    [
        "",
        "…",
        "lions",  # one word proves nothing
        "critics never asked",  # other case, other words
        "the keeper",  # not to the end of the word
        "ritics “never”",
        "the keepers ... all nine",  # joined
        "lions pace all nine",
    ],
)
def test_what_is_not_there_is_not_found(quote):
    assert find_quote(quote, TEXT) is None


def test_a_passage_given_back_is_no_quotation_and_words_may_stand_inside_others_before():
    text = " ".join(f"word{i}" for i in range(200))
    assert find_quote(text, text) is None
    exactly = " ".join(text.split()[:MAX_WORDS])
    assert find_quote(exactly, text) == Proof(0, len(exactly))
    assert find_quote("art is", "party art is; art is") == Proof(6, 12)
    assert find_quote("an art", "than art, an art") == Proof(10, 16)


@given(st.text(max_size=60), st.integers(0, 60), st.integers(0, 60))
def test_any_found_quote_is_a_piece_of_the_text(text, start, end):
    proof = find_quote(text[start:end], text)
    if proof is not None:
        assert 0 <= proof.start < proof.end <= len(text)
        again = find_quote(proof.of(Passage("p", text)), text)
        assert again is not None


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("a " * 39 + "b", "a " * 500_000),
        (" " * 100_000, " " * 500_000 + "x"),
        ('"' * 100_000, "'" * 500_000),
        ("aa aa", "aaa" * 300_000),
    ],
)
def test_hostile_texts_take_no_time(quote, text):
    assert find_quote(quote, text) is None
