"""Reading a question takes time linear in its length."""

from __future__ import annotations

import sys

import pytest

from perspective_rag.perspectives.cleaning import LONGEST, shortened
from perspective_rag.perspectives.find import as_statement_about
from perspective_rag.perspectives.reading import extract_by_rule
from perspective_rag.perspectives.statements import negate

SHAPES = {
    "which is better": lambda n: "which" + " is better" * (n // 10),
    "who is": lambda n: "who is " * (n // 7),
    "marks": lambda n: "!" * n + "x",
    "titles": lambda n: "Mr. " * (n // 4),
    "spaces": lambda n: "Should zoos" + " " * n + "be closed?",
    "options": lambda n: "Is " + "a or " * (n // 5) + "b better?",
    "commas": lambda n: "Which is best: " + "a, " * (n // 3) + "or b?",
    "quotes": lambda n: "Is " + "“" * (n // 2) + "x" + "”" * (n // 2) + " good?",
    "single quotes": lambda n: "Is " + "'a " * (n // 3) + "good?",
    "brackets": lambda n: "Is " + "(" * (n // 2) + "x" + ")" * (n // 2) + " good?",
    "one word": lambda n: "Is " + "a" * n + " good?",
    "one word with capitals": lambda n: "A" + "b" * n + "Error",
    "whether": lambda n: "I wonder " + "whether " * (n // 8) + "it works",
    "that": lambda n: "I think " + "that " * (n // 5) + "it works",
    "relative": lambda n: "Should people " + "who eat " * (n // 8) + "be taxed?",
    "dashes": lambda n: "zoos " + "- " * (n // 2) + "good or bad?",
    "colons": lambda n: "a: " * (n // 3) + "is it so?",
    "questions": lambda n: "Is it so? " * (n // 10),
    "some say": lambda n: "Some say a is b, others say " * (n // 28),
    "please": lambda n: "please, " * (n // 8) + "should zoos close?",
    "thanks": lambda n: "Should zoos close?" + " thanks" * (n // 7),
    "digits": lambda n: "Is " + "1" * n + " too old?",
    "find that": lambda n: "find " + "that supports " * (n // 14) + "x",
    "agree": lambda n: "agree, " * (n // 7) + "zoos are good",
    "misspelt": lambda n: "shoudl zzoos clsoe " * (n // 19),
    "not": lambda n: "Zoos are " + "not " * (n // 4) + "good",
    "accents": lambda n: "é" * n,
    "pictures": lambda n: "😀" * n + " should zoos close?",
}


def steps(call):
    """How many lines of Python a call runs: the same on every machine."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("n", [1_000, 10_000, 100_000])
def test_a_long_text_is_read_to_its_end(name, n):
    found = extract_by_rule(SHAPES[name](n))
    assert len(found.root) <= LONGEST
    assert found.reading


@pytest.mark.parametrize("name", SHAPES)
def test_the_work_grows_no_faster_than_the_text(name):
    extract_by_rule("Should zoos be closed?")  # the vocabulary is read once
    small, large = SHAPES[name](450), SHAPES[name](1_800)
    assert (
        steps(lambda: extract_by_rule(large)) < 8 * steps(lambda: extract_by_rule(small)) + 20_000
    )


@pytest.mark.parametrize("name", SHAPES)
def test_negation_and_labels_of_long_texts_end(name):
    text = SHAPES[name](20_000)
    assert negate(text) != text
    assert as_statement_about(text[:2_000], text)


def test_of_a_long_text_the_last_question_is_read():
    text = "We live by the sea. " * 500 + "Should zoos be closed?"
    found = extract_by_rule(text)
    assert [p.text for p in found.perspectives] == [
        "Zoos should be closed",
        "Zoos should not be closed",
    ]
    assert "only a part" in found.reading
    assert shortened("short") == ("short", False)
