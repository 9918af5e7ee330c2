"""The default path reads no passage that has nothing to do with the perspectives."""

from __future__ import annotations

import json
import re

import pytest

from perspective_rag import (
    CascadeJudge,
    ConfigError,
    Corpus,
    LLMError,
    LLMJudge,
    RuleExtractor,
    local_pipeline,
)
from perspective_rag.testing import HashEmbedder, ScriptedLLM, TableJudge
from perspective_rag.types import Passage, Prompt

QUESTION = "Should zoos be closed?"
RELATED = Passage("zoo", "Zoos should be closed, because animals suffer in their cages.")
UNRELATED = [
    Passage("butter", "Butter and flour should be mixed first, and the oven door closed."),
    Passage("goal", "The second goal should count, since the ball was over the line by a metre."),
]


def test_what_embeddings_rule_out_is_not_judged_and_supports_nothing() -> None:
    for dense in (False, True):
        pipeline = local_pipeline(Corpus([RELATED, *UNRELATED]), k=3, dense=dense)
        result = pipeline.retrieve(QUESTION)
        support = {c.passage.id: max(c.support.values(), default=0.0) for c in result.candidates}
        assert support["zoo"] > 0.0, dense
        assert support["butter"] == support["goal"] == 0.0, dense
        about = dict(zip(support, result.coverage.related.tolist(), strict=True))
        assert about == {"zoo": True, "butter": False, "goal": False}, dense
        assert result.trace.counts["judged_pairs"] == 2, dense  # beside both sides


def test_a_language_model_decides_what_the_packaged_judge_leaves_uncertain() -> None:
    corpus = Corpus([RELATED, *UNRELATED])
    for reply, listed in (("yes", True), ("no", False)):
        judge = LLMJudge(ScriptedLLM(lambda _, reply=reply: reply))
        result = local_pipeline(corpus, k=3, llm_judge=judge).retrieve(QUESTION)
        assert result.trace.counts["cascade_uncertain"] >= 1
        by_id = {c.passage.id: c for c in result.candidates}
        assert (max(by_id["zoo"].support.values()) >= result.coverage.threshold) == listed
        assert max(by_id["butter"].support.values(), default=0.0) == 0.0


def test_a_language_model_comes_after_the_packaged_judge_only() -> None:
    llm = LLMJudge(ScriptedLLM([]))
    embedder = HashEmbedder()
    with pytest.raises(ConfigError, match="CascadeJudge"):
        local_pipeline(
            Corpus([RELATED]), dense=True, embedder=embedder, judge=TableJudge({}), llm_judge=llm
        )
    assert embedder.embedded == []


def says_both(prompt: Prompt) -> str:
    """Names the two sides, then finds the zoo's passage for the first of them."""
    if prompt.name == "extract_perspectives":
        sides = ["Zoos should be closed.", "Zoos should stay open."]
        return json.dumps({"root": QUESTION, "perspectives": [{"text": each} for each in sides]})
    shown = re.findall(r'number="(\d+)">\n(.*?)\n</passage-', prompt.user, re.DOTALL)
    quote = "animals suffer in their cages"
    return json.dumps(
        [
            {"passage": int(n), "side": "A" if quote in text else "none", "grade": "clear",
             "quote": quote}
            for n, text in shown
        ]
    )  # fmt: skip


def test_a_language_model_names_the_sides_and_judges_the_list_in_two_calls() -> None:
    llm = ScriptedLLM(says_both)
    result = local_pipeline(Corpus([RELATED, *UNRELATED]), k=3, llm=llm).retrieve(QUESTION)
    assert [prompt.name for prompt in llm.prompts] == ["extract_perspectives", "judge_list"]
    (listed,) = result.supporting(result.perspectives[0])
    assert listed.proofs["p1"].of(listed.passage) == "animals suffer in their cages"
    assert result.trace.degradations == ()


def test_where_the_model_fails_rules_and_the_packaged_judge_take_over() -> None:
    def down(prompt: Prompt) -> str:
        raise LLMError("no server")

    corpus = Corpus([RELATED, *UNRELATED])
    result = local_pipeline(corpus, k=3, llm=ScriptedLLM(down)).retrieve(QUESTION)
    alone = local_pipeline(corpus, k=3).retrieve(QUESTION)
    assert result.perspectives == alone.perspectives
    assert result.coverage is not None
    assert alone.coverage is not None
    assert result.coverage.listed.tolist() == alone.coverage.listed.tolist()
    assert [d.stage for d in result.trace.degradations] == ["extract", "judge"]


def test_a_judge_or_an_extractor_of_ones_own_takes_the_place_of_the_model() -> None:
    llm, own = ScriptedLLM(says_both), TableJudge({})
    pipeline = local_pipeline(Corpus([RELATED]), llm=llm, judge=own, extractor=RuleExtractor())
    assert pipeline.judge is own
    pipeline.retrieve(QUESTION)
    assert llm.prompts == []
    by_pairs = local_pipeline(Corpus([RELATED]), llm=llm, llm_judge=LLMJudge(llm)).judge
    assert isinstance(by_pairs, CascadeJudge)
