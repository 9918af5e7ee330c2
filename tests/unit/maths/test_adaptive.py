"""The projection chosen per query: geometry with known answers, and the pipeline against the definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError
from perspective_rag.local.callables import CallableEmbedder
from perspective_rag.local.stores import FaissStore, NumpyStore
from perspective_rag.maths.adaptive import (
    CANDIDATES,
    COMMON,
    FULL_SPREAD,
    KINDS,
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


def adapted(rows, q, r, p, kinds=None, fetch_k=50):
    """The scores of what a search of ``fetch_k`` finds, 2 less for the others; and the choice."""
    rows, projected = unit(rows), parts(q, r, p, kinds=kinds)
    found = np.argsort(-(rows @ projected.search), kind="stable")[:fetch_k]
    choice = choose(projected, rows[found])
    behind = np.full(len(rows), 2.0)
    behind[found] = 0.0
    return rows @ choice.vector - behind, choice


@pytest.mark.parametrize(
    ("rows", "weight", "first", "reason"),
    [
        ([TOPIC] * 6 + [PLACE] * 6 + [unit(TOPIC + PLACE)] * 6, 1.0, 12, "as much as the root"),
        ([TOPIC] * 6 + [unit(TOPIC + OTHER)] * 6 + [OTHER] * 6, 0.0, 0, "perspective removed"),
        ([unit(TOPIC + PLACE)] * 6 + [unit(OTHER + PLACE)] * 6, 0.0, 0, "perspective removed"),
    ],
    ids=["some speak of it", "none does", "all do alike"],
)
def test_a_perspective_counts_where_it_tells_candidates_apart(rows, weight, first, reason):
    scores, choice = adapted(np.array(rows), TOPIC + PLACE, TOPIC, PLACE)
    assert choice.weight == weight
    assert reason in choice.reason
    assert set(np.argsort(-scores, kind="stable")[:6]) == set(range(first, first + 6))


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
def test_with_nothing_to_turn_to_the_plain_query_stays(root, perspective, kinds, why):
    rows, q, _, _ = problem(3, d=4)
    projected = parts(q, root, perspective, kinds=kinds)
    choice = choose(projected, rows)
    np.testing.assert_allclose(projected.search, unit(q), atol=1e-12)
    np.testing.assert_allclose(choice.vector, unit(q), atol=1e-12)
    assert why in choice.reason


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0, 3]),
    st.sampled_from([4, 20, 200]),
    st.lists(st.floats(1e-2, 1e2), min_size=4, max_size=4),
)
def test_scores_equal_the_definition_at_any_length(seed, kinds, fetch_k, lengths):
    rows, q, r, p = problem(seed)
    words = np.random.default_rng(seed + 100).standard_normal((kinds, 16)) if kinds else None
    a, b, c, d = lengths
    scores, choice = adapted(rows * a, q * b, r * c, p * d, words, fetch_k)
    expected, weight = direct(rows, q, r, p, words, fetch_k)
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    assert choice.weight == pytest.approx(weight)
    assert 0.0 <= choice.spread <= 2.0
    assert np.linalg.norm(choice.vector) == pytest.approx(1.0)


def test_what_cancels_out_or_is_missing_leaves_the_root():
    rows = np.array([*[-TOPIC] * 5, *[TOPIC] * 5])
    choice = choose(parts(PLACE, TOPIC, -TOPIC), rows)
    assert choice.weight == 1.0
    assert choice.vector.tolist() == TOPIC.tolist()
    assert parts(TOPIC, TOPIC, -2 * TOPIC).search.tolist() == TOPIC.tolist()
    alone = choose(parts(OTHER, TOPIC, PLACE), np.zeros((0, 4)))
    np.testing.assert_allclose(alone.vector, unit(TOPIC + 2 * OTHER))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: parts(TOPIC, TOPIC, np.ones(3)), "perspective"),
        (lambda: parts(TOPIC, [np.nan, 0, 0, 0], PLACE), "root"),
        (lambda: parts(TOPIC, TOPIC, PLACE, kinds=np.ones((2, 3))), "kinds"),
        (lambda: choose(parts(TOPIC, TOPIC, PLACE), np.ones(4)), "candidates"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


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


def ranked(pipeline, text="its perspective", **options):
    """The ranking of the one query for a perspective, and the request."""
    request = pipeline.request("the root", projection="adaptive", **options)
    extraction = Extraction("the root", (Perspective("side", text),))
    queries = [Query("the root its perspective", "side")]
    (ranking,) = pipeline.run_step(search(request, extraction, queries), request)
    return ranking, request


@pytest.mark.parametrize("store", [NumpyStore, FaissStore])
@pytest.mark.parametrize("text", ["its perspective", "the root its perspective"])
@pytest.mark.parametrize("seed", range(3))
def test_the_ranking_of_a_query_is_the_definition_to_the_last_place(store, text, seed):
    passages, rows, known = world(seed)
    pipeline = PerspectivePipeline(store(passages, rows), embedder=table_embedder(known))
    ranking, request = ranked(pipeline, text, k=5, fetch_k=15)
    kinds = np.array([known[kind] for kind in KINDS])
    own, root = known["the root its perspective"], known["the root"]
    expected, weight = direct(rows, own, root, known[text], kinds, CANDIDATES)
    order = np.argsort(-expected)[:15]
    assert [hit.passage.id for hit in ranking.hits] == [str(i) for i in order]
    scores = [hit.score for hit in ranking.hits]
    assert scores == pytest.approx(expected[order].tolist(), abs=1e-5)
    (decision,) = request.recorder.decisions
    assert decision["weight"] == pytest.approx(weight, abs=1e-3)
    assert request.recorder.calls["search"] == 1


def test_a_perspective_of_kinds_of_text_alone_is_a_plain_search_that_is_explained():
    passages, rows, known = world()
    known["its perspective"] = known[KINDS[0]] + 2 * known[KINDS[3]]
    pipeline = PerspectivePipeline(NumpyStore(passages, rows), embedder=table_embedder(known))
    ranking, request = ranked(pipeline, k=5, fetch_k=15)
    order = np.argsort(-(unit(rows) @ unit(known["the root its perspective"])))[:15]
    assert [hit.passage.id for hit in ranking.hits] == [str(i) for i in order]
    (decision,) = request.recorder.decisions
    assert decision["reason"].startswith("plain query")


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
    assert {d.stage for d in request.recorder.degradations} == {"vectors", "embed"}
