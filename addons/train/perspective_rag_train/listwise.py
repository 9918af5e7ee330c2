"""The loss of a whole question: classes, lists of each side, and which side of the two."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from perspective_rag_train.data import LABELS
from perspective_rag_train.questions import Shown

_STEEPNESS = 0.7


def margin(logits: Any, column: int) -> Any:
    """The log odds of a class: its logit less the log-sum-exp of the others."""
    import torch

    others = [each for each in range(len(LABELS)) if each != column]
    return logits[:, column] - torch.logsumexp(logits[:, others], dim=1)


def list_loss(scores: Any, gains: Sequence[float]) -> Any | None:
    """Cross-entropy of softmax(scores) to the gains' shares (ListNet); None where nothing counts.

    It asks that what supports stands above what does not among the passages of one question, which
    is what choosing from them needs, and leaves the level to the loss of classes.
    """
    import torch

    wanted = torch.tensor(gains, device=scores.device)
    if len(gains) < 3 or float(wanted.sum()) <= 0.0:
        return None
    return -(wanted / wanted.sum() * torch.log_softmax(scores, dim=0)).sum()


def side_loss(logits: Any, shown: Shown) -> Any | None:
    """That a passage for the statement has there more support less opposition than beside the
    opposite, and the reverse; None for a question without sides.
    """
    import torch

    found = [
        (row, other, math.copysign(1.0, side), abs(side)) for row, other, side in shown.sides()
    ]
    if not found:
        return None
    rows, others, signs, weights = zip(*found, strict=True)
    lean = logits[:, 0] - logits[:, 1]
    difference = (lean[list(rows)] - lean[list(others)]) * torch.tensor(signs, device=logits.device)
    loss = torch.nn.functional.softplus(-_STEEPNESS * difference)
    weight = torch.tensor(weights, device=logits.device)
    return (weight * loss).sum() / max(4, len(found))  # few sides count little


def question_loss(logits: Any, shown: Shown, *, lists: float, sides: float) -> Any:
    """What the lists and the sides of a question add to the loss of its classes.

    ``logits`` are those of ``shown.pairs``, in their order.
    """
    found = []
    for statement in (0, 1):
        for stance in (0, 1):
            rows, gains = shown.gains(statement, stance)
            if rows:
                found.append(list_loss(margin(logits[rows], stance), gains))
    terms = [each for each in found if each is not None]
    total = logits.sum() * 0.0
    if terms and lists:
        total = total + lists * sum(terms) / len(terms)
    of_sides = side_loss(logits, shown) if sides else None
    return total if of_sides is None else total + sides * of_sides
