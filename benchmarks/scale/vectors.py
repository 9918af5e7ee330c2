"""Vectors for a corpus of any size.

A row is unit(centre + SPREAD noise): the centres are drawn once, so that a larger corpus has more
passages a topic, as real ones have. Centres and noise fall off along the axes of one random turn as
(i + 1)^-DECAY, so that they have few strong directions, as embeddings of text have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from perspective_rag.addons import normalised
from perspective_rag.extend import Matrix, Vector
from perspective_rag.maths.adaptive import KINDS

DIMENSIONS = 384
CHUNK = 50_000
CENTRES = 2_000
DECAY = 0.35
SPREAD = 0.7
CARRIED = 0.6
"""How much of its perspective a query holds beside its root."""


@dataclass(frozen=True, slots=True)
class Space:
    """What all vectors of one seed are drawn from."""

    seed: int
    centres: Matrix
    axes: Matrix

    @classmethod
    def of(cls, seed: int) -> Space:
        """Centres (m, d) and the scaled axes (d, d) that turn noise."""
        generator = np.random.default_rng([seed, 0])
        turn, _ = np.linalg.qr(generator.standard_normal((DIMENSIONS, DIMENSIONS)))
        falling = np.arange(1, DIMENSIONS + 1) ** -DECAY
        axes = ((falling / np.linalg.norm(falling))[:, None] * turn.T).astype(np.float32)
        centres = generator.standard_normal((CENTRES, DIMENSIONS), dtype=np.float32) @ axes
        return cls(seed, normalised(centres), axes)

    def chunk(self, number: int) -> Matrix:
        """Rows ``number * CHUNK`` and on, always the same, shape (CHUNK, d), float16."""
        generator = np.random.default_rng([self.seed, 1, number])
        topics = generator.integers(len(self.centres), size=CHUNK)
        return self._near(generator, self.centres[topics]).astype(np.float16)

    def triples(self, count: int) -> list[tuple[Vector, Vector, Vector]]:
        """Vectors of queries, their roots and their perspectives: q = unit(r + CARRIED p)."""
        generator = np.random.default_rng([self.seed, 2])
        topics = generator.permutation(len(self.centres))
        roots = self._near(generator, self.centres[topics[:count]])
        # A few perspectives that many queries share, as "a claim that opposes ..." is shared.
        few = self._near(generator, self.centres[topics[-PERSPECTIVES:]])
        perspectives = few[np.arange(count) % PERSPECTIVES]
        queries = normalised(roots + CARRIED * perspectives)
        return list(zip(queries, roots, perspectives, strict=True))

    def kinds(self) -> Matrix:
        """Stand-ins for the words for kinds of text that the adaptive projection leaves out."""
        generator = np.random.default_rng([self.seed, 3])
        drawn = generator.standard_normal((len(KINDS), DIMENSIONS), dtype=np.float32)
        return normalised(drawn @ self.axes)

    def _near(self, generator: np.random.Generator, centres: Matrix) -> Matrix:
        noise = generator.standard_normal(centres.shape, dtype=np.float32) @ self.axes
        return normalised(centres + np.float32(SPREAD) * noise)


PERSPECTIVES = 2


def blocks(rows: Matrix, size: int = CHUNK) -> Iterator[tuple[int, Matrix]]:
    """Unit rows of float32, ``size`` at a time, with the row each block starts at."""
    for start in range(0, len(rows), size):
        yield start, normalised(rows[start : start + size].astype(np.float32))
