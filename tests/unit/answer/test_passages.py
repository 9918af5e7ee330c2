"""A passage around the sentence that proves it: nothing lost, nothing moved."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.answer.passages import excerpt, origin_of, span_of, without_headings
from perspective_rag.types import Passage

WORDS = st.lists(st.text("abc", min_size=1, max_size=8), min_size=1, max_size=80)


@given(WORDS, st.data(), st.integers(20, 200))
def test_the_marked_words_stay_whole_in_an_excerpt(words, data, length):
    text = " ".join(words)
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first, min(first + 4, len(words) - 1)))
    start = len(" ".join(words[:first])) + (1 if first else 0)
    end = start + len(" ".join(words[first : last + 1]))
    shown, span = excerpt(text, (start, end), length)
    assert shown[slice(*span)] == text[start:end]
    assert len(shown) <= max(length, end - start) + 4
    assert shown.strip("… ") in text
    if len(text) <= length:
        assert shown == text


def test_without_a_sentence_the_beginning_and_the_end_are_shown():
    text = "First words. " + "And so on. " * 50 + "The conclusion."
    shown, span = excerpt(text, None, 100)
    assert span is None
    assert shown.startswith("First words.")
    assert shown.endswith("The conclusion.")
    assert len(shown) <= 104


@pytest.mark.parametrize(
    ("sentence", "marked"),
    [
        ("Zoos teach.", "Zoos teach."),
        ("Cages\nharm [2] animals.", "Cages\nharm [2] animals."),
        ("Zoos teach. They do it well.", "Zoos teach. They do it\nwell."),
        ("They do it well.", "They do it\nwell."),
        ("Keepers know.", "keepers know"),
        ("Nowhere here.", None),
        (".", None),
    ],
)
def test_a_sentence_is_found_where_it_was_cut_from(sentence, marked):
    text = "Zoos teach. They do it\nwell. Cages\nharm [2] animals. So keepers know"
    found = span_of(sentence, text)
    assert (None if found is None else text[slice(*found)]) == marked


def test_marks_of_headings_go_and_their_words_stay():
    assert without_headings("# Zoos\n\nThey # teach.\n  ## Why\n#1 is best") == (
        "Zoos\n\nThey # teach.\nWhy\n#1 is best"
    )


@pytest.mark.parametrize(
    ("title", "heading"),
    [
        ("THBT zoos are prisons", "debate: THBT zoos are prisons"),
        ("This house would close zoos", "debate: This house would close zoos"),
        ("We should close zoos", "debate: We should close zoos"),
        ("Are zoos cruel?", "debate: Are zoos cruel?"),
        ("The case for cages", "The case for cages"),
    ],
)
def test_the_motion_of_a_debate_is_not_taken_for_what_its_passages_say(title, heading):
    assert origin_of(Passage("p", "Text.", {"title": title})).title == heading
