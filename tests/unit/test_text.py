"""Splitting into sentences."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.text import split_sentences, text_key, words

SPLITS = [
    ["Zoos help.", "They breed animals!", "Do they?", "Yes."],
    ["Dr. Smith met Mr. Jones in St. Louis.", "They spoke."],
    ["The C.S. Lewis' books are short.", "J.R.R. Tolkien's are not."],
    ["She moved to the U.S. Congress then acted.", "It passed."],
    ["He lives in the U.S.", "He likes it."],
    ["The meeting began at 5 p.m.", "It was short."],
    ["Many animals, e.g. lions, i.e. big cats, are kept (cf. Smith et al. 2020) there.", "Few leave."],
    ["It rose by 3.5 per cent to $1.25.", "Then it fell."],
    ["Version 2.0.1 is out.", "Get it."],
    ["See Fig. 2 and No. 5.", "He said no.", "Then he left."],
    ["Modern art.", "His third rep.", "Ancient art."],
    ["J. K. Rowling wrote it.", "Vitamin C.", "The rest is known."],
    ['"Why?" he asked.', "Nobody knew."],
    ['He said "No."', "Then he left."],
    ["“It is over.”", "She left."],
    ["(It rained.)", "We stayed."],
    ["He waited... and went.", "He came back?!", "Then...", "Really."],
    ["Wait…", "What?"],
    ["It ended.[1][2]", "She left."],
    ["all lower case.", "still two sentences."],
    ["The iPhone sold approx. five million.", "Apple rejoiced."],
    ["动物园很好。", "真的吗？", "是的！"],
    ["「本当です。」", "彼は言った。"],
    ["यह सच है।", "वह गया।"],
    ["هل هذا صحيح؟", "نعم."],
    ["1. First point.", "2. Second point."],
    ["No full stop at the end"],
    ["Visit www.example.com today.", "Ask for it."],
]  # fmt: skip


@pytest.mark.parametrize("sentences", SPLITS, ids=lambda s: s[0][:24])
def test_known_splits(sentences):
    separators = "\n" if sentences[0].startswith("1.") else " "
    assert split_sentences(separators.join(sentences)) == sentences


def test_paragraphs_and_bullets_end_sentences_but_a_wrapped_line_does_not():
    text = "A heading\n\nA sentence that\nis wrapped. Next.\n- one\n- two"
    assert split_sentences(text) == [
        "A heading",
        "A sentence that\nis wrapped.",
        "Next.",
        "- one",
        "- two",
    ]


@given(st.text(st.sampled_from("aB1 .!?…。\n\"')”-[]U.S")) | st.text())
def test_no_character_is_lost_and_every_sentence_is_a_piece_of_the_text(text):
    sentences = split_sentences(text)
    assert "".join("".join(sentences).split()) == "".join(text.split())
    position = 0
    for sentence in sentences:
        assert sentence
        assert sentence == sentence.strip()
        position = text.index(sentence, position) + len(sentence)


def test_words_and_keys():
    assert words("Don't STOP, café №1 动物") == ["don", "t", "stop", "café", "no1", "动", "物"]
    assert text_key(" Zoos: HELP!\n(us) ") == text_key("zoos help us") == "zoos help us"
    assert text_key("?! …") == ""
    assert text_key("Ｚoos") == "zoos"
