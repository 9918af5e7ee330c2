"""Reciprocal rank fusion and round robin."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError
from perspective_rag.maths.ranking import reciprocal_rank_fusion, round_robin, seats


def test_ranks_start_at_one_and_the_absent_get_nothing():
    scores = reciprocal_rank_fusion([["a", "b"], ["b", "c"]])
    assert scores == {
        "b": pytest.approx(1 / 62 + 1 / 61),
        "a": pytest.approx(1 / 61),
        "c": pytest.approx(1 / 62),
    }
    assert list(scores) == ["b", "a", "c"]


def test_one_vote_for_each_list_and_later_ranks_close_up():
    scores = reciprocal_rank_fusion([["a", "a", "b", "a"], ["c"]])
    assert scores == {"a": 1 / 61, "c": 1 / 61, "b": 1 / 62}


def test_ties_keep_the_order_of_first_appearance():
    # "a" stands at 1, 2, 7 and "b" at 7, 1, 2: the same ranks, whose plain sums differ in a bit.
    assert 1 / 61 + 1 / 62 + 1 / 67 != 1 / 67 + 1 / 61 + 1 / 62
    lists = [["a", *"cdefg", "b"], ["b", "a"], [*"hb", *"ijkl", "a"]]
    scores = reciprocal_rank_fusion(lists)
    assert scores["a"] == scores["b"]
    assert list(scores)[:2] == ["a", "b"]
    reordered = reciprocal_rank_fusion([lists[1], lists[2], lists[0]])
    assert list(reordered)[:2] == ["b", "a"]
    assert reordered == scores


def test_weights_and_constant_are_honoured():
    lists = [["a", "b"], ["b", "a"]]
    assert next(iter(reciprocal_rank_fusion(lists, weights=[4, 1]))) == "a"
    assert next(iter(reciprocal_rank_fusion(lists, weights=[1, 4]))) == "b"
    assert reciprocal_rank_fusion(lists, weights=[2, 0], constant=0) == {"a": 2.0, "b": 1.0}
    assert reciprocal_rank_fusion([["a"], ["b"]], weights=[1, 0])["b"] == 0.0


def test_nothing_gives_nothing():
    assert reciprocal_rank_fusion([]) == {}
    assert reciprocal_rank_fusion([[], []]) == {}
    assert round_robin([]) == round_robin([[], []]) == []


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": [1.0]}, "one number for each of 2 rankings"),
        ({"weights": [1.0, -0.5]}, "at least 0"),
        ({"weights": [1.0, float("nan")]}, "at least 0"),
        ({"weights": [1.0, "2"]}, "at least 0"),
        ({"weights": [0, 0]}, "all 0"),
        ({"constant": -1}, "constant"),
        ({"constant": float("inf")}, "constant"),
    ],
)
def test_what_cannot_be_used_is_refused(options, words):
    with pytest.raises(ConfigError, match=words):
        reciprocal_rank_fusion([["a"], ["b"]], **options)


@pytest.mark.parametrize("fuse", [reciprocal_rank_fusion, round_robin, seats])
@pytest.mark.parametrize("rankings", ["ab", ["ab", "cd"]])
def test_text_in_the_place_of_a_list_is_refused(fuse, rankings):
    with pytest.raises(ConfigError, match="must be a list of ids"):
        fuse(rankings)


rankings = st.lists(st.lists(st.integers(0, 8), max_size=7), min_size=1, max_size=4)


@settings(max_examples=150, deadline=None)
@given(rankings, st.data())
def test_raising_a_source_s_weight_never_lowers_its_top_document(lists, data):
    weights = data.draw(st.lists(st.integers(1, 9), min_size=len(lists), max_size=len(lists)))
    chosen = data.draw(st.sampled_from([i for i, one in enumerate(lists) if one] or [None]))
    if chosen is None:
        return
    raised = [w + data.draw(st.integers(1, 9)) if i == chosen else w for i, w in enumerate(weights)]
    top = lists[chosen][0]
    before = list(reciprocal_rank_fusion(lists, weights=weights)).index(top)
    after = list(reciprocal_rank_fusion(lists, weights=raised)).index(top)
    assert after <= before


@settings(max_examples=100, deadline=None)
@given(rankings)
def test_scores_equal_the_formula_and_come_best_first(lists):
    scores = reciprocal_rank_fusion(lists)
    assert set(scores) == {i for one in lists for i in one}
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    for identity, score in scores.items():
        total = 0.0
        for one in lists:
            unique = [x for i, x in enumerate(one) if x not in one[:i]]
            if identity in unique:
                total += 1 / (60 + unique.index(identity) + 1)
        assert score == pytest.approx(total)


# Round robin


def test_round_robin_skips_what_was_taken_without_filling_the_turn():
    lists = [["a", "b", "c"], ["a", "d", "e"], ["b", "f", "g"]]
    assert round_robin(lists) == ["a", "b", "d", "f", "c", "e", "g"]


def test_round_robin_passes_over_lists_that_have_ended():
    assert round_robin([["a"], ["b", "c", "d"], [], ["e", "f"]]) == ["a", "b", "e", "c", "f", "d"]


def test_as_published_keeps_repeated_ids():
    lists = [["a", "b"], ["a", "c"]]
    assert round_robin(lists, as_published=True) == ["a", "a", "b", "c"]
    assert round_robin(lists) == ["a", "b", "c"]


def test_none_and_other_hashables_are_ids_too():
    assert round_robin([[None, (1, 2)], [0, None]]) == [None, 0, (1, 2)]
    assert list(reciprocal_rank_fusion([[None], [None, 0]])) == [None, 0]


@settings(max_examples=100, deadline=None)
@given(rankings)
def test_round_robin_holds_everything_once(lists):
    merged = round_robin(lists)
    assert len(merged) == len(set(merged))
    assert set(merged) == {i for one in lists for i in one}
    assert sorted(round_robin(lists, as_published=True)) == sorted(i for one in lists for i in one)


def test_a_ranking_whose_next_was_taken_gives_the_one_after_it():
    lists = [["a", "b", "c"], ["a", "b", "d"], ["a", "e"]]
    assert seats(lists) == {"a": 0, "b": 1, "e": 2, "c": 0, "d": 1}
    assert round_robin(lists) == ["a", "b", "e", "c", "d"]
    assert list(seats([["a", "b", "c"], ["a", "b", "c"]])) == ["a", "b", "c"]
    assert seats([]) == seats([[], []]) == {}


@given(st.lists(st.lists(st.integers(0, 20), unique=True), max_size=5))
def test_of_every_first_part_each_ranking_that_has_more_gave_the_same_share(lists):
    given_by = seats(lists)
    assert sorted(given_by) == sorted({each for one in lists for each in one})
    order = list(given_by.values())
    for end in range(1, len(order) + 1):
        counts = [order[:end].count(place) for place in range(len(lists))]
        taken = set(list(given_by)[:end])
        more = [n for n, one in zip(counts, lists, strict=True) if not set(one) <= taken]
        assert not more or max(more) - min(more) <= 1
