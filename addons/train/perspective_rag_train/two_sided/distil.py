"""Distillation: a shallower two-sided network learns from a larger one and from the labels."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from perspective_rag_train.two_sided.data import Source
from perspective_rag_train.two_sided.network import TwoSided, faster, shallower
from perspective_rag_train.two_sided.recipe import Recipe
from perspective_rag_train.two_sided.train import Run

UNLABELLED = 0.35
"""The share of rows that nobody labelled: passages that a search brings for a question."""


class Distillation(Run):
    """A training of ``recipe.layers`` of the teacher's layers, begun from the teacher's weights.

    The target of a labelled row is the mean of its label and of the teacher's probabilities, that
    of an unlabelled one the teacher's (Hinton et al. 2015, at temperature 1).

    Args:
        folder: The run's own folder.
        data: The data sets.
        base: The folder of the teacher's base: its tokenizer and configuration.
        recipe: The knobs.
        teacher: The network to learn from.
        unlabelled: Rows with "statement", "opposite" and "document".
    """

    def __init__(
        self,
        folder: Path,
        data: Path,
        base: Path,
        recipe: Recipe,
        *,
        teacher: TwoSided,
        unlabelled: Sequence[dict[str, Any]],
    ) -> None:
        student = shallower(deepcopy(teacher), recipe.layers)
        super().__init__(folder, data, base, recipe, network=student)
        self.teacher = teacher.to(self.device).eval()
        self.unlabelled = list(unlabelled)

    def _sources(self) -> list[Source]:
        kept = 1 - UNLABELLED
        labelled = [
            replace(each, early=each.early * kept, late=each.late * kept)
            for each in super()._sources()
        ]
        return [*labelled, Source("unlabelled", UNLABELLED, UNLABELLED, self.unlabelled)]

    def _target(self, ids: Tensor, mask: Tensor, gold: Tensor) -> Tensor:
        with torch.no_grad(), faster(self.device):
            soft = torch.softmax(self.teacher(ids, mask).float(), dim=1)
        return torch.where(gold.isnan(), soft, (gold + soft) / 2)
