"""The default path reads no passage that has nothing to do with the perspectives."""

from __future__ import annotations

from perspective_rag import Corpus, local_pipeline
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
        assert result.trace.counts["cascade_ruled_out"] >= 2, dense
