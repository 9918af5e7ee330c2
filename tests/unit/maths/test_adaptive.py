"""The projection chosen per query: geometry with known answers, and the array against the pipeline."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError
from perspective_rag.local.callables import CallableEmbedder
from perspective_rag.local.stores import FaissStore, NumpyStore
from perspective_rag.maths.adaptive import (
    CANDIDATES,
    COMMON,
    FULL_SPREAD,
    KINDS,
    adaptive_scores,
    choose,
    parts,
)
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.search.search import search
from perspective_rag.types import Extraction, Passage, Perspective, Query

TOPIC, PLACE, FORM, OTHER = np.eye(4)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def direct(candidates, q, r, p, kinds=None, fetch_k=50):
    """The definition in the module's head, written out."""
    c, q, r, p = unit(candidates), unit(q), unit(r), unit(p)
    if kinds is not None:
        p = unit(p - kinds.T @ np.linalg.lstsq(kinds.T, p, rcond=None)[0])
    found = sorted(range(len(c)), key=lambda i: -(c[i] @ (q + r + p)))[:fetch_k]
    first = c[found[:CANDIDATES]]
    m = first.mean(axis=0)
    near = sorted(first @ p)
    spread = float(np.mean(near[-5:]) - np.mean(near))
    weight = min(1.0, max(0.0, 2 * spread / FULL_SPREAD - 1))
    root = unit(r - COMMON * m)
    projected = unit(p - COMMON * (p @ unit(m)) * unit(m))
    scores = c @ unit(root + weight * projected + 2 * (1 - weight) * q)
    scores[[i for i in range(len(c)) if i not in found]] -= 2.0
    return scores, weight


def problem(seed, n=130, d=16):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) * rng.uniform(0.2, 3, (n, 1)), *rng.standard_normal((3, d))


def test_a_perspective_that_some_candidates_speak_of_counts_in_full():
    both = unit(TOPIC + PLACE)
    rows = np.array([*[TOPIC] * 6, *[PLACE] * 6, *[both] * 6])
    scores, choice = adaptive_scores(rows, TOPIC + PLACE, TOPIC, PLACE)
    assert choice.weight == 1.0
    assert choice.spread == pytest.approx(1.0 - (1.0 + np.sqrt(0.5)) / 3)
    assert set(np.argsort(-scores)[:6]) == set(range(12, 18))
    assert "as much as the root" in choice.reason


def test_a_perspective_that_no_document_speaks_of_is_removed():
    rows = np.array([*[TOPIC] * 3, *[unit(TOPIC + OTHER)] * 3, *[OTHER] * 3])
    scores, choice = adaptive_scores(rows, TOPIC + PLACE, TOPIC, PLACE)
    assert (choice.weight, choice.spread) == (0.0, 0.0)
    assert set(np.argsort(-scores)[:3]) == {0, 1, 2}
    assert choice.reason.startswith("perspective removed")


def test_a_perspective_that_all_candidates_speak_of_alike_tells_none_apart():
    rows = np.array([unit(TOPIC + PLACE)] * 4 + [unit(OTHER + PLACE)] * 4)
    choice = choose(parts(TOPIC + PLACE, TOPIC, PLACE), rows)
    assert choice.spread == pytest.approx(0.0, abs=1e-12)
    assert choice.weight == 0.0


def test_the_weight_grows_with_how_far_the_perspective_tells_apart():
    some = unit(TOPIC + 0.4 * PLACE)
    choice = choose(parts(TOPIC, TOPIC, PLACE), np.array([some] * 5 + [TOPIC] * 5))
    assert choice.spread == pytest.approx((some @ PLACE) / 2)
    assert choice.weight == pytest.approx((some @ PLACE) / FULL_SPREAD - 1)
    assert 0.0 < choice.weight < 1.0
    assert "times the root" in choice.reason


def test_only_the_first_candidates_are_read():
    some = [unit(TOPIC + PLACE)] * 5 + [TOPIC] * (CANDIDATES - 5)
    projected = parts(TOPIC, TOPIC, PLACE)
    more = choose(projected, np.array([*some, *[OTHER] * 40]))
    assert more.vector.tolist() == choose(projected, np.array(some)).vector.tolist()


