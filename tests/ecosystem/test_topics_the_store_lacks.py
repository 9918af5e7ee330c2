"""A topic that the store lacks is never reported covered, in front of any store."""

from __future__ import annotations

import pytest

from perspective_rag import CoverageError

STORES = ["in-memory", "faiss", "chroma", "qdrant", "keywords"]
SIDES = ["Cages are iron.", "Tickets cost money.", "Lions sleep."]
THERE, LACKING = "Should zoos be closed?", "Are tariffs harmful?"
pytestmark = pytest.mark.filterwarnings("ignore:.*searched by text only")


@pytest.mark.parametrize("store", STORES)
def test_nothing_is_covered_and_require_raises(wrap, says_yes, floor, store):
    wrapped = wrap(store, judge=says_yes, floor=floor, k=3)
    assert len(wrapped.report(LACKING).perspectives) == 2, "the question has its sides"
    result = wrapped.report(LACKING, perspectives=SIDES)
    assert not result.coverage.covered
    assert result.says_nothing
    with pytest.raises(CoverageError):
        wrapped.report(LACKING, perspectives=SIDES, coverage="require")
    there = wrapped.report(THERE, perspectives=SIDES, coverage="require")
    assert there.coverage.complete


def test_an_option_says_it_where_the_embeddings_do_not(wrap, says_yes):
    wrapped = wrap("in-memory", judge=says_yes, relevance_floor=0.2, k=3)
    assert wrapped.report(LACKING).says_nothing
    assert wrapped.report(THERE, perspectives=SIDES).coverage.complete
    assert wrapped.report(LACKING, drop_unrelated=True).passages == []
