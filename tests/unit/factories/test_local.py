"""The default path reads no passage that has nothing to do with the perspectives."""

from __future__ import annotations

import pytest

from perspective_rag import ConfigError, Corpus, LLMJudge, local_pipeline
from perspective_rag.testing import ScriptedLLM, TableJudge
from perspective_rag.types import Passage

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
    with pytest.raises(ConfigError, match="CascadeJudge"):
        local_pipeline(Corpus([RELATED]), judge=TableJudge({}), llm_judge=llm)
