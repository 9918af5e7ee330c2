"""Table 5 of the PIR paper (Zhao et al. 2024): GPT-3.5-Turbo, passages from SimCSE-sup."""

from __future__ import annotations

from collections.abc import Mapping

AMBIGQA: Mapping[str, float] = {
    "no": 62.5,
    "gold": 77.5,
    "plain": 72.5,
    "pap": 74.2,
    "pap+": 76.7,
}
"""Exact match in percent, 120 questions, one passage."""

ESSAY: Mapping[str, tuple[float, bool]] = {
    "no": (16.1, True),
    "gold": (38.7, True),
    "plain": (-2.4, False),
    "pap": (18.5, True),
    "pap+": (20.9, False),
}
"""Pearson's r of polarity and stance times 100, and whether it is marked p < 0.05; 30 essays, five
passages. PAP+ has no mark where PAP, which is smaller, has one.
"""
