"""Long texts into passages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError
from perspective_rag.local.corpus.splitting import count_words, split_text


@pytest.mark.parametrize(
    ("text", "words", "pieces"),
    [
        (
            "One two three. Four five six! Seven eight nine? Ten eleven.",
            6,
            ["One two three. Four five six!", "Seven eight nine? Ten eleven."],
        ),
        (
            "A b c d e. " * 4 + "Two words.",
            10,
            ["A b c d e. A b c d e.", "A b c d e. A b c d e. Two words."],
        ),
        (
            "We met Dr. Smith. They saw e.g. this one.",
            5,
            ["We met Dr. Smith.", "They saw e.g. this one."],
        ),
        (" A  short\ntext. ", 100, ["A  short\ntext."]),
        ("", 100, []),
        ("   \n\t  ", 100, []),
        ("word " * 500, 100, [("word " * 100).strip()] * 5),
    ],
)
def test_pieces_end_where_sentences_end(text, words, pieces):
    assert split_text(text, words=words) == pieces


@pytest.mark.parametrize("text", ["พลังงานนิวเคลียร์" * 100, "x" * 50_000])
def test_what_has_no_end_is_cut(text):
    pieces = split_text(text)
    assert len(pieces) > 5
    assert max(map(len, pieces)) <= 5_000
    assert "".join(pieces) == text


def test_chinese_is_cut_at_its_full_stops():
    sentence = "核能发电的安全性一直是公众讨论的焦点问题。"
    pieces = split_text(sentence * 40)
    assert all(piece.endswith("。") for piece in pieces)
    assert all(len(piece) <= 250 for piece in pieces)
    assert "".join(pieces) == sentence * 40
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
