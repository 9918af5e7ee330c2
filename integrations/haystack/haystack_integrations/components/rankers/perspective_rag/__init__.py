"""Of given documents those that show every side of a question.

>>> ranker = PerspectiveRanker(top_k=5)
>>> chosen = ranker.run("Should zoos be closed?", documents)["documents"]
"""

from haystack_integrations.components.rankers.perspective_rag.ranker import PerspectiveRanker

__all__ = ["PerspectiveRanker"]
