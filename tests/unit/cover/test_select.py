"""The choice of k: selectors, passages of one source, and passages that repeat each other."""

from __future__ import annotations

import pytest

from perspective_rag import PerspectivePipeline
from perspective_rag.cover.select import choose
from perspective_rag.errors import ConfigError
from perspective_rag.extend import Choice, Selection
from perspective_rag.local.callables import CallableStore
from perspective_rag.maths.vectors import first_copies, overlaps
from perspective_rag.options import PipelineOptions
from perspective_rag.testing import TableJudge
from perspective_rag.types import Candidate, ListingRule, Passage, Perspective, source_of

PRO = Perspective("support", "Zoos should be closed", "support", "Zoos should be closed")
CON = Perspective("oppose", "Zoos should not be closed", "oppose", "Zoos should be closed")
RULE = ListingRule(0.5, 0.5)
LONG = (
    "The council voted on Tuesday to keep the old zoo open because the keepers breed rare frogs "
    "and teach thousands of children every year about the animals of the river."
)
PASSAGES = [
    Passage(name, f"zoos: {text}")
    for name, text in [
        ("pro1", "should be closed, says one"),
        ("pro2", "should be closed, says another"),
        ("none", "cost ten pounds to enter"),
        ("con1", "should stay open, says one"),
        ("con2", "should stay open, says another"),
    ]
]
JUDGE = TableJudge(
    {(f"pro{i}", "p1"): 0.9 for i in (1, 2)} | {(f"con{i}", "p2"): 0.9 for i in (1, 2)}
)


def asked(selector, **options):
    store = CallableStore(lambda text, k: PASSAGES[:k])
    made = PerspectivePipeline(store, judge=JUDGE, selector=selector, k=2, guard_searches=0)
    sides = ["Zoos should be closed", "Zoos should stay open"]
    return made.retrieve("Should zoos be closed?", perspectives=sides, **options)


def candidate(name, source, pro=0.0, con=0.0, text=""):
    passage = Passage(name, text or f"text {name}", {"source": source})
    return Candidate(passage, 1.0, support={"support": pro, "oppose": con})


def chosen(found, sides, *, plain=False, **options):
    picked = choose(found, sides, PipelineOptions(**options), rule=RULE, plain=plain)
    return "".join(each.passage.id for each in picked)


def test_where_plain_search_is_one_sided_the_other_side_has_its_share():
    names = [f"pro{i}" for i in range(5)] + [f"con{i}" for i in range(5)]
    judge = TableJudge({(name, "p1" if name[:3] == "pro" else "p2"): 1.0 for name in names})
    store = CallableStore(
        lambda text, k: [Passage(n, f"{n}: zoos, as {n} puts it") for n in names][:k]
    )
    made = PerspectivePipeline(store, judge=judge, k=5, guard_searches=0)
    result = made.retrieve("Should zoos be closed?", perspectives=["Close them", "Keep them open"])
    assert sorted(each.passage.id[:3] for each in result.candidates) == ["con"] * 2 + ["pro"] * 3


def test_a_selector_of_ones_own_is_given_arrays_and_chooses():
    class Last:
        def select(self, choice, k):
            assert isinstance(choice, Choice)
            assert choice.support.shape == choice.listed.shape == choice.nearness.shape == (5, 2)
            assert choice.plain.tolist() == [1, 2, 3, 4, 5]
            assert choice.quotas == [1, 1]
            assert choice.embeddings is None
            return Selection((4, 2), (2.0, 1.0))

    result = asked(Last())
    assert [each.id for each in result.passages] == ["con2", "none"]
    assert [each.score for each in result.candidates] == [2.0, 1.0]
    with pytest.raises(ConfigError, match="selector must be a Selector"):
        asked(lambda choice, k: None)


def test_a_selector_that_fails_is_recorded_and_the_default_chooses():
    class Broken:
        def select(self, choice, k):
            return Selection((7,), (1.0,))

    result = asked(Broken())
    assert result.coverage.complete
    assert [each.stage for each in result.trace.degradations] == ["select"]
    with pytest.raises(ConfigError):
        asked(Broken(), strict=True)


