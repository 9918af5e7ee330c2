"""Passages of one source, and passages that repeat each other, in the choice of k."""

from __future__ import annotations

import pytest

from perspective_rag.cover.select import choose, source_of, within_limit
from perspective_rag.errors import ConfigError
from perspective_rag.maths.vectors import first_copies
from perspective_rag.options import PipelineOptions
from perspective_rag.types import Candidate, ListingRule, Passage, Perspective

PRO = Perspective("support", "Zoos should be closed", "support", "Zoos should be closed")
CON = Perspective("oppose", "Zoos should not be closed", "oppose", "Zoos should be closed")
RULE = ListingRule(0.5, 0.5)
LONG = (
    "The council voted on Tuesday to keep the old zoo open because the keepers breed rare frogs "
    "and teach thousands of children every year about the animals of the river."
)


def candidate(name, source, pro=0.0, con=0.0, text=""):
    passage = Passage(name, text or f"text {name}", {"source": source})
    return Candidate(passage, 1.0, support={"support": pro, "oppose": con})


def names(chosen):
    return [each.passage.id for each in chosen]


def test_the_source_is_the_first_that_is_known():
    assert source_of(Passage("a", "x", {"source": "s", "url": "u", "title": "t"})) == "s"
    assert source_of(Passage("a", "x", {"source": " ", "url": "u", "title": "t"})) == "u"
    assert source_of(Passage("a", "x", {"title": "t"})) == "t"
    alone = [source_of(Passage("", text)) for text in ("x", "y", "x")]
    assert alone[0] == alone[2] != alone[1]


def test_the_first_of_each_group_stay_in_their_order():
    assert within_limit("abacab", 1) == [0, 1, 3]
    assert within_limit("abacab", 2) == [0, 1, 2, 3, 5]
    assert within_limit("abacab", None) == [0, 1, 2, 3, 4, 5]


def test_without_sides_the_next_best_fill_the_places_in_their_order():
    found = [candidate(n, s) for n, s in zip("abcdef", "xxxyyz", strict=True)]
    assert names(choose(found, (), PipelineOptions(k=4), rule=RULE)) == ["a", "b", "c", "d"]
    capped = PipelineOptions(k=4, max_per_source=1)
    assert names(choose(found, (), capped, rule=RULE)) == ["a", "d", "f"]  # no fourth source
    capped = PipelineOptions(k=4, max_per_source=2)
    assert names(choose(found, (), capped, rule=RULE)) == ["a", "b", "d", "e"]


def test_with_sides_both_stay_covered_and_no_source_has_more_than_its_share():
    found = [
        candidate("a", "x", pro=0.9),
        candidate("b", "x", pro=0.9),
        candidate("c", "x", con=0.9),
        candidate("d", "y", con=0.7),
        candidate("e", "z"),
    ]
    chosen = choose(found, (PRO, CON), PipelineOptions(k=3, max_per_source=1), rule=RULE)
    sources = [source_of(each.passage) for each in chosen]
    assert sorted(sources) == ["x", "y", "z"]
    scores = [each.score for each in chosen]
    assert scores == sorted(scores, reverse=True)


def test_a_passage_that_repeats_another_takes_a_place_only_where_nothing_is_left():
    found = [
        candidate("a", "x", pro=0.9, text=LONG),
        candidate("b", "y", pro=0.9, text=LONG.replace("Tuesday", "Monday")),
        candidate("c", "z", con=0.1),
    ]
    assert set(names(choose(found, (PRO, CON), PipelineOptions(k=2), rule=RULE))) == {"a", "c"}
    assert names(choose(found, (PRO, CON), PipelineOptions(k=3), rule=RULE))[-1] == "b"


def test_copies_are_told_from_opposites_and_from_other_numbers():
    opposite = LONG.replace("voted", "did not vote")
    other = LONG.replace("thousands of", "12")
    texts = [LONG, LONG.upper() + "!", LONG.replace("every year", "each year"), opposite, other]
    assert first_copies(texts) == [0, 0, 0, 3, 4]
    assert first_copies(["Zoos help.", "Zoos hurt.", "zoos help", "", ""]) == [0, 1, 0, 3, 4]


def test_texts_that_share_a_long_banner_stay_apart():
    texts = [f"{LONG} {' '.join(f'w{n}x{i}' for i in range(30))}" for n in range(5)]
    assert first_copies(texts) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("value", [0, -1, 1.5, True])
def test_a_limit_that_is_no_count_is_refused(value):
    with pytest.raises(ConfigError, match="max_per_source"):
        PipelineOptions(max_per_source=value)


def test_without_sides_copies_take_places_last_and_the_others_keep_their_order():
    texts = [LONG, LONG.replace("Tuesday", "Monday"), LONG.upper(), "Two.", "Three.", "Four."]
    found = [candidate(n, n, text=text) for n, text in zip("abcdef", texts, strict=True)]
    for k, expected in ((3, "ade"), (4, "adef"), (5, "adefb"), (6, "adefbc"), (9, "adefbc")):
        assert names(choose(found, (), PipelineOptions(k=k), rule=RULE)) == list(expected)
    plain = choose(found, (), PipelineOptions(k=3), rule=RULE, plain=True)
    assert names(plain) == list("abc"), "a question without sides is a plain search"


def test_a_limit_that_nothing_reaches_changes_nothing_and_the_same_is_chosen_again():
    found = [
        candidate(name, source, pro, con)
        for name, source, pro, con in (
            ("a", "x", 0.9, 0.1),
            ("b", "x", 0.8, 0.1),
            ("c", "y", 0.1, 0.7),
            ("d", "z", 0.2, 0.2),
            ("e", "z", 0.6, 0.1),
        )
    ]
    for sides in ((), (PRO, CON)):
        plain = names(choose(found, sides, PipelineOptions(k=4), rule=RULE))
        for limit in (2, 3, 50):
            capped = PipelineOptions(k=4, max_per_source=limit)
            assert names(choose(found, sides, capped, rule=RULE)) == plain
            assert names(choose(found, sides, capped, rule=RULE)) == plain


def test_the_limit_and_the_copies_hold_together():
    found = [
        candidate("a", "x", pro=0.9, text=LONG),
        candidate("b", "x", pro=0.9),
        candidate("c", "y", pro=0.8, text=LONG.upper()),
        candidate("d", "z", con=0.9),
    ]
    for sides in ((), (PRO, CON)):
        chosen = choose(found, sides, PipelineOptions(k=4, max_per_source=1), rule=RULE)
        assert set(names(chosen)) == {"a", "c", "d"}, "b is of the source of a"
        assert names(chosen)[-1] == "c", "a copy, and so the last"