def test_words_for_a_kind_of_text_are_taken_from_the_perspective_alone():
    projected = parts(TOPIC + FORM, TOPIC + FORM, PLACE + FORM, kinds=[FORM])
    np.testing.assert_allclose(projected.perspective, PLACE, atol=1e-12)
    np.testing.assert_allclose(projected.root, unit(TOPIC + FORM), atol=1e-12)
    np.testing.assert_allclose(projected.search, 2 * unit(TOPIC + FORM) + PLACE, atol=1e-12)
    assert projected.kept == pytest.approx(np.sqrt(0.5))


def test_half_of_what_the_candidates_share_is_taken_from_root_and_perspective():
    projected = parts(TOPIC, unit(TOPIC + OTHER), unit(PLACE + OTHER))
    rows = np.array([*[unit(OTHER + PLACE)] * 5, *[unit(OTHER - PLACE)] * 5])
    mean = np.sqrt(0.5) * OTHER
    root = unit(unit(TOPIC + OTHER) - COMMON * mean)
    perspective = unit(PLACE + (1 - COMMON) * OTHER)
    choice = choose(projected, rows)
    assert choice.weight == 1.0
    np.testing.assert_allclose(choice.vector, unit(root + perspective), atol=1e-12)


@pytest.mark.parametrize(
    ("root", "perspective", "kinds", "why"),
    [
        (TOPIC, 0 * PLACE, None, "perspective is zero"),
        (0 * TOPIC, PLACE, None, "root is zero"),
        (TOPIC, FORM, [FORM], "kinds of text"),
    ],
)
def test_with_nothing_to_turn_to_the_order_is_that_of_the_plain_query(
    root, perspective, kinds, why
):
    rows, q, _, _ = problem(3, d=4)
    scores, choice = adaptive_scores(rows, q, root, perspective, kinds=kinds, fetch_k=2)
    np.testing.assert_allclose(scores, unit(rows) @ unit(q), atol=1e-12)
    assert why in choice.reason


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kinds", [0, 3])
@pytest.mark.parametrize("fetch_k", [4, 20, 200])
def test_scores_equal_the_definition(seed, kinds, fetch_k):
    rows, q, r, p = problem(seed)
    words = np.random.default_rng(seed + 100).standard_normal((kinds, 16)) if kinds else None
    scores, choice = adaptive_scores(rows, q, r, p, kinds=words, fetch_k=fetch_k)
    expected, weight = direct(rows, q, r, p, words, fetch_k)
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    assert choice.weight == pytest.approx(weight)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.lists(st.floats(1e-2, 1e2), min_size=4, max_size=4))
def test_lengths_do_not_matter(seed, lengths):
    rows, q, r, p = problem(seed)
    one, choice = adaptive_scores(rows, q, r, p, fetch_k=10)
    a, b, c, d = lengths
    two, again = adaptive_scores(rows * a, q * b, r * c, p * d, fetch_k=10)
    np.testing.assert_allclose(one, two, atol=1e-9)
    assert again.weight == pytest.approx(choice.weight, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_a_rotation_of_the_whole_space_changes_nothing(seed):
    rows, q, r, p = problem(seed)
    rng = np.random.default_rng(seed)
    kinds = rng.standard_normal((3, 16))
    turn, _ = np.linalg.qr(rng.standard_normal((16, 16)))
    one, choice = adaptive_scores(rows, q, r, p, kinds=kinds, fetch_k=10)
    gaps = np.diff(np.sort(one))
    assume(gaps.min() > 1e-7)
    two, again = adaptive_scores(
        rows @ turn, q @ turn, r @ turn, p @ turn, kinds=kinds @ turn, fetch_k=10
    )
    np.testing.assert_allclose(one, two, atol=1e-9)
    np.testing.assert_allclose(choice.vector @ turn, again.vector, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 80))
