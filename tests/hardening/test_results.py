"""No passage twice, at most k, all from the store: whatever judges, keys and steps do."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from perspective_rag import PerspectivePipeline, RetrievalError
from perspective_rag.cover.select import check_chosen
from perspective_rag.flow.driver import run
from perspective_rag.testing import HashEmbedder, MemoryStore, RuleJudge
from perspective_rag.testing.samples import PERSPECTIVES, QUESTION, SAMPLE
from perspective_rag.types import Candidate, Hit, Passage, passage_key

KNOWN = {passage.id for passage in SAMPLE}


class FailsAtFirst:
    """A judge whose first calls fail; it lists what is for or against."""

    name, threshold = "fails at first", 0.5

    def __init__(self, failures):
        self.failures = failures
        self.calls = 0

    def judge(self, perspectives, passages):
        self.calls += 1
        if self.calls <= self.failures:
            raise ConnectionError("not yet")
        sides = ("for", "against")
        return np.array(
            [[0.9 if d.metadata["side"] == s else 0.1 for s in sides] for d in passages]
        )


def pipeline(judge=None, **options):
    return PerspectivePipeline(MemoryStore(SAMPLE), embedder=HashEmbedder(), judge=judge, **options)


def check(result, k=5):
    keys = [passage_key(passage) for passage in result.passages]
    assert len(set(keys)) == len(keys) <= k
    assert set(keys) <= KNOWN


@pytest.mark.parametrize("judge_k", [0, 1, 8, 25])
@pytest.mark.parametrize("failures", [0, 1, 2, 3])
def test_a_judge_that_fails_and_recovers_brings_no_passage_twice(judge_k, failures):
    judge = FailsAtFirst(failures)
    result = pipeline(judge, judge_k=judge_k).retrieve(QUESTION, perspectives=PERSPECTIVES)
    check(result)
    assert judge.calls > 0 or judge_k == 0


def test_judge_k_0_judges_nothing_not_even_to_discover_perspectives():
    judge = RuleJudge(lambda passage, perspective: 0.9)
    for question in (QUESTION, "What do people think of the old harbour?"):
        check(pipeline(judge, judge_k=0, discover=2).retrieve(question))
    assert judge.judged == []


def test_a_dedup_key_that_changes_its_mind_brings_no_passage_twice():
    numbers = itertools.count()
    one = PerspectivePipeline(
        MemoryStore(SAMPLE),
        embedder=HashEmbedder(),
        judge=FailsAtFirst(1),
        dedup_key=lambda passage: next(numbers) if passage.metadata["number"] % 2 else None,
    )
    asked = one.retrieve(QUESTION, perspectives=PERSPECTIVES)
    assert len({id(passage) for passage in asked.passages}) == len(asked.passages) == 5


def test_given_hits_come_once_and_at_most_k():
    twice = [Hit(passage) for passage in (*SAMPLE, *SAMPLE)]
    check(pipeline(FailsAtFirst(2)).choose(QUESTION, twice, perspectives=PERSPECTIVES))
    with pytest.raises(RetrievalError, match="expected Hits"):
        pipeline().choose(QUESTION, SAMPLE[:3])


def test_what_a_step_chose_wrongly_is_left_out_and_recorded():
    request = pipeline(k=3).request(QUESTION)
    known = [Candidate(passage, 1.0) for passage in SAMPLE[:5]]
    run(request.keys([c.passage for c in known]))
    request.found.update(passage.id for passage in SAMPLE[:5])
    foreign = Candidate(Passage("nobody found this", "text"), 1.0)
    chosen = [known[0], known[1], known[0], foreign, *known[2:]]
    kept = run(check_chosen(request, chosen), request.recorder)
    assert kept == known[:3]
    (degradation,) = request.recorder.degradations
    assert degradation.message.startswith("4 of 7")
    assert run(check_chosen(request, known[:2]), request.recorder) == known[:2]
    assert len(request.recorder.degradations) == 1