def test_the_source_is_the_first_that_is_known():
    assert source_of(Passage("a", "x", {"source": "s", "url": "u", "title": "t"})) == "s"
    assert source_of(Passage("a", "x", {"source": " ", "url": "u", "title": "t"})) == "u"
    assert source_of(Passage("a", "x", {"title": "t"})) == "t"
    alone = [source_of(Passage("", text)) for text in ("x", "y", "x")]
    assert alone[0] == alone[2] != alone[1]


def test_without_sides_the_next_best_fill_the_places_in_their_order():
    found = [candidate(n, s) for n, s in zip("abcdef", "xxxyyz", strict=True)]
    assert chosen(found, (), k=4) == "abcd"
    assert chosen(found, (), k=4, max_per_source=1) == "adf"  # no fourth source
    assert chosen(found, (), k=4, max_per_source=2) == "abde"


def test_with_sides_both_stay_covered_and_no_source_has_more_than_its_share():
    found = [
        candidate("a", "x", pro=0.9),
        candidate("b", "x", pro=0.9),
        candidate("c", "x", con=0.9),
        candidate("d", "y", con=0.7),
        candidate("e", "z"),
    ]
    picked = choose(found, (PRO, CON), PipelineOptions(k=3, max_per_source=1), rule=RULE)
    assert sorted(source_of(each.passage) for each in picked) == ["x", "y", "z"]
    scores = [each.score for each in picked]
    assert scores == sorted(scores, reverse=True)
    assert chosen(found, (PRO, CON), k=4, max_per_source=9) == chosen(found, (PRO, CON), k=4)


def test_a_passage_that_repeats_another_takes_a_place_only_where_nothing_is_left():
    found = [
        candidate("a", "x", pro=0.9, text=LONG),
        candidate("b", "y", pro=0.9, text=LONG.replace("Tuesday", "Monday")),
        candidate("c", "z", con=0.1),
    ]
    assert set(chosen(found, (PRO, CON), k=2)) == {"a", "c"}
    assert chosen(found, (PRO, CON), k=3)[-1] == "b"
    texts = [LONG, LONG.replace("Tuesday", "Monday"), LONG.upper(), "Two.", "Three.", "Four."]
    found = [candidate(n, n, text=text) for n, text in zip("abcdef", texts, strict=True)]
    for k, expected in ((3, "ade"), (5, "adefb"), (9, "adefbc")):
        assert chosen(found, (), k=k) == expected
    assert chosen(found, (), k=3, plain=True) == "abc", "without sides: a plain search"


def test_copies_are_told_from_opposites_and_from_other_numbers():
    opposite = LONG.replace("voted", "did not vote")
    other = LONG.replace("thousands of", "12")
    texts = [LONG, LONG.upper() + "!", LONG.replace("every year", "each year"), opposite, other]
    assert first_copies(texts) == [0, 0, 0, 3, 4]
    assert first_copies(["Zoos help.", "Zoos hurt.", "zoos help", "", ""]) == [0, 1, 0, 3, 4]
    banner = [f"{LONG} {' '.join(f'w{n}x{i}' for i in range(30))}" for n in range(5)]
    assert first_copies(banner) == [0, 1, 2, 3, 4]


def test_windows_of_one_document_overlap_and_others_do_not():
    words = [f"word{i}" for i in range(60)]
    window = [" ".join(words[i : i + 30]) for i in (0, 20, 30)]
    assert overlaps(window) == [frozenset({1}), frozenset({0, 2}), frozenset({1})]
    assert overlaps(["short text", "short text"]) == [frozenset(), frozenset()]


def test_the_limit_and_the_copies_hold_together():
    found = [
        candidate("a", "x", pro=0.9, text=LONG),
        candidate("b", "x", pro=0.9),
        candidate("c", "y", pro=0.8, text=LONG.upper()),
        candidate("d", "z", con=0.9),
    ]
    for sides in ((), (PRO, CON)):
        picked = chosen(found, sides, k=4, max_per_source=1)
        assert set(picked) == {"a", "c", "d"}, "b is of the source of a"
        assert picked[-1] == "c", "a copy, and so the last"
