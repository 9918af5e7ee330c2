"""Long texts into passages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError
from perspective_rag.local.corpus.splitting import count_words, split_text


def test_pieces_end_at_sentence_ends():
    text = "One two three. Four five six! Seven eight nine? Ten eleven."
    assert split_text(text, words=6) == [
        "One two three. Four five six!",
        "Seven eight nine? Ten eleven.",
    ]


def test_a_short_tail_joins_the_piece_before_it():
    sentence = "a b c d e f g h i j. "
    assert split_text(sentence.upper() * 4 + "Two words.", words=20) == [
        (sentence.upper() * 2).strip(),
        sentence.upper() * 2 + "Two words.",
    ]


@pytest.mark.parametrize("text", ["", "   \n\t  "])
def test_no_words_no_pieces(text):
    assert split_text(text) == []


def test_a_short_text_stays_as_it_is():
    assert split_text(" A  short\ntext. ") == ["A  short\ntext."]


def test_abbreviations_do_not_end_a_sentence():
    text = "We met Dr. Smith. They saw e.g. this one."
    assert split_text(text, words=5) == ["We met Dr. Smith.", "They saw e.g. this one."]


def test_one_sentence_of_fifty_thousand_words():
    pieces = split_text("word " * 50_000)
    assert len(pieces) == 500
    assert {count_words(piece) for piece in pieces} == {100}


def test_chinese_is_cut_at_its_full_stops():
    sentence = "核能发电的安全性一直是公众讨论的焦点问题。"
    pieces = split_text(sentence * 40)
    assert all(piece.endswith("。") for piece in pieces)
    assert all(len(piece) <= 250 for piece in pieces)
    assert "".join(pieces) == sentence * 40


def test_thai_without_any_full_stop_is_cut():
    text = "พลังงานนิวเคลียร์" * 100
    pieces = split_text(text)
    assert len(pieces) > 5
    assert "".join(pieces) == text


def test_a_blob_without_spaces_is_cut():
    pieces = split_text("x" * 50_000)
    assert max(map(len, pieces)) <= 5_000
    assert "".join(pieces) == "x" * 50_000


def test_words_must_be_positive():
    with pytest.raises(ConfigError, match="at least 1"):
        split_text("text", words=0)


@given(
    st.text(alphabet="ab. !?\n\"'(。核能x", max_size=400),
    st.integers(min_value=1, max_value=30),
)
def test_nothing_is_lost_and_no_piece_is_too_long(text, words):
    pieces = split_text(text, words)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(piece and count_words(piece) <= words + words // 4 + 1 for piece in pieces)
