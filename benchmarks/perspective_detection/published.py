"""Perspective detection on the 542 human-labelled pairs of BERDS (Chen and Choi 2024, Table 7)."""

from __future__ import annotations

PAIRS = 542
# (judge, share of positive verdicts, accuracy, F1 of the positive class), all in percent.
ROWS: tuple[tuple[str, float, float, float], ...] = (
    ("another human (176 pairs)", 22.7, 85.2, 65.8),
    ("random", 16.8, 72.1, 16.9),
    ("T5-11B NLI", 7.2, 85.2, 38.5),
    ("Llama-2-13b-chat, zero-shot", 31.1, 70.7, 42.6),
    ("Llama-2-70b-chat, zero-shot", 27.4, 77.7, 52.6),
    ("Zephyr-7B, zero-shot", 22.4, 80.6, 53.3),
    ("Gemma-7B, zero-shot", 58.4, 48.9, 37.2),
    ("Mistral-7B, zero-shot", 19.2, 82.2, 52.0),
    ("GPT-4, zero-shot", 17.4, 87.6, 65.6),
    ("GPT-4, one-shot", 15.4, 89.1, 67.8),
    ("Mistral-7B, fine-tuned", 15.8, 87.6, 62.2),
)
