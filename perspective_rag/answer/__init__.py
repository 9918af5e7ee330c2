"""Answers in which every sentence cites a passage."""

from perspective_rag.answer.extractive import ExtractiveAnswerer
from perspective_rag.answer.grounded import GroundedAnswerer

__all__ = ["ExtractiveAnswerer", "GroundedAnswerer"]
