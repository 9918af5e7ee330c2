"""The knobs of the long training, and the files of its folder."""

from __future__ import annotations

from dataclasses import dataclass

CHECKPOINT = "checkpoint.pt"
CURVE = "curve.jsonl"


@dataclass(frozen=True, slots=True)
class Recipe:
    """The training's knobs. ``hours`` is processor time in all, over every session."""

    hours: float = 30.0
    learning_rate: float = 5e-5
    head_rate: float = 5e-4
    warmup: float = 0.04
    cooldown: float = 0.35
    tokens_per_step: int = 1536
    max_tokens: int = 192
    frozen_layers: int = 4
    averaging: float = 0.995
    checkpoint_minutes: float = 10.0
    assess_minutes: float = 30.0
    seed: int = 1
