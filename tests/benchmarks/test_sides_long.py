"""Chunks in which one passage takes a side and the rest is silent."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.core import results
from benchmarks.core.results import CHECKOUT
from benchmarks.sides.__main__ import main
from benchmarks.sides.long import PLACES, arguments
from perspective_rag.testing import TableJudge

DEBATES = CHECKOUT / "examples" / "debates"


def test_chunks_hold_one_passage_on_the_question_at_each_place():
    found = arguments(DEBATES)
    assert len(found) > 30
    assert {each.side for each in found} == {0, 1}
    for each in found[:6]:
        text = each.passage.text
        assert each.chunk("alone") == text
        for place in PLACES[1:]:
            chunk = each.chunk(place)
            assert chunk.count(text) == 1
            assert 400 < len(chunk.split()) < 700
        assert each.chunk("at the start").startswith(text)
        assert each.chunk("at the end").endswith(text)


class Near:
    """Everything is about everything."""

    def embed_queries(self, texts):
        return np.ones((len(texts), 3))

    embed_passages = embed_queries


@pytest.mark.parametrize(("support", "listed"), [((0.9, 0.1), 3), ((0.1, 0.1), 0)])
def test_what_is_listed_is_counted_by_side(tmp_path, support, listed):
    table = {("chunk", side): p for side, p in zip(("p1", "p2"), support, strict=True)}
    out = tmp_path / "out.json"
    run = [f"--long={DEBATES}", "--limit=3", f"--out={out}", f"--cache={tmp_path / 'cache'}"]
    assert main(run, embedder=Near(), judge=TableJudge(table)) == 0
    found = results.read(out)["results"]
    assert list(found["rows"]) == list(PLACES)
    for row in found["rows"].values():
        assert row["listed"] + row["opposing"] == listed
    assert "at the end" in out.with_suffix(".md").read_text()
