"""Metrics for DeepEval: does what a RAG chain retrieved show every side of the question?"""

from deepeval_perspective_rag.metrics import ListedSupportMetric, PerspectiveCoverageMetric

__all__ = ["ListedSupportMetric", "PerspectiveCoverageMetric"]
