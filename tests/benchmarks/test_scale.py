"""The benchmark of growing corpora: its exact searches, what it keeps, and what it reports."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("faiss")
pytest.importorskip("psutil")
pytest.importorskip("threadpoolctl")

from benchmarks.pir.methods import adaptive_scores
from benchmarks.scale import collection, experiment
from benchmarks.scale.collection import written
from benchmarks.scale.command import main
from benchmarks.scale.exact import K, exact, recall, rows_at
from benchmarks.scale.experiment import Settings, measured
from benchmarks.scale.report import tables
from benchmarks.scale.vectors import CHUNK, DIMENSIONS, Space
from perspective_rag.maths.projection import projected_scores

SIZE = 1200
SETTINGS = Settings(queries=4, seconds=0.0, seed=5, threads=1)


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def space():
    return Space.of(SETTINGS.seed)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return tmp_path_factory.mktemp("scale")


@pytest.fixture(scope="module")
def rows(space, work):
    return written(work / "rows", space, SIZE, turn=None, told=print)


def test_rows_are_the_same_whatever_is_drawn_with_them(space, rows, tmp_path):
    assert rows.shape == (SIZE, DIMENSIONS)
    assert rows.dtype == np.float16
    np.testing.assert_allclose(rows, space.chunk(0)[:SIZE], atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(rows.astype(float), axis=1), 1.0, atol=1e-2)
    assert not np.array_equal(space.chunk(1)[:SIZE], rows)
    assert len(space.chunk(0)) == CHUNK


def test_writing_goes_on_where_it_was_cut_off(space, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(collection, "CHUNK", 500)
    drawn = Space.of(SETTINGS.seed).chunk(0)
    monkeypatch.setattr(Space, "chunk", lambda self, number: drawn[number * 500 :][:500])
    written(tmp_path, space, 900, turn=None, told=print)
    told = []
    again = written(tmp_path, space, SIZE, turn=None, told=told.append)
    np.testing.assert_array_equal(again, rows)
    assert [each.split()[-3] for each in told] == ["500", "1,000"]
    assert written(tmp_path, space, SIZE, turn=None, told=told.append).shape == rows.shape
    assert len(told) == 2


def test_the_exact_searches_are_those_of_the_definitions(space, rows):
    triples, kinds = space.triples(4), space.kinds()
    found = exact(rows, triples, kinds)
    whole = rows_at(rows, np.arange(SIZE))
    for i, (q, r, p) in enumerate(triples):
        for way, method in (("plain", "none"), ("PAP", "pap"), ("PAP+", "pap+")):
            scores = projected_scores(method, whole, q, r, p)
            got = scores[found.by_way[way][i]]
            np.testing.assert_allclose(got, np.sort(scores)[::-1][:K], atol=1e-5)
        scores = adaptive_scores(whole, q, r, p, kinds=kinds)
        got = scores[found.by_way["adaptive"][i]]
        np.testing.assert_allclose(got, np.sort(scores)[::-1][:K], atol=1e-5)


def test_recall_is_the_share_of_the_true_ones():
    true = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    assert recall([np.array([4, 3, 2, 1]), np.array([5, 9, 9, 6])], true) == 0.75


@pytest.fixture(scope="module")
def found(work):
    return list(measured([SIZE], ["flat", "hnsw"], SETTINGS, work, resume=False))


def test_an_exact_index_finds_all_by_every_way_that_needs_no_candidates(found):
    ways = found[0]["ways"]
    for way in ("plain", "PAP", "adaptive"):
        assert ways[way]["recall"] == 1.0, way
    assert ways["PAP+ precomputed"]["recall"] >= 0.95  # kept as float16 once more
    assert found[0]["guarded"]["searches"] >= 3
    assert found[0]["guarded"]["judged_pairs"] > 0


def test_a_compressed_index_finds_most_and_leaves_no_vectors(work):
    (found,) = measured([SIZE], ["ivfpq"], SETTINGS, work, resume=False)
    assert found["ways"]["plain"]["recall"] >= 0.7
    assert found["build"]["disk_mb_per_million"] > 0
    assert not list(work.glob("seed-*"))


def test_what_was_kept_is_not_measured_again_unless_the_settings_changed(found, work, monkeypatch):
    def never(*arguments, **wanted):
        raise AssertionError("drawn again")

    monkeypatch.setattr(experiment, "written", never)
    kinds = ["flat", "hnsw"]
    assert list(measured([SIZE], kinds, SETTINGS, work, resume=True)) == found
    other = Settings(queries=3, seconds=0.0, seed=5, threads=1)
    with pytest.raises(AssertionError, match="drawn again"):
        list(measured([SIZE], kinds, other, work, resume=True))


def test_a_kind_that_keeps_all_in_memory_is_left_out_of_the_largest_sizes(work):
    assert list(measured([20_000_000], ["flat", "hnsw"], SETTINGS, work, resume=False)) == []


def test_the_tables_say_what_was_measured(found):
    builds, searches, guarded = (table.markdown() for table in tables(found))
    assert "HNSW" in builds
    assert "| flat | 1,200 | PAP | 1.000 |" in searches
    assert guarded.count("\n") >= 5


def test_the_command_writes_results_tables_and_a_plot(found, work, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "found.json"
    arguments = ["--sizes", str(SIZE), "--kinds", "flat", "hnsw", "--queries", "4", "--resume"]
    arguments += ["--seconds", "0", "--seed", "5", "--work", str(work), "--out", str(out)]
    assert main(arguments) == 0
    assert out.is_file()
    assert "recall@10" in out.with_suffix(".md").read_text(encoding="utf-8")
    assert "<svg" in (tmp_path / "found-cost.svg").read_text(encoding="utf-8")
