"""What comes out of a question, and what of it stands in the metadata of what wrappers return."""

from __future__ import annotations

from perspective_rag.results.results import Answer, Claim, Coverage, RetrievalResult

__all__ = ["Answer", "Claim", "Coverage", "RetrievalResult"]
