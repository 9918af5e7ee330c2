"""Judges in front of another one: what they offer, what a cache keeps, what somebody watches."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest

from perspective_rag import CachedJudge, CascadeJudge, ConfigError
from perspective_rag.extend import WatchedJudge
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.support import list_reader
from perspective_rag.judge.wrapped import RULE, GradedJudge
from perspective_rag.protocols import Judged
from perspective_rag.testing import TableJudge
from perspective_rag.types import ListingRule, Passage, Perspective, Proof

PRO, CON = Perspective("pro", "zoos should close"), Perspective("con", "zoos should stay")
A, B = Passage("a", "cages are cruel"), Passage("b", "zoos save species", {"title": "T"})
NEAR = np.array([0.5, 0.5])


class Offering(TableJudge):
    """A judge with everything that one may offer: pairs, two sides and lists."""

    revision = "1"
    languages = ("en", "fr")
    listing = ListingRule(0.8, 0.6, 0.1)
    sides_listing = ListingRule(0.9, 0.7, 0.2)
    batch_size = 7
    unsure: frozenset[str] = frozenset()
    own = True

    def judge_pairs(self, perspectives, passages):
        self.judged.extend((d.id, p.id) for d, p in zip(passages, perspectives, strict=True))
        return np.array([np.nan if d.id in self.unsure else len(d.text) / 99 for d in passages])
        yield

    def judge(self, perspectives, passages):
        pairs = [(p, d) for d in passages for p in perspectives]
        values = yield from self.judge_pairs(*map(list, zip(*pairs, strict=True)))
        return values.reshape(len(passages), len(perspectives))

    def judge_sides(self, sides, passages, relevance):
        return self.judge(sides, passages)

    def judge_list(self, question, perspectives, passages, relevance, *, exclusive=False):
        support = yield from self.judge(perspectives, passages)
        proofs = tuple({perspectives[-1].id: Proof(0, len(d.text) - 1)} for d in passages)
        return Judged(support, proofs, np.full(len(passages), self.own))


class Plain(TableJudge):
    revision = "1"


def ask(judge, form, perspectives=(PRO, CON), passages=(A, B), near=NEAR, book=None):
    """P(support) by the form of question, and the proofs of a list."""
    if form == "list":
        found = run(judge.judge_list("Zoos?", perspectives, passages, near), book)
        return found.support, found.proofs
    if form == "sides":
        return run(judge.judge_sides(perspectives, passages, near), book), None
    return run(judge.judge(perspectives, passages), book), None


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "verdicts"


@pytest.fixture(params=["cached", "cascade", "watched"])
def in_front(request, path):
    """Puts a judge behind another one."""
    return {
        "cached": lambda judge: CachedJudge(judge, path),
        "cascade": CascadeJudge,
        "watched": lambda judge: WatchedJudge(judge, lambda call, name, inputs: call),
    }[request.param]


def test_what_a_judge_offers_is_offered_by_the_one_in_front_and_nothing_else(in_front):
    inner = Offering(threshold=0.7)
    judge, plain = in_front(inner), in_front(Plain(threshold=0.7))
    for name in ("name", "threshold", "languages", "listing", "sides_listing"):
        assert getattr(judge, name) == getattr(inner, name)
    reads_lists = not isinstance(judge, CascadeJudge)
    assert list_reader(judge) is (judge if reads_lists else None)
    assert (plain.languages, plain.sides_listing, list_reader(plain)) == ((), None, None)
    assert plain.listing == ListingRule(0.7, 0.7)


def test_a_watched_judges_calls_are_seen_in_every_form():
    seen = []
    judge = WatchedJudge(
        TableJudge(default=0.5), lambda call, name, inputs: seen.append((name, inputs)) or call
    )
    ask(judge, "table")
    inputs = {"perspectives": [PRO.text, CON.text], "passages": ["a", "b"]}
    assert seen == [("table", inputs)]
    watched = WatchedJudge(Offering(), lambda call, *_: call)
    for form in ("table", "sides", "list"):
        np.testing.assert_array_equal(ask(watched, form)[0], ask(Offering(), form)[0])


class Beside(TableJudge):
    sides_listing = ListingRule(0.6, 0.4, 0.1)

    def judge_sides(self, sides, passages, relevance):
        return self.judge(sides, passages)


def test_grades_list_what_the_judge_lists():
    table = {("a", "pro"): 0.65, ("a", "con"): 0.1, ("b", "pro"): 0.5, ("b", "con"): 0.5}
    graded = GradedJudge(Beside(table, default=0.0))
    found, _ = ask(graded, "sides", passages=(A, B, Passage("h", "silent")))
    verdicts = RULE.verdicts(found, ~np.eye(2, dtype=bool))
    assert verdicts.tolist() == [["clear", "silent"], ["mixed", "mixed"], ["silent", "silent"]]
    assert graded.sides_listing is RULE
    assert GradedJudge(TableJudge()).sides_listing is None


# The cache


@pytest.mark.parametrize("form", ["table", "sides", "list"])
def test_nothing_is_judged_twice_not_even_by_the_next_process(form, path):
    first, second, book = Offering(), Offering(), Recorder()
    new = Passage("new", "a new text")
    before, proofs = ask(CachedJudge(first, path), form)
    again, kept = ask(
        CachedJudge(second, path), form, passages=(new, B, A), near=np.full(3, 0.5), book=book
    )
    assert second.judged == [("new", "pro"), ("new", "con")]
    np.testing.assert_array_equal(again[1:], before[::-1])
    assert book.counts["cached_pairs"] == 4
    if form == "list":
        assert kept[1:] == proofs[::-1] != ({}, {})


@pytest.mark.parametrize(
    ("form", "change"),
    [
        ("table", {"perspectives": [CON]}),
        ("table", {"perspectives": [Perspective("pro", PRO.text, "oppose", PRO.text)]}),
        ("table", {"passages": [Passage("a", "cages are cruel.")]}),
        ("table", {"passages": [Passage("a", A.text, {"title": "new"})]}),
        ("table", {"revision": "2"}),
        ("sides", {"near": np.array([0.9])}),
        ("sides", {"perspectives": (PRO, Perspective("con", "zoos teach"))}),
        ("list", {"passages": [Passage("a", "cages are cruel.")]}),
    ],
)
def test_whatever_can_change_a_verdict_is_in_the_key(path, form, change):
    sides = [PRO] if form == "table" else (PRO, CON)
    asked = {"perspectives": sides, "passages": [A], "near": NEAR[:1]}
    ask(CachedJudge(Offering(), path), form, **asked)
    judge = Offering()
    judge.revision = change.pop("revision", "1")
    ask(CachedJudge(judge, path), form, **asked | change)
    assert judge.judged


@pytest.mark.parametrize(
    ("form", "own"), [("table", True), ("sides", True), ("list", True), ("list", False)]
)
def test_a_failure_and_another_judges_verdict_are_never_kept(path, form, own):
    judge = Offering()
    judge.own = own
    if own:
        judge.unsure = frozenset({"a"})
    cached, book = CachedJudge(judge, path), Recorder()
    ask(cached, form, passages=[A], near=NEAR[:1], book=book)
    assert book.degradations == []  # nobody tried to write it
    judge.unsure, judge.own = frozenset(), True
    assert not np.isnan(ask(cached, form, passages=[A], near=NEAR[:1])[0]).any()
    assert len(judge.judged) == 4


def test_a_judge_that_does_not_say_which_it_is_is_refused(path):
    with pytest.raises(ConfigError, match="revision"):
        CachedJudge(TableJudge(), path)


def test_a_file_that_fails_is_recorded_and_the_judge_is_asked(path):
    cached, book = CachedJudge(Offering(), path), Recorder()
    cached.close()
    assert not np.isnan(ask(cached, "table", book=book)[0]).any()
    assert len(book.degradations) == 2


@pytest.mark.parametrize("row", ["[0.5]", "0.5", "[2.0, 0.5]", "[NaN, 0.5]", "[0.5, 0.5, 0.5]"])
def test_a_row_that_no_judge_says_is_asked_anew(path, row):
    expected, _ = ask(CachedJudge(Offering(), path), "sides")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("UPDATE judge_verdicts SET value = ?", (f"[{row}, []]",))
    judge = Offering()
    np.testing.assert_array_equal(ask(CachedJudge(judge, path), "sides")[0], expected)
    assert len(judge.judged) == 4


def test_the_revision_is_computed_once_a_call(path):
    class Costly(Offering):
        asked = 0

        @property
        def revision(self):
            Costly.asked += 1
            return "1"

    cached = CachedJudge(Costly(), path)
    for form in ("table", "sides", "list"):
        Costly.asked = 0
        ask(cached, form)
        assert Costly.asked == 1


def test_threads_share_a_file(path):
    caches = [CachedJudge(Offering(), path), CachedJudge(Offering(), path)]
    passages = [Passage(str(i), "x" * (i % 20)) for i in range(200)]

    def asked(i):
        return ask(caches[i % 2], "table", passages=passages[i : i + 10])[0]

    with ThreadPoolExecutor(8) as pool:
        tables = list(pool.map(asked, range(0, 200, 5)))
    for i, table in zip(range(0, 200, 5), tables, strict=True):
        expected = [len(d.text) / 99 for d in passages[i : i + 10]]
        np.testing.assert_array_equal(table, np.array([expected, expected]).T)
