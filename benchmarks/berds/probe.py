"""A second judge that runs anywhere: a small network over two sentence embeddings.

It reads passage and statement apart, where the package's own judge reads them together, and makes
other mistakes. That is what it is for: one of the two chooses passages, the other scores.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core import results
from perspective_rag import ConfigError, Passage, Perspective
from perspective_rag.extend import Embedder, Flow, Matrix
from perspective_rag.judge.pairs import judge_at_once

WEIGHTS = Path(__file__).parent / "probe.npz"
CLASSES = ("support", "oppose", "neutral")


class EmbeddingProbe:
    """P(support) = softmax(W2 relu(W1 x + b1) + b2)_support, x = (c, s, |c - s|, c * s).

    c and s are the unit embeddings of passage and statement (the features of InferSent, Conneau et
    al. 2017). ``weights`` is the file that ``benchmarks.berds.train_probe`` writes; ``embedder``
    must be the model it was trained with, which the file names. Raises ConfigError otherwise.
    """

    def __init__(self, embedder: Embedder, *, weights: Path = WEIGHTS) -> None:
        if not weights.is_file():
            raise ConfigError(f"{weights} does not exist: python -m benchmarks.berds.train_probe")
        with np.load(weights) as stored:
            self._layers = [stored[name].astype(np.float32) for name in ("w1", "b1", "w2", "b2")]
            about: dict[str, Any] = json.loads(str(stored["about"]))
        used = results.embedder_name(embedder)
        if used != about["embedder"]:
            raise ConfigError(
                f"the probe in {weights.name} was trained with {about['embedder']}, not {used}"
            )
        self._embedder = embedder
        self.name = f"embedding-probe@{about['hash']}"
        self.threshold = float(about["threshold"])

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """Shape (n_passages, n_perspectives): P(support); raises what the embedder raises."""
        return judge_at_once(self._support, perspectives, passages)

    def _support(self, perspectives: Sequence[Perspective], passages: Sequence[Passage]) -> Matrix:
        if not perspectives or not passages:
            return np.zeros((len(passages), len(perspectives)))
        read = self._embedder.embed_passages([each.text for each in passages])
        stated = self._embedder.embed_queries([each.text for each in perspectives])
        pairs = features(
            np.repeat(read, len(perspectives), axis=0), np.tile(stated, (len(passages), 1))
        )
        probability = probabilities(self._layers, pairs)[:, CLASSES.index("support")]
        return probability.reshape(len(passages), len(perspectives))


def features(passages: Matrix, statements: Matrix) -> Matrix:
    """(c, s, |c - s|, c * s) for two matrices of shape (n, d): shape (n, 4 d), float32."""
    parts = (passages, statements, np.abs(passages - statements), passages * statements)
    joined: Matrix = np.concatenate(parts, axis=1).astype(np.float32)
    return joined


def probabilities(layers: Sequence[Matrix], inputs: Matrix) -> Matrix:
    """The class probabilities, shape (n, 3), of features (n, 4 d)."""
    w1, b1, w2, b2 = layers
    logits = np.maximum(inputs @ w1 + b1, 0.0) @ w2 + b2
    exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: Matrix = exponents / exponents.sum(axis=1, keepdims=True)
    return shares
