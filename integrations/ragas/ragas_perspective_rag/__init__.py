"""Metrics for Ragas: does what a RAG chain retrieved show every side of the question?"""

from ragas_perspective_rag.metrics import ListedSupport, PerspectiveCoverage

__all__ = ["ListedSupport", "PerspectiveCoverage"]
