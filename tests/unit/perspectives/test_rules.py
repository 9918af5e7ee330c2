"""Perspectives by rule, on questions whose sides are plain."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError
from perspective_rag.flow.driver import run
from perspective_rag.perspectives.find import extraction_of
from perspective_rag.perspectives.reading import RuleExtractor, extract_by_rule
from perspective_rag.perspectives.sides import as_perspectives, distinct
from perspective_rag.perspectives.statements import negate
from perspective_rag.types import Perspective


@pytest.mark.parametrize(
    ("statement", "negated"),
    [
        ("Zoos should be closed.", "Zoos should not be closed."),
        ("Zoos should not be closed.", "Zoos should be closed."),
        ("We shouldn't ban guns", "We should ban guns"),
        ("The death penalty can deter crime", "The death penalty cannot deter crime"),
        ("The death penalty cannot deter crime", "The death penalty can deter crime"),
        ("People who are ill should stay at home", "People who are ill should not stay at home"),
        ("Homework has been shown to help", "Homework has not been shown to help"),
        ("We have to teach chess", "We do not have to teach chess"),
        ("Ban junk food from schools", "Do not ban junk food from schools"),
        ("Do not ban junk food", "Ban junk food"),
        ("Online education works", "Online education does not work"),
        ("It is not true that dogs fly", "Dogs fly"),
        ("US troops must leave", "US troops must not leave"),
        ("Chess is no sport", "It is not true that chess is no sport"),
    ],
)
def test_negation(statement, negated):
    assert negate(statement) == negated


@given(
    st.sampled_from(["Zoos", "Cars in cities", "People who are rich", "The old law"]),
    st.sampled_from(["should", "can", "will", "is", "are", "would"]),
    st.sampled_from(["be closed", "matter to us", "help the poor"]),
)
def test_negating_twice_gives_the_statement_back(subject, auxiliary, predicate):
    statement = f"{subject} {auxiliary} {predicate}"
    assert negate(statement) != statement
    assert negate(negate(statement)) == statement


def test_statement_and_negation():
    support, oppose = "Homework helps children", "Homework does not help children"
    found = extract_by_rule("Does homework help children?")
    assert [(p.id, p.text, p.stance, p.claim) for p in found.perspectives] == [
        ("support", support, "support", support),
        ("oppose", oppose, "oppose", support),
    ]


@pytest.mark.parametrize(
    ("question", "alternatives"),
    [
        ("Is tea or coffee healthier?", ["Tea is healthier", "Coffee is healthier"]),
        (
            "Should we use nuclear power or wind power?",
            ["We should use nuclear power", "We should use wind power"],
        ),
        (
            "Which is the best source of electricity: wind, solar or nuclear?",
            [
                "Wind is the best source of electricity",
                "Solar is the best source of electricity",
                "Nuclear is the best source of electricity",
            ],
        ),
        (
            "Is nuclear power or wind power the better way to replace coal?",
            [
                "Nuclear power is the better way to replace coal",
                "Wind power is the better way to replace coal",
            ],
        ),
        ("Are zoos cruel or educational?", ["Zoos are cruel", "Zoos are educational"]),
        (
            "Should schools teach cursive or drop it?",
            ["Schools should teach cursive", "Schools should drop cursive"],
        ),
    ],
)
def test_named_alternatives(question, alternatives):
    assert [p.text for p in extract_by_rule(question).perspectives] == alternatives


@pytest.mark.parametrize(
    ("query", "root", "stance"),
    [
        (
            "Find a claim that opposes the argument: zoos should close",
            "zoos should close",
            "oppose",
        ),
        (
            "find a claim that supports the statement: zoos should close",
            "zoos should close",
            "support",
        ),
        (
            "Show me articles which argue against the view: zoos should close",
            "zoos should close",
            "oppose",
        ),
        ("arguments against nuclear power", "nuclear power", "oppose"),
        ("What are the main arguments for a basic income?", "a basic income", "support"),
    ],
)
def test_a_carried_perspective_is_split_off(query, root, stance):
    found = extract_by_rule(query)
    assert found.root == root
    assert found.instruction
    assert query.startswith(found.instruction)
    assert [p.stance for p in found.perspectives] == [stance]
    assert found.perspectives[0].claim


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of France?",
        "Why is the sky blue?",
        "best pizza near me",
        "Doit-on apprendre à désirer?",
        "動物園は閉鎖すべきですか",
        "?",
        "a",
    ],
)
def test_what_invites_no_perspectives_gets_none(question):
    assert extract_by_rule(question).perspectives == ()


GRAMMAR = """what how why who is are should do can whether if that or and not the a ? . , : vs better
than pros cons of for against i think please no yes it there to be zoos ban""".split()


@given(
    st.text(max_size=80) | st.lists(st.sampled_from(GRAMMAR), min_size=1, max_size=7).map(" ".join)
)
@example("what?")
@example(", why")
@example("yes or no")
def test_any_text_is_read_without_an_error(text):
    found = run(RuleExtractor().extract(text))
    assert all(p.text.strip() for p in found.perspectives)
    assert len({p.id for p in found.perspectives}) == len(found.perspectives)


def test_given_texts_become_perspectives():
    own = Perspective("mine", "X")
    assert as_perspectives(["A", own]) == (Perspective("p1", "A"), own)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("one side", "a list"),
        (7, "a list"),
        (["yes", " "], "not empty"),
        (["yes", None], "not empty"),
        ([Perspective("a", "")], "not empty"),
        ([Perspective("p2", "yes"), "no"], "different ids"),
    ],
)
def test_what_names_no_perspectives_is_refused(named, said):
    with pytest.raises(ConfigError, match=said):
        as_perspectives(named)


ALIKE = {
    "case and full stop": ("Zoos teach children", "zoos  teach children."),
    "Cyrillic": ("Zoos teach children", "Z\u043e\u043es t\u0435\u0430ch childr\u0435n"),
    "Cyrillic capitals": ("HOME IS BEST", "\u041d\u041e\u041c\u0415 IS \u0412\u0415ST"),
    "Greek": ("Zoos teach", "Z\u03bf\u03bfs te\u03b1ch"),
    "full width": ("Zoos teach", "\uff3aoos \uff54each"),
    "zero width": ("Zoos teach", "Zo\u200bos\u2060 te\u00adach\ufe0f"),
    "Hangul filler": ("Zoos teach", "Zoos\u3164 teach"),
    "ligature": ("Traffic is bad", "Tra\ufb03c is bad"),
    "composed": ("Caf\u00e9s close", "Cafe\u0301s close"),
}
APART = (
    ("C++ is better", "C# is better"),
    ("Zoos teach", "Zoos do not teach"),
    (
        "\u0417\u043e\u043e\u043f\u0430\u0440\u043a\u0438 \u0437\u0430",
        "\u0417\u043e\u043e\u043f\u0430\u0440\u043a\u0438 \u043d\u0430",
    ),
    ("resume work", "r\u00e9sum\u00e9 work"),
    ("\U0001f44d", "\U0001f44e"),
)


@pytest.mark.parametrize("what", ALIKE)
def test_two_sides_that_read_the_same_are_refused_and_found_ones_are_kept_once(what):
    with pytest.raises(ConfigError, match="p1 and p2 read the same"):
        as_perspectives(ALIKE[what])
    assert distinct([*ALIKE[what], "Another"]) == [ALIKE[what][0], "Another"]


def test_a_short_name_of_a_side_and_the_side_itself_are_the_same():
    with pytest.raises(ConfigError, match="read the same"):
        extraction_of("Should zoos be closed?", ["yes", "Zoos should be closed"])


@pytest.mark.parametrize("sides", APART)
def test_sides_that_read_differently_are_taken(sides):
    assert [each.text for each in as_perspectives(sides)] == [*sides] == distinct(sides)


@pytest.mark.parametrize("text", ["\u200b", "\u2800\u3164", "\u2060\ufe0f ."])
def test_a_side_of_which_nothing_is_seen_is_empty(text):
    with pytest.raises(ConfigError, match="not empty"):
        as_perspectives(["Zoos teach", text])
