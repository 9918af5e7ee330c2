"""Judges that stand in front of another one lose nothing of what it offers."""

from __future__ import annotations

import pytest

from perspective_rag import CachedJudge, CascadeJudge
from perspective_rag.extend import WatchedJudge
from perspective_rag.testing import TableJudge
from perspective_rag.types import ListingRule


class Offering(TableJudge):
    """A judge with everything that one may offer."""

    revision = "1"
    languages = ("en", "fr")
    listing = ListingRule(0.8, 0.6, 0.1)
    sides_listing = ListingRule(0.9, 0.7, 0.2)

    def judge_sides(self, sides, passages, relevance):
        return self.judge(sides, passages)


@pytest.fixture(params=["cached", "cascade", "watched"])
def in_front(request, tmp_path):
    """Puts a judge behind another one."""
    return {
        "cached": lambda judge: CachedJudge(judge, tmp_path / "verdicts"),
        "cascade": CascadeJudge,
        "watched": lambda judge: WatchedJudge(judge, lambda call, name, inputs: call),
    }[request.param]


def test_what_a_judge_offers_is_offered_by_the_one_in_front(in_front):
    inner = Offering(threshold=0.7)
    judge = in_front(inner)
    for name in ("name", "threshold", "languages", "listing", "sides_listing"):
        assert getattr(judge, name) == getattr(inner, name)


def test_what_it_does_not_offer_is_not_made_up(in_front):
    plain = TableJudge(threshold=0.7)
    plain.__class__ = type("Revised", (TableJudge,), {"revision": "1", "__slots__": ()})
    judge = in_front(plain)
    assert (judge.languages, judge.sides_listing) == ((), None)
    assert judge.listing == ListingRule(0.7, 0.7)
