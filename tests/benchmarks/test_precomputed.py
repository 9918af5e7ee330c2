"""Collections projected ahead against PAP+ by its definition, and where a query goes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from benchmarks.scale.precomputed import (
    Precomputed,
    ProjectedCollection,
    project_collection,
)
from perspective_rag import (
    ConfigError,
    GivenPerspectives,
    NumpyStore,
    Passage,
    Perspective,
    PerspectivePipeline,
    StatementExpander,
)
from perspective_rag.maths.projection import projected_scores

SIDES = ("what supports it", "what opposes it")
NUMBERS = st.integers(-5, 5)
"""Whole, so that what is left of a row beside p is nothing or far from it."""


def pap_plus(rows, q, p):
    """cos(q_p, c_p), one row at a time, with projected copies."""

    def off(x):
        return x - (x @ p) / (p @ p) * p

    turned = off(q)
    found = []
    for row in rows:
        left = off(row)
        below = np.linalg.norm(left) * np.linalg.norm(turned)
        nothing = np.linalg.norm(left) <= 1e-6 * np.linalg.norm(row)
        found.append(0.0 if nothing else left @ turned / below)
    return np.array(found)


@settings(deadline=None)
@given(
    rows=arrays(np.int64, (7, 5), elements=NUMBERS),
    q=arrays(np.int64, 5, elements=NUMBERS),
    p=arrays(np.int64, 5, elements=NUMBERS).filter(np.any),
)
def test_a_plain_search_of_the_collection_scores_as_pap_plus(rows, q, p):
    rows, q, p = rows.astype(float), q.astype(float), p.astype(float)
    turned = q - (q @ p) / (p @ p) * p
    assume(np.linalg.norm(turned) > 1e-2)
    projected = project_collection(rows, p, out=np.empty_like(rows))
    found = projected @ (turned / np.linalg.norm(turned))
    np.testing.assert_allclose(found, pap_plus(rows, q, p), atol=1e-8)
    np.testing.assert_allclose(found, projected_scores("pap+", rows, q, q, p), atol=1e-8)


def test_rows_are_at_length_one_and_at_right_angles_to_the_perspective():
    rng = np.random.default_rng(0)
    rows, p = rng.standard_normal((9000, 12)), rng.standard_normal(12)
    rows[5] = 3.0 * p
    projected = project_collection(rows, p)
    assert projected.dtype == np.float32
    assert projected.shape == rows.shape
    assert not projected[5].any()
    np.testing.assert_allclose(np.linalg.norm(np.delete(projected, 5, 0), axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(projected @ p, 0.0, atol=1e-5)


def test_a_file_that_is_larger_than_memory_can_be_projected_into_another(tmp_path):
    rng = np.random.default_rng(1)
    rows, p = rng.standard_normal((5000, 8)).astype(np.float16), rng.standard_normal(8)
    out = np.lib.format.open_memmap(tmp_path / "p.npy", "w+", dtype=np.float16, shape=rows.shape)
    assert project_collection(rows, p, out=out) is out
    np.testing.assert_allclose(out, project_collection(rows, p), atol=1e-3)


@pytest.mark.parametrize(
    ("rows", "p", "out", "said"),
    [
        (np.ones(3), np.ones(3), None, "shape"),
        (np.ones((2, 3)), np.ones(4), None, "dimensions"),
        (np.ones((2, 3)), np.zeros(3), None, "zero"),
        (np.full((2, 3), np.nan), np.ones(3), None, "NaN"),
        (np.ones((2, 3)), np.ones(3), np.empty((3, 3)), "out"),
        (np.ones((2, 3)), np.ones(3), np.empty((2, 3), dtype=int), "out"),
    ],
)
def test_what_cannot_be_projected_is_refused(rows, p, out, said):
    with pytest.raises(ConfigError, match=said):
        project_collection(rows, p, out=out)


# A pipeline


class Table:
    """The vector of each text; a text without one has its own, always the same."""

    def __init__(self, d=16):
        self.d = d
        self.known = {}

    def embed_queries(self, texts):
        return np.array([self.of(text) for text in texts])

    embed_passages = embed_queries

    def of(self, text):
        if text not in self.known:
            seed = sum(ord(c) * 31**i for i, c in enumerate(text)) % 2**32
            self.known[text] = np.random.default_rng(seed).standard_normal(self.d)
        return self.known[text]


@pytest.fixture
def made():
    rng = np.random.default_rng(3)
    passages = [Passage(f"p{i}", f"passage {i}") for i in range(300)]
    rows = rng.standard_normal((300, 16))
    embedder = Table()
    collections = [
        ProjectedCollection(
            side,
            embedder.of(side),
            NumpyStore(passages, project_collection(rows, embedder.of(side))),
        )
        for side in SIDES
    ]
    store = NumpyStore(passages, rows)
    return passages, rows, embedder, store, collections


def pipeline(made, projection, **options):
    _, _, embedder, store, _ = made
    return PerspectivePipeline(
        store,
        embedder=embedder,
        extractor=GivenPerspectives([Perspective(side, side) for side in SIDES]),
        expander=StatementExpander(with_question=True),
        projection=projection,
        **options,
    )


def scores_of(result, side):
    """What the search for a side said of each passage that it found."""
    name = f"search:{side}"
    return {c.passage.id: c.scores[name] for c in result.candidates if name in c.scores}


def test_a_query_is_searched_in_the_collection_of_its_perspective(made):
    passages, rows, embedder, _, collections = made
    question = "Should zoos be closed?"
    result = pipeline(made, Precomputed(collections), k=50, fetch_k=50).retrieve(question)
    assert not result.trace.degradations
    assert not result.trace.decisions
    root = result.trace.queries[0].text
    for side in SIDES:
        query = f"{root} {side}"
        true = projected_scores(
            "pap+", rows, embedder.of(query), embedder.of(root), embedder.of(side)
        )
        found = scores_of(result, side)
        assert found
        assert set(found) <= {passages[i].id for i in np.argsort(-true)[:50]}
        for name, score in found.items():
            assert score == pytest.approx(true[int(name[1:])], abs=1e-5)


def test_it_finds_what_pap_plus_finds_when_that_reorders_everything(made):
    """The online form is exact only where its candidates are the whole corpus."""
    ahead = pipeline(made, Precomputed(made[4]), k=10, fetch_k=300).retrieve("Should zoos close?")
    online = pipeline(made, "pap+", k=10, fetch_k=300).retrieve("Should zoos close?")
    assert [p.id for p in ahead.passages] == [p.id for p in online.passages]


def test_it_finds_more_of_pap_plus_than_a_few_candidates_do(made):
    passages, rows, embedder, _, collections = made
    few = pipeline(made, "pap+", k=10, fetch_k=10, fusion="rrf")
    ahead = pipeline(made, Precomputed(collections), k=10, fetch_k=10, fusion="rrf")
    found = {"few": 0, "ahead": 0}
    for number in range(10):
        question = f"Should number {number} be closed?"
        for name, each in (("few", few), ("ahead", ahead)):
            result = each.retrieve(question)
            root = result.trace.queries[0].text
            query = f"{root} {SIDES[0]}"
            true = projected_scores(
                "pap+", rows, embedder.of(query), embedder.of(root), embedder.of(SIDES[0])
            )
            best = {passages[i].id for i in np.argsort(-true)[:10]}
            found[name] += len(best & set(scores_of(result, SIDES[0])))
    assert found["ahead"] > found["few"]


def test_a_perspective_without_a_collection_is_projected_online_and_the_trace_says_so(made):
    only = pipeline(made, Precomputed(made[4][:1]), k=10, fetch_k=50)
    result = only.retrieve("Should zoos be closed?")
    said = [each for each in result.trace.decisions if each["stage"] == "project"]
    assert [each["reason"] for each in said] == [
        "projected online: no collection of this perspective"
    ]
    assert said[0]["query"].endswith(SIDES[1])
    assert not result.trace.degradations
    online = pipeline(made, "pap+", k=10, fetch_k=50).retrieve("Should zoos be closed?")
    there = scores_of(online, SIDES[1])
    shared = {name: score for name, score in scores_of(result, SIDES[1]).items() if name in there}
    assert shared
    assert shared == pytest.approx({name: there[name] for name in shared})


def test_a_collection_made_with_another_model_is_not_used_and_that_is_recorded(made):
    passages, rows, _, _, collections = made
    other = np.ones(16)
    store = NumpyStore(passages, project_collection(rows, other))
    stale = [ProjectedCollection(SIDES[0], other, store), collections[1]]
    result = pipeline(made, Precomputed(stale), k=10).retrieve("Should zoos be closed?")
    (degradation,) = result.trace.degradations
    assert degradation.stage == "project"
    assert "made with another vector" in degradation.message


def test_the_vectors_of_hits_are_those_of_the_own_store(made):
    """MMR must not compare projected vectors with others."""
    _, rows, _, _, collections = made
    chosen = pipeline(made, Precomputed(collections), k=10, mmr_lambda=0.5)
    result = chosen.retrieve("Should zoos be closed?")
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for candidate in result.candidates:
        if candidate.embedding is not None:
            np.testing.assert_allclose(
                candidate.embedding, unit[int(candidate.passage.id[1:])], atol=1e-5
            )


async def test_async_finds_the_same(made):
    chosen = pipeline(made, Precomputed(made[4]), k=10)
    sync = chosen.retrieve("Should zoos be closed?")
    found = await chosen.aretrieve("Should zoos be closed?")
    assert [p.id for p in found.passages] == [p.id for p in sync.passages]


def test_a_collection_that_fails_is_recorded_and_the_others_answer(made):
    class Broken:
        takes_vector = True

        def search(self, text, vector, *, k, filter=None):
            raise ConnectionError("the collection is away")

        async def asearch(self, text, vector, *, k, filter=None):
            raise ConnectionError("the collection is away")

    _, _, embedder, _, collections = made
    broken = ProjectedCollection(SIDES[0], embedder.of(SIDES[0]), Broken())
    result = pipeline(made, Precomputed([broken, collections[1]]), k=5).retrieve("Is it so?")
    assert len(result.passages) == 5
    assert [each.stage for each in result.trace.degradations] == ["search"]


def test_names_differ_in_case_and_space_alone_are_one_perspective(made):
    _, _, _, store, _ = made
    one = ProjectedCollection("What supports it", np.ones(16), store)
    two = ProjectedCollection("what  supports it", np.ones(16), store)
    with pytest.raises(ConfigError, match="different perspectives"):
        Precomputed([one, two])
    with pytest.raises(ConfigError, match="different perspectives"):
        Precomputed([])


@pytest.mark.parametrize(
    ("text", "vector", "said"),
    [(" ", np.ones(16), "name the perspective"), ("a", np.zeros(16), "zero")],
)
def test_a_collection_that_cannot_be_used_is_refused(made, text, vector, said):
    with pytest.raises(ConfigError, match=said):
        ProjectedCollection(text, vector, made[3])


def test_a_store_by_text_is_refused():
    class ByText:
        takes_vector = False

        def search(self, text, vector, *, k, filter=None):
            return []

        async def asearch(self, text, vector, *, k, filter=None):
            return []

    with pytest.raises(ConfigError, match="by vector"):
        ProjectedCollection("a", np.ones(3), ByText())
