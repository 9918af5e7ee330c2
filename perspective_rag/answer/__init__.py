"""Answers in which every sentence cites a passage."""

from perspective_rag.answer.extractive import ExtractiveAnswerer
from perspective_rag.answer.grounded import Answerer, GroundedAnswerer

__all__ = ["Answerer", "ExtractiveAnswerer", "GroundedAnswerer"]