def test_every_number_stays_in_its_range(seed, fetch_k):
    rows, q, r, p = problem(seed)
    scores, choice = adaptive_scores(rows, q, r, p, fetch_k=fetch_k)
    assert 0.0 <= choice.weight <= 1.0
    assert 0.0 <= choice.spread <= 2.0
    assert np.linalg.norm(choice.vector) == pytest.approx(1.0)
    found = scores >= -1.0 - 1e-12
    assert found.sum() == min(fetch_k, len(rows))
    assert (scores[~found] < -1.0 + 1e-12).all()


def test_opposite_root_and_perspective_leave_the_root():
    rows = np.array([*[-TOPIC] * 5, *[TOPIC] * 5])
    choice = choose(parts(PLACE, TOPIC, -TOPIC), rows)
    assert choice.weight == 1.0
    assert choice.vector.tolist() == TOPIC.tolist()
    assert parts(TOPIC, TOPIC, -2 * TOPIC).search.tolist() == TOPIC.tolist()


def test_without_candidates_root_and_query_are_left():
    choice = choose(parts(OTHER, TOPIC, PLACE), np.zeros((0, 4)))
    np.testing.assert_allclose(choice.vector, unit(TOPIC + 2 * OTHER))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"perspective": np.ones(3)}, "perspective"),
        ({"root": [np.nan, 0, 0, 0]}, "root"),
        ({"kinds": np.ones((2, 3))}, "kinds"),
        ({"fetch_k": 0}, "fetch_k"),
        ({"candidates": np.ones(4)}, "candidates"),
    ],
)
def test_bad_input_is_named(change, message):
    given_ = {
        "candidates": np.eye(4),
        "query": TOPIC,
        "root": TOPIC,
        "perspective": PLACE,
        "kinds": None,
        "fetch_k": 5,
    } | change
    positional = [given_.pop(name) for name in ("candidates", "query", "root", "perspective")]
    with pytest.raises(ConfigError, match=message):
        adaptive_scores(*positional, **given_)


def table_embedder(known, passages=None):
    """Every text has its own fixed direction; ``passages`` embeds passages otherwise."""
    rows = lambda texts: [known[text] for text in texts]
    return CallableEmbedder(passages or rows, rows)


def world(seed=5, n=300, d=24):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d))
    passages = [Passage(str(i), f"passage {i}") for i in range(n)]
    known = {p.text: row for p, row in zip(passages, rows, strict=True)}
    texts = ["the root", "its perspective", "the root its perspective", *KINDS]
    for text in texts:
        known[text] = rng.standard_normal(d)
    return passages, rows, known


class OneQuery:
    """Searches for the perspective in one set wording."""

    def expand(self, question, perspectives):
        return [Query("the root its perspective", perspectives[0].id)]
        yield


@pytest.mark.parametrize("store", [NumpyStore, FaissStore])
@pytest.mark.parametrize("seed", range(4))
def test_the_pipeline_ranks_as_the_arrays_do_and_says_why(store, seed):
    passages, rows, known = world(seed, n=60)
    pipeline = PerspectivePipeline(
        store(passages, rows), embedder=table_embedder(known), expander=OneQuery()
    )
    result = pipeline.retrieve(
        "the root",
        perspectives=[Perspective("side", "its perspective")],
        projection="adaptive",
        k=60,
        fetch_k=60,
    )
    expected, choice = adaptive_scores(
        rows,
        known["the root its perspective"],
        known["the root"],
        known["its perspective"],
        kinds=[known[kind] for kind in KINDS],
        fetch_k=60,
    )
    found = {c.passage.id: c.scores.get("search:side") for c in result.candidates}
    assert len(found) == 60
    for i, score in enumerate(expected):
        assert found[str(i)] == pytest.approx(score, abs=1e-5)
    (decision,) = result.trace.to_dict()["decisions"]
    assert decision["query"] == "the root its perspective"
    assert decision["weight"] == pytest.approx(choice.weight, abs=1e-3)
    assert decision["reason"] == choice.reason
    assert result.trace.calls["search"] == 2  # the question and the query


