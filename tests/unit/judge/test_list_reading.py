"""Lists through the pipeline: one call, the proofs on their way, and judges in front."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from perspective_rag import CachedJudge, LLMListJudge, PerspectivePipeline
from perspective_rag.answer.supporting import supporting_sentences
from perspective_rag.commands.panels import show_passages
from perspective_rag.commands.parts import console
from perspective_rag.errors import ConfigError
from perspective_rag.extend import WatchedJudge, annotations_of, report_in
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.cascade import CascadeJudge
from perspective_rag.judge.graded import RULE, GradedJudge
from perspective_rag.judge.support import (
    judge_best_first,
    judgements_left,
    list_reader,
    pair_judge,
    quick_judge,
)
from perspective_rag.protocols import Judged
from perspective_rag.testing import HashEmbedder, MemoryStore, ScriptedLLM, TableJudge
from perspective_rag.types import Candidate, ListingRule, Passage, Perspective

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


def test_the_words_of_proof_are_marked_and_no_sentence_costs_a_call():
    llm = model()
    pipe = pipeline(LLMListJudge(llm))
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
    assert next(claim.text for claim in answer.claims if claim.perspective == sides[0]) == (
        "In zoos “small cages” make the animals ill, every keeper says."
    )
    assert len(llm.prompts) == 1
    assert book.calls == {}


def test_what_the_packaged_judge_doubts_is_still_quoted_with_its_proof():
    pipe = pipeline(LLMListJudge(model(), fallback=TableJudge(default=0.0)))
    answer = pipe.answer(pipe.retrieve(QUESTION))
    assert answer.unsupported == ()
    assert {claim.text for claim in answer.claims} == {
        "In zoos “small cages” make the animals ill, every keeper says.",
        "Without zoos it would be gone.",
    }


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


# judges in front


def judged(judge, passages):
    near = np.full(len(passages), np.nan)
    book = Recorder()
    lists = list_reader(judge)
    return run(lists.judge_list(QUESTION, [PRO, CON], passages, near, exclusive=True), book), book


def test_verdicts_and_proofs_are_kept(tmp_path):
    llm = model()
    passages = [Passage(str(i), text) for i, text in enumerate(TEXTS[:6])]
    first, book = judged(CachedJudge(LLMListJudge(llm), tmp_path / "v.sqlite"), passages)
    assert book.counts["cached_pairs"] == 0
    # Another process asks about some of them, one new passage, in another order.
    again = CachedJudge(LLMListJudge(llm), tmp_path / "v.sqlite")
    new = Passage("new", "A new text about zoos and their keepers.")
    second, book = judged(again, [new, *passages[::-1]])
    assert book.counts["cached_pairs"] == 12
    np.testing.assert_array_equal(second.support[1:], first.support[::-1])
    assert second.proofs[1:] == first.proofs[::-1]
    assert second.own.all()
    assert [prompt.user.count(" number=") for prompt in llm.prompts] == [6, 1]


def test_verdicts_of_the_fallback_are_not_kept(tmp_path):
    replies = iter(["no"])
    good = model()
    llm = ScriptedLLM(lambda prompt: next(replies, None) or good.replies(prompt))
    judge = CachedJudge(LLMListJudge(llm, fallback=TableJudge(default=0.9)), tmp_path / "v.sqlite")
    passages = [Passage("f", FOR)]
    by_fallback, _ = judged(judge, passages)
    assert not by_fallback.own.any()
    by_model, book = judged(judge, passages)
    assert by_model.own.all()
    assert book.counts["cached_pairs"] == 0


def test_a_watched_judge_reads_lists_and_its_calls_are_seen():
    seen = []
    watched = WatchedJudge(
        LLMListJudge(model()), lambda call, name, inputs: seen.append(inputs) or call
    )
    assert watched.batch_size == 40
    found, _ = judged(watched, [Passage("f", FOR)])
    assert found.proofs[0].keys() == {"pro"}
    assert seen == [{"perspectives": [PRO.text, CON.text], "passages": ["f"]}]


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


class Beside(TableJudge):
    sides_listing = ListingRule(0.6, 0.4, 0.1)

    def judge_sides(self, sides, passages, relevance):
        return self.judge(sides, passages)


def test_grades_list_what_the_judge_lists():
    table = {("f", "pro"): 0.65, ("f", "con"): 0.1, ("g", "pro"): 0.5, ("g", "con"): 0.5}
    passages = [Passage("f", FOR), Passage("g", AGAINST), Passage("h", "silent")]
    graded = GradedJudge(Beside(table, default=0.0))
    found = run(graded.judge_sides((PRO, CON), passages, np.full(3, np.nan)))
    verdicts = RULE.verdicts(found, ~np.eye(2, dtype=bool))
    assert verdicts.tolist() == [["clear", "silent"], ["mixed", "mixed"], ["silent", "silent"]]
    assert graded.sides_listing is RULE
    assert GradedJudge(TableJudge()).sides_listing is None


def test_judged_of_another_kind_of_judge_needs_no_proofs():
    class Own(TableJudge):
        batch_size = 8

        def judge_list(self, question, perspectives, passages, relevance, *, exclusive=False):
            n = len(passages)
            support = np.tile([0.9, 0.1], (n, 1))
            return Judged(support, ({},) * n, np.ones(n, dtype=bool))

    result = pipeline(Own()).retrieve(QUESTION)
    assert len(result.supporting(result.perspectives[0])) == len(result.candidates)
