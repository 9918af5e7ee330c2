"""One stream of pairs: bad pairs, a judge that is down, and what a log knows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from perspective_rag.errors import ConfigError, JudgeError, MissingDependency
from perspective_rag.testing import TableJudge
from perspective_rag.types import Passage, Perspective
from perspective_rag_train.stream import judge_stream

PRO, CON = Perspective("pro", "zoos should close"), Perspective("con", "zoos should stay")


def batches(*names):
    """A batch for each string: a pair for each of its letters; x cannot be judged."""
    return [[(Passage(letter, letter), PRO) for letter in name] for name in names]


class Letters(TableJudge):
    """A judge of pairs that gives no verdict on the letter x."""

    def judge_pairs(self, perspectives, passages):
        self.judged.extend(each.id for each in passages)
        return np.array([math.nan if each.id == "x" else 0.5 for each in passages])
        yield


@dataclass
class Log:
    known: set[str] = field(default_factory=set)

    def knows(self, pair):
        return pair[0].id in self.known

    def add(self, pairs, support):
        self.known |= {passage.id for passage, _ in pairs}

    def resume_hint(self):
        return f"{len(self.known)} are kept"


def judged(judge, *names, outage=3, **options):
    return [
        "".join(
            "-" if math.isnan(p) else passage.id
            for (passage, _), p in zip(batch.pairs, batch.support, strict=True)
        )
        for batch in judge_stream(judge, batches(*names), outage=outage, **options)
    ]


def test_bad_pairs_have_no_verdict_and_the_rest_is_judged():
    assert judged(Letters(), "axb", "xx", "cx", "xx", "d") == ["a-b", "--", "c-", "--", "d"]


@pytest.mark.parametrize("names", [("xxx",), ("a", "xx", "xx"), ("ax", "x", "x", "x")])
def test_batches_in_a_row_without_a_verdict_are_an_outage(names):
    with pytest.raises(JudgeError, match=r"table judged none of \d pairs"):
        judged(Letters(), *names)


def test_a_judge_that_has_worked_may_be_trusted_for_the_rest_of_the_run():
    assert judged(Letters(), "a", "xxxx", only_at_start=True) == ["a", "----"]
    with pytest.raises(JudgeError):
        judged(Letters(), "xxxx", "a", only_at_start=True)


def test_what_the_log_knows_is_passed_over_and_an_outage_is_not_logged():
    log, judge = Log({"a", "b"}), Letters()
    with pytest.raises(JudgeError, match="none of 3 pairs: it gave no reason; 4 are kept"):
        judged(judge, "abc", "b", "bd", "xxx", log=log)
    assert log.known == {"a", "b", "c", "d"}
    assert judge.judged == ["c", "d", "x", "x", "x"]


def test_strict_names_the_first_pair_without_a_verdict():
    with pytest.raises(JudgeError, match="did not judge 1 of 2 pairs, from 'x' / 'pro'"):
        judged(Letters(), "ax", strict=True)


def test_the_reason_of_a_failure_is_told():
    class Down(TableJudge):
        def _look_up(self, perspectives, passages):
            raise ConnectionError("refused")

    (batch,) = judge_stream(Down(), batches("ab"), outage=3)
    assert [each.message for each in batch.degradations] == [
        "2 of 2 pairs could not be judged: refused"
    ]
    with pytest.raises(JudgeError, match="none of 3 pairs: refused") as caught:
        judged(Down(), "abc")
    assert isinstance(caught.value.__cause__, ConnectionError)


@pytest.mark.parametrize("error", [MissingDependency("judge", "judging"), ConfigError("wrong")])
def test_what_would_fail_again_every_time_is_raised_at_once(error):
    class Wrong(TableJudge):
        def _look_up(self, perspectives, passages):
            raise error

    with pytest.raises(type(error)):
        judged(Wrong(), "a")


def test_a_judge_of_tables_is_asked_once_for_a_whole_table():
    class Tables(TableJudge):
        def _look_up(self, perspectives, passages):
            self.judged.append((len(passages), len(perspectives)))
            return np.array(
                [[float(p.id) / 10 + (each is CON) / 2 for each in perspectives] for p in passages]
            )

    judge, passages = Tables(), [Passage("1", "a"), Passage("2", "b"), Passage("3", "c")]
    table = [(passage, each) for passage in passages for each in (PRO, CON)]
    (batch,) = judge_stream(judge, [table], outage=9)
    assert judge.judged == [(3, 2)]
    assert batch.support == pytest.approx([0.1, 0.6, 0.2, 0.7, 0.3, 0.8])
    (batch,) = judge_stream(judge, [table[1:]], outage=9)
    assert sorted(judge.judged[1:]) == [(2, 1), (3, 1)]
    assert batch.support == pytest.approx([0.6, 0.2, 0.7, 0.3, 0.8])
