"""p-Recall by hand, against brute force, and the published code's readings one by one."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.core.bootstrap import macro_difference, macro_interval
from benchmarks.pir.bias import countries, country_counts, country_portions, label_shares
from benchmarks.pir.embedding import TaskVectors
from benchmarks.pir.methods import METHODS, PUBLISHED_METHODS
from benchmarks.pir.metrics import gold_ranks, p_recall_at_k, recall_at_k, tie_bounds
from benchmarks.pir.running import Reading, run_dense
from benchmarks.pir.tasks import PirQuery, Task
from perspective_rag.maths.projection import projected_scores
from tests.benchmarks.pir_samples import sample_task


def scores_from(rankings, size=6):
    """Scores that put the documents of each ranking in this order."""
    rows = np.full((len(rankings), size), -1.0)
    for row, ranking in zip(rows, rankings, strict=True):
        for place, document in enumerate(ranking):
            row[document] = size - place
    return rows


def test_p_recall_averages_over_roots_of_averages_over_perspectives():
    task = sample_task()
    # gold: 1 | 0 | 2 | 3 | 4; the first and the fourth query find theirs first
    scores = scores_from([[1], [1, 0], [0, 1, 2], [3], [0, 4]])
    ranks = gold_ranks(scores, task)
    assert p_recall_at_k(ranks, task, 1) == pytest.approx((0.5 + 0.5 + 0.0) / 3)
    assert p_recall_at_k(ranks, task, 2) == pytest.approx((1.0 + 0.5 + 1.0) / 3)
    assert recall_at_k(ranks, 1) == pytest.approx(2 / 5)
    assert p_recall_at_k(ranks, task, 2, zero_single_roots=True) == pytest.approx(1.5 / 3)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 2), min_size=4, max_size=5),
    st.sets(st.integers(0, 3), min_size=1, max_size=3),
    st.integers(1, 4),
)
def test_ties_count_by_their_expectation_over_all_orders(values, gold, k):
    task = Task("t", tuple("abcde"[: len(values)]), (PirQuery("q", "r", "p", "", frozenset(gold)),))
    orders = [
        order
        for order in permutations(range(len(values)))
        if all(values[a] >= values[b] for a, b in pairwise(order))
    ]
    found = [bool(gold.intersection(order[:k])) for order in orders]
    ranks = gold_ranks(np.array([values], dtype=float), task)
    assert ranks.success(k)[0] == pytest.approx(np.mean(found))
    assert tie_bounds(ranks, task, k) == (min(found), max(found))


def test_scores_that_cannot_be_ranked_are_refused():
    task = sample_task()
    with pytest.raises(ValueError, match=r"\(5, 5\)"):
        gold_ranks(np.zeros((5, 5)), task)
    scores = np.zeros((5, 6))
    scores[2, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        gold_ranks(scores, task)


def vectors_for(task, seed=0):
    generator = np.random.default_rng(seed)
    size = len(task.queries)
    q, r, p = (generator.normal(size=(size, 8)) for _ in range(3))
    return TaskVectors(q, r, p, generator.normal(size=(len(task.corpus), 8)))


@pytest.mark.parametrize("name", PUBLISHED_METHODS)
def test_every_method_is_the_projection_of_its_name(name):
    task = sample_task()
    v = vectors_for(task)
    found = METHODS[name](v.queries, v.roots, v.perspectives, v.corpus)
    expected = projected_scores(name, v.corpus, v.queries[2], v.roots[2], v.perspectives[2])
    assert found.shape == (5, 6)
    assert found[2] == pytest.approx(expected)


def test_published_readings_are_separate_and_all_of_them_together():
    repeated = [
        PirQuery("q1", "R", "p1", "a", frozenset({0})),
        PirQuery("q1", "R", "p1", "a", frozenset({1})),
        PirQuery("q2", "R", "p2", "b", frozenset({2})),
        PirQuery("q3", "S", "p3", "a", frozenset({3})),
    ]
    task = Task("t", tuple("abcd"), tuple(repeated))
    assert len(Reading().task(task).queries) == 3
    assert Reading(unmerged=True).task(task) == task
    assert Reading(extend_gold=True).task(task).queries[0].gold == {0, 1, 2}
    published = Reading.as_published()
    assert (Reading().suffix, published.suffix) == ("", "-as-published")
    assert Reading(unmerged=True, extend_gold=True).suffix == "-unmerged-extend-gold"
    assert all(published.to_dict().values())
    assert [q.gold for q in published.task(task).queries] == [{0, 1, 2}, {1}, {2}, {3}]
    zero = run_dense(
        task, vectors_for(task), Reading(zero_single_roots=True), {"none": METHODS["none"]}
    )
    assert zero.values["none"][10] == [1.0, 0.0]


def test_the_difference_replaces_a_perspective_that_is_the_query():
    plain = sample_task()
    task = Task(
        "t",
        plain.corpus,
        tuple(PirQuery(q.text, q.root, q.text, "", q.gold) for q in plain.queries),
    )
    v = vectors_for(task)
    v = TaskVectors(v.queries, v.roots, v.queries, v.corpus)
    given = {name: METHODS[name] for name in ("none", "pap", "add")}
    seen = {}
    for reading in (Reading(), Reading(difference_perspective=True)):
        seen[reading.difference_perspective] = run_dense(task, v, reading, given)
    d = v.with_differences()
    expected = gold_ranks(METHODS["pap"](d.queries, d.roots, d.perspectives, d.corpus), task)
    assert seen[True].recall["pap"][1] == recall_at_k(expected, 1)
    assert seen[True].values["add"] == seen[False].values["add"]  # add keeps the text's vector
    assert seen[False].values["pap"] == seen[False].values["none"]  # p = q leaves nothing: plain q


def test_a_perspective_that_is_a_text_of_its_own_keeps_its_vector():
    task = sample_task()
    v = vectors_for(task)
    given = {name: METHODS[name] for name in ("none", "pap")}
    readings = (Reading(), Reading(difference_perspective=True))
    first, second = (run_dense(task, v, reading, given).values for reading in readings)
    assert first == second


def test_shares_of_perspectives_among_what_root_queries_find():
    task = sample_task()
    roots = scores_from([[1, 0], [2, 5], [5, 4]])
    first = label_shares(roots, task, 1)
    assert first == {
        "shares": {"support": 1.0, "undermine": 0.0},
        "expected": {"support": 0.6, "undermine": 0.4},
        "found": 2,
    }
    assert label_shares(roots, task, 2)["shares"] == {"support": 0.75, "undermine": 0.25}


def test_countries_of_articles_and_of_what_is_found():
    corpus = ("In Peru", "rain", "Peru and Chad, Chad", "snow in Chad")
    queries = [
        PirQuery("q1", "R", "an article that happened in Peru", "location", frozenset({1})),
        PirQuery("q2", "R", "an article that happened in Chad", "location", frozenset({3})),
        PirQuery("q3", "R", "an article on rain", "subtopic", frozenset({1})),
    ]
    known = countries(Task("news", corpus, tuple(queries)))
    assert known is not None
    assert known.names == ("Chad", "Peru")
    assert known.of_document.tolist() == [1, 1, 0, 0]  # gold decides, then what is named most
    scores = scores_from([[0, 2], [3, 2], [1, 0]], size=4)
    assert country_portions(scores, known, k=2).tolist() == [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]
    assert country_counts(scores, known, k=1).tolist() == [1, 2, 0]
    assert countries(sample_task()) is None


def test_articles_of_unknown_origin_are_counted_apart():
    queries = [PirQuery("q", "R", "an article that happened in Peru", "", frozenset({0}))]
    known = countries(Task("news", ("In Peru", "nowhere"), tuple(queries)))
    assert country_counts(np.array([[1.0, 2.0]]), known, k=1).tolist() == [0, 1]


def test_a_macro_average_counts_tasks_alike():
    samples = [[1.0] * 30, [0.0, 0.0]]
    found = macro_interval(samples, seed=1)
    assert (found.mean, found.low, found.high) == (0.5, 0.5, 0.5)
    assert macro_interval([[0.0, 1.0] * 20], seed=1).low < 0.5


def test_a_macro_difference_finds_a_gain_and_its_absence():
    generator = np.random.default_rng(3)
    base = [list(generator.random(40)) for _ in range(3)]
    better = [[value + 0.2 for value in row] for row in base]
    assert macro_difference(better, base, seed=1).p < 0.001
    assert macro_difference(better, base, seed=1).interval.mean == pytest.approx(0.2)
    assert macro_difference(base, base, seed=1).p == 1.0
    with pytest.raises(ValueError, match="not paired"):
        macro_difference(better, base[:2], seed=1)
