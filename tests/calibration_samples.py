"""A judge of two sides, a corpus and an encoder whose cosines are moved, for calibrations."""

from __future__ import annotations

import numpy as np

from perspective_rag import Corpus, Passage
from perspective_rag.options import Calibration
from perspective_rag.testing import HashEmbedder
from perspective_rag.types import ListingRule, RelevanceFloor

OWN = RelevanceFloor(0.60, 0.75)
CALIBRATION = Calibration("mine", "judge", RelevanceFloor(0.62, 0.75), OWN, ListingRule(0.9, 0.5))
RULE = ListingRule(0.77, 0.33)


class SidesJudge:
    """Reads two sides together; P is the second word of the text, for the side it begins with."""

    name, threshold = "sides", 0.3
    sides_listing = RULE

    def __init__(self):
        self.told = []

    def judge(self, perspectives, passages):
        return np.full((len(passages), len(perspectives)), 0.5)

    def judge_sides(self, sides, passages, relevance):
        self.told += relevance.tolist()
        rows = []
        for passage in passages:
            side, chance = passage.text.split()[:2]
            rows.append([float(chance), 0.0] if side == "pro" else [0.0, float(chance)])
        return np.array(rows)


def corpus(count=60):
    texts = [
        f"{'pro' if n % 2 else 'con'} 0.{10 + n} zoos are a matter of number {n} in the town"
        for n in range(count)
    ]
    return Corpus([Passage(f"p{n}", text) for n, text in enumerate(texts)])


class Shifted:
    """Cosines of 0.5 + half of those of a hash."""

    name = "shifted"

    def embed_queries(self, texts):
        inner = HashEmbedder().embed_queries(texts) / np.sqrt(2)
        return np.column_stack([inner, np.full(len(texts), np.sqrt(0.5))])

    embed_passages = embed_queries
