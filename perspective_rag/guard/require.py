"""The policy "require": a perspective that stayed uncovered is an error."""

from __future__ import annotations

from perspective_rag.errors import PerspectiveRAGError
from perspective_rag.results import RetrievalResult


class CoverageError(PerspectiveRAGError):
    """A perspective stayed uncovered under the policy "require"; ``result`` is what was found."""

    def __init__(self, message: str, *, result: RetrievalResult) -> None:
        super().__init__(message)
        self.result = result


def require_coverage(result: RetrievalResult) -> None:
    """Raises CoverageError where a perspective of the result is missing or was not judged."""
    coverage = result.coverage
    if not result.perspectives or coverage.complete:
        return
    lacking = (*coverage.missing, *coverage.unjudged)
    texts = "; ".join(perspective.text for perspective in lacking)
    problem = f"no passage was found that supports: {texts}"
    if result.says_nothing:
        problem = f"no passage is about the question; {problem}"
    raise CoverageError(problem, result=result)
