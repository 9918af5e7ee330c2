"""Lists through the pipeline: one call, the proofs on their way, and judges in front."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from perspective_rag import LLMListJudge, PerspectivePipeline
from perspective_rag.answer.supporting import supporting_sentences
from perspective_rag.commands.panels import show_passages
from perspective_rag.commands.parts import console
from perspective_rag.errors import ConfigError
from perspective_rag.extend import WatchedJudge, annotations_of, report_in
from perspective_rag.flow.driver import run
from perspective_rag.flow.trace import Recorder
from perspective_rag.judge.cascade import CascadeJudge
from perspective_rag.judge.support import (
    judge_best_first,
    judgements_left,
    list_reader,
    pair_judge,
    quick_judge,
)
from perspective_rag.protocols import Judged
from perspective_rag.testing import HashEmbedder, MemoryStore, ScriptedLLM, TableJudge
from perspective_rag.types import Candidate, Passage, Perspective

QUESTION = "Should zoos be closed?"
PRO = Perspective("pro", "Zoos should be closed.", "support", "Zoos should be closed.")
CON = Perspective("con", "Zoos should not be closed.", "oppose", "Zoos should be closed.")
FOR = (
    "Zoos are old. In zoos “small cages” make the animals ill, every keeper says. Closed on Monday."
)
AGAINST = "Zoos bred the condor back. Without zoos it would be gone."
TEXTS = [FOR, AGAINST, *(f"Zoos open at {i} in the morning." for i in range(40))]
SAID = {
    FOR: ("A", "clear", 'small cages" make the animals ill'),
    AGAINST: ("B", "fair", "zoos it would be gone"),
}


def model(said=SAID):
    def reply(prompt):
        shown = re.findall(r'number="(\d+)">\n(.*?)\n</passage-', prompt.user, re.DOTALL)
        entries = [
            {"passage": int(n), "side": side, "grade": grade, "quote": quote}
            for n, text in shown
            for side, grade, quote in [said.get(text, ("none", "clear", ""))]
        ]
        return json.dumps({"verdicts": entries})

    return ScriptedLLM(reply)


def pipeline(judge, texts=TEXTS, **options):
    store = MemoryStore([Passage(f"d{i}", text) for i, text in enumerate(texts)])
    return PerspectivePipeline(store, embedder=HashEmbedder(), judge=judge, **options)


def test_a_question_is_one_call_and_the_proofs_arrive():
    llm = model()
    result = pipeline(LLMListJudge(llm)).retrieve(QUESTION)
    assert result.trace.calls["judge"] == len(llm.prompts) == 1
    assert f"Question: {QUESTION}\n" in llm.prompts[0].user
    assert result.trace.counts["judged_pairs"] == 50  # 25 candidates, two sides
    assert result.trace.degradations == ()
    (first,), (second,) = (result.supporting(each) for each in result.perspectives)
    assert (first.passage.text, second.passage.text) == (FOR, AGAINST)
    name = result.perspectives[0].id
    assert first.proofs[name].of(first.passage) == "small cages” make the animals ill"
    told = next(c for c in result.to_dict()["candidates"] if c["text"] == FOR)["proofs"][name]
    assert told["text"] == FOR[told["start"] : told["end"]] == "small cages” make the animals ill"
    place = result.candidates.index(first)
    assert report_in(annotations_of(result)[place])["proofs"] == {name: told}


def test_a_side_that_is_lacking_costs_no_further_call():
    llm = model({})
    result = pipeline(LLMListJudge(llm), guard_searches=4).retrieve(QUESTION)
    assert result.coverage.covered == ()
    assert len(llm.prompts) == 1


def test_what_was_read_in_lists_leaves_the_rest_of_judge_k():
    candidates = [Candidate(Passage(f"d{i}", text), 1.0) for i, text in enumerate(TEXTS[:6])]
    request = pipeline(LLMListJudge(model()), judge_k=10).request(QUESTION)
    assert judgements_left(request, candidates) == 10
    request.read_in_lists |= {id(each.passage) for each in candidates[:4]}  # answered or not
    assert judgements_left(request, candidates) == 6
    assert judgements_left(pipeline(TableJudge()).request(QUESTION), candidates) is None


async def test_the_same_without_blocking():
    one, other = (LLMListJudge(model()) for _ in range(2))
    first = pipeline(one).retrieve(QUESTION)
    second = await pipeline(other).aretrieve(QUESTION)
    assert [c.to_dict() for c in first.candidates] == [c.to_dict() for c in second.candidates]
    assert first.trace.calls == second.trace.calls


def test_a_list_is_handed_over_whole_within_the_limit_and_the_batch_size():
    def read(limit, **options):
        llm = model()
        candidates = [Candidate(Passage(f"d{i}", text), 1.0) for i, text in enumerate(TEXTS)]
        flow = judge_best_first(
            LLMListJudge(llm, **options), [PRO, CON], candidates, k=2, limit=limit, rule=None,
            exclusive=True, question=QUESTION,
        )  # fmt: skip
        found = run(flow)
        return [prompt.user.count(" number=") for prompt in llm.prompts], found

    sizes, found = read(30)
    assert sizes == [30]
    assert sum(bool(c.support) for c in found) == 30
    assert read(30, batch_size=12)[0] == [12, 12, 6]


def test_a_judge_that_returns_no_judged_is_named():
    class Odd(LLMListJudge):
        def judge_list(self, *_, **__):
            return np.zeros((1, 2))

    with pytest.raises(ConfigError, match="expected a Judged with the proofs of"):
        pipeline(Odd(model())).retrieve(QUESTION)


# sentences


@pytest.mark.parametrize("fallback", [None, TableJudge(default=0.0)], ids=["alone", "doubted"])
def test_the_words_of_proof_are_marked_and_no_sentence_costs_a_call(fallback):
    llm = model()
    pipe = pipeline(LLMListJudge(llm, fallback=fallback))
    result = pipe.retrieve(QUESTION)
    book = Recorder()
    marked = run(supporting_sentences(quick_judge(pipe.judge), result), book)
    sides = [each.id for each in result.perspectives]
    texts = {name: text for (_, name), text in marked.items()}
    assert texts == {
        sides[0]: "In zoos “small cages” make the animals ill, every keeper says.",
        sides[1]: "Without zoos it would be gone.",
    }
    answer = pipe.answer(result)
    said = {claim.perspective: claim.text for claim in answer.claims}
    assert said[sides[0]] == texts[sides[0]]
    assert len(llm.prompts) == 1
    if fallback is None:
        assert book.calls == {}
    else:  # what the packaged judge doubts is still quoted with its proof
        assert (said, answer.unsupported) == (texts, ())


def test_the_terminal_shows_the_words_of_proof(capsys):
    far = "Zoos are many things to many people. " * 12 + FOR
    said = {far: SAID[FOR], AGAINST: SAID[AGAINST]}
    result = pipeline(LLMListJudge(model(said)), texts=[far, AGAINST]).retrieve(QUESTION)
    screen = console()
    screen.width = 80
    show_passages(result, screen)
    out = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "small cages” make the animals ill" in out
    assert "… many things" in out  # from the middle on


def test_who_reads_lists_pairs_and_sentences():
    plain = TableJudge()
    lists = LLMListJudge(model(), fallback=plain)
    watched = WatchedJudge(lists, lambda call, *_: call)
    asked_again = CascadeJudge(plain, llm_judge=TableJudge())
    assert list_reader(plain) is list_reader(WatchedJudge(plain, lambda call, *_: call)) is None
    assert list_reader(watched) is watched
    assert pair_judge(plain) is plain
    assert pair_judge(asked_again) is asked_again
    assert pair_judge(lists).inner is pair_judge(watched).inner is plain
    assert pair_judge(LLMListJudge(model())) is None
    assert quick_judge(None) is None
    assert quick_judge(asked_again).last is None


def test_judged_of_another_kind_of_judge_needs_no_proofs():
    class Own(TableJudge):
        batch_size = 8

        def judge_list(self, question, perspectives, passages, relevance, *, exclusive=False):
            n = len(passages)
            support = np.tile([0.9, 0.1], (n, 1))
            return Judged(support, ({},) * n, np.ones(n, dtype=bool))

    result = pipeline(Own()).retrieve(QUESTION)
    assert len(result.supporting(result.perspectives[0])) == len(result.candidates)
