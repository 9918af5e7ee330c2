"""What a cross-encoder is asked about texts, and what its logits say: the same wherever it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from perspective_rag.judge.labels import class_columns
from perspective_rag.judge.settings import JudgeSettings
from perspective_rag.judge.two_sides import TwoSidedSettings
from perspective_rag.judge.windows import LONG, telling, windows
from perspective_rag.types import Matrix, Vector


class ReadsPairs(Protocol):
    """What is known of a model without running it: its labels in the order of its outputs.

    ``pieces`` cuts a text so that the model reads all of it beside each of the statements.
    """

    labels: tuple[str, ...]

    def pieces(self, text: str, statements: Sequence[str]) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class CutPairs:
    """The windows of ``texts`` texts, each beside a statement; ``owners``: whose a window is."""

    texts: int
    owners: list[int]
    documents: list[str]
    statements: list[str]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a model is read: its settings, its temperature, and what it says of two sides.

    ``language`` is that of the texts, by whose rules sentences are cut.
    """

    settings: JudgeSettings
    temperature: float
    two_sides: TwoSidedSettings | None = None
    language: str = "en"

    def cut_pairs(
        self, model: ReadsPairs, texts: Sequence[str], statements: Sequence[str]
    ) -> CutPairs:
        """The windows of texts[i], each beside statements[i]."""
        by_text: dict[str, list[str]] = {}
        for text, statement in zip(texts, statements, strict=True):
            by_text.setdefault(text, []).append(statement)
        cut = {text: self._windows(model, text, beside) for text, beside in by_text.items()}
        owners = [i for i, text in enumerate(texts) for _ in cut[text]]
        documents = [piece for text in texts for piece in cut[text]]
        return CutPairs(len(texts), owners, documents, [statements[i] for i in owners])

    def cut_sides(
        self, model: ReadsPairs, texts: Sequence[str], statements: tuple[str, str]
    ) -> CutPairs:
        """All windows beside the first statement, then all beside the second; ``owners`` once."""
        cut = [self._windows(model, text, statements) for text in texts]
        owners = [i for i, pieces in enumerate(cut) for _ in pieces]
        documents = [piece for pieces in cut for piece in pieces]
        beside = [each for each in statements for _ in documents]
        return CutPairs(len(texts), owners, [*documents, *documents], beside)

    def pair_support(
        self, labels: Sequence[str], pairs: CutPairs, logits: Matrix
    ) -> dict[str, Vector]:
        """P(support) and P(oppose) of each text, shape (texts,): the largest of its windows.

        ``logits`` (n, classes) are the model's for the pairs of ``cut_pairs``; NaN stays NaN.
        """
        result: dict[str, Vector] = {}
        for stance, column in self._classes(labels, logits).items():
            strongest = np.zeros(pairs.texts)
            with np.errstate(invalid="ignore"):
                np.maximum.at(strongest, pairs.owners, column)
            result[stance] = strongest
        return result

    def side_support(
        self, labels: Sequence[str], pairs: CutPairs, logits: Matrix, relevance: Vector
    ) -> Matrix:
        """P(support) of each text for both statements, shape (texts, 2), as ``two_sides`` weighs.

        ``logits`` (2 n, classes) are the model's for the pairs of ``cut_sides``; ``relevance``
        (texts,) are the cosines of text and question, NaN where one is not known.
        """
        assert self.two_sides is not None
        both = np.asarray(logits, dtype=np.float64)[:, _in_order(labels)]
        first, second = np.split(both, 2)
        values = self.two_sides.support(first, second, np.asarray(relevance)[pairs.owners])
        strongest = np.zeros((pairs.texts, 2))
        with np.errstate(invalid="ignore"):
            np.maximum.at(strongest, pairs.owners, values)
        return strongest

    def _windows(self, model: ReadsPairs, text: str, statements: Sequence[str]) -> list[str]:
        """The text in pieces that the model reads whole beside each of the statements."""
        settings = self.settings
        size = settings.max_words
        if len(text.split()) > LONG:
            size = min(size, settings.long_words)
        about = " ".join(statements)
        pieces = [
            piece
            for window in telling(windows(text, size, settings.overlap, self.language), about)
            for piece in model.pieces(window, statements)
        ]
        return telling(pieces, about)

    def _classes(self, labels: Sequence[str], logits: Matrix) -> dict[str, Vector]:
        logits = np.array(logits, dtype=np.float64)
        logits[~np.isfinite(logits).all(axis=1)] = np.nan
        logits /= self.temperature
        if logits.shape[1] == 1:  # a relevance score: nothing is known of opposition
            support = 1.0 / (1.0 + np.exp(-logits[:, 0]))
            return {"support": support, "oppose": np.zeros_like(support)}
        columns = class_columns(labels)
        if "neutral" in columns:
            logits[:, columns["neutral"]] += self.settings.neutral_bias
        exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
        probability = exponents / exponents.sum(axis=1, keepdims=True)
        nothing = np.zeros(len(logits))
        return {
            stance: probability[:, columns[stance]] if stance in columns else nothing
            for stance in ("support", "oppose")
        }


def _in_order(labels: Sequence[str]) -> list[int]:
    """The columns of support, oppose and neutral."""
    columns = class_columns(labels)
    return [columns[name] for name in ("support", "oppose", "neutral")]
