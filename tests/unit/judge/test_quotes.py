"""Quotations are found word for word, and in linear time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.judge.llm_list import MAX_WORDS, find_quote
from perspective_rag.types import Passage, Proof

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


def test_a_passage_given_back_is_no_quotation():
    text = " ".join(f"word{i}" for i in range(200))
    assert find_quote(text, text) is None
    exactly = " ".join(text.split()[:MAX_WORDS])
    assert find_quote(exactly, text) == Proof(0, len(exactly))


def test_the_words_may_stand_inside_others_before():
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
