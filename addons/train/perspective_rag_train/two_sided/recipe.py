"""The knobs of the long training, and the files of its folder."""

from __future__ import annotations

from dataclasses import dataclass

CHECKPOINT = "checkpoint.pt"
CURVE = "curve.jsonl"


@dataclass(frozen=True, slots=True)
class Recipe:
    """The training's knobs. ``rows`` is all that are read, over every session; the mix and the
    learning rate follow their share.

    ``tokens_per_step`` fits a processor's core; a GPU takes 16 times as many. ``frozen_layers``
    are the encoder's lowest, which stay as they were.
    """

    rows: int = 1_000_000
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
    device: str = "cpu"
    seed: int = 1