def ranked(pipeline, **options):
    """The ranking of the one query for a perspective, and the request."""
    request = pipeline.request("the root", projection="adaptive", **options)
    extraction = Extraction("the root", (Perspective("side", "its perspective"),))
    queries = [Query("the root its perspective", "side")]
    (ranking,) = pipeline.run_step(search(request, extraction, queries), request)
    return ranking, request


@pytest.mark.parametrize("store", [NumpyStore, FaissStore])
@pytest.mark.parametrize("seed", range(4))
def test_the_ranking_of_a_query_is_the_array_ranking_to_the_last_place(store, seed):
    passages, rows, known = world(seed)
    pipeline = PerspectivePipeline(store(passages, rows), embedder=table_embedder(known))
    ranking, _ = ranked(pipeline, k=5, fetch_k=15)
    expected, _ = adaptive_scores(
        rows,
        known["the root its perspective"],
        known["the root"],
        known["its perspective"],
        kinds=[known[kind] for kind in KINDS],
    )
    order = [str(i) for i in np.argsort(-expected)[:15]]
    assert [hit.passage.id for hit in ranking.hits] == order


def test_a_perspective_of_kinds_of_text_alone_is_a_plain_search_that_is_explained():
    passages, rows, known = world()
    known["its perspective"] = known[KINDS[0]] + 2 * known[KINDS[3]]
    pipeline = PerspectivePipeline(NumpyStore(passages, rows), embedder=table_embedder(known))
    ranking, request = ranked(pipeline, k=5, fetch_k=15)
    order = np.argsort(-(unit(rows) @ unit(known["the root its perspective"])))[:15]
    assert [hit.passage.id for hit in ranking.hits] == [str(i) for i in order]
    (decision,) = request.recorder.decisions
    assert decision["reason"].startswith("plain query")


def test_a_query_that_is_its_own_perspective_is_searched_with_both():
    passages, rows, known = world()
    own = known["the root its perspective"]
    pipeline = PerspectivePipeline(NumpyStore(passages, rows), embedder=table_embedder(known))
    request = pipeline.request("the root", projection="adaptive", k=5, fetch_k=15)
    extraction = Extraction("the root", (Perspective("side", "the root its perspective"),))
    queries = [Query("the root its perspective", "side")]
    (ranking,) = pipeline.run_step(search(request, extraction, queries), request)
    kinds = [known[kind] for kind in KINDS]
    expected, _ = adaptive_scores(rows, own, known["the root"], own, kinds=kinds)
    order = [str(i) for i in np.argsort(-expected)[:15]]
    assert [hit.passage.id for hit in ranking.hits] == order


def gone(passages):
    raise OSError("gone")


class NoVectors(NumpyStore):
    """Gives no vectors with its hits and cannot hand them back."""

    def search(self, text, vector, *, k, filter=None):
        hits = super().search(text, vector, k=k, filter=filter)
        return [replace(hit, embedding=None) for hit in hits]

    embeddings_of = staticmethod(gone)


def test_without_vectors_the_candidates_keep_the_order_of_the_search_and_it_is_reported():
    passages, rows, known = world()
    pipeline = PerspectivePipeline(NoVectors(passages, rows), embedder=table_embedder(known, gone))
    ranking, request = ranked(pipeline, k=5, fetch_k=15)
    projected = parts(
        known["the root its perspective"],
        known["the root"],
        known["its perspective"],
        kinds=[known[kind] for kind in KINDS],
    )
    order = np.argsort(-(unit(rows) @ projected.search))[:15]
    assert [hit.passage.id for hit in ranking.hits] == [str(i) for i in order]
    assert len(request.recorder.decisions) == 1
    pipeline = PerspectivePipeline(
        NoVectors(passages, rows), embedder=table_embedder(known, gone), expander=OneQuery()
    )
    result = pipeline.retrieve(
        "the root", perspectives=[Perspective("side", "its perspective")], projection="adaptive"
    )
    assert len(result.passages) == 5
    assert {d.stage for d in result.trace.degradations} >= {"vectors", "embed"}
