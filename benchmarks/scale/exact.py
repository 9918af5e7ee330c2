"""What an exact search of all rows finds, by every way, in one pass over the file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.scale.vectors import CHUNK, blocks
from perspective_rag.addons import normalised
from perspective_rag.extend import Matrix, Vector
from perspective_rag.maths.adaptive import CANDIDATES, Parts, choose, parts
from perspective_rag.maths.projection import project_query

Triple = tuple[Vector, Vector, Vector]
Positions = NDArray[np.int64]
K = 10


@dataclass(frozen=True, slots=True)
class Exact:
    """The first K of each query, best first, shape (n_queries, K), by way."""

    by_way: dict[str, Positions]


class _Best:
    """The ``count`` highest scores of each query seen so far, with their positions."""

    def __init__(self, queries: int, count: int) -> None:
        self.scores = np.full((queries, count), -np.inf, dtype=np.float32)
        self.positions = np.full((queries, count), -1, dtype=np.int64)

    def add(self, start: int, scores: Matrix) -> None:
        """``scores`` has shape (n_queries, n_rows), the first row being ``start``."""
        count = self.scores.shape[1]
        least = min(count, scores.shape[1])
        found = np.argpartition(-scores, least - 1, axis=1)[:, :least]
        both = np.hstack([self.scores, np.take_along_axis(scores, found, axis=1)])
        places = np.hstack([self.positions, found + start])
        order = np.argsort(-both, axis=1, kind="stable")[:, :count]
        self.scores = np.take_along_axis(both, order, axis=1)
        self.positions = np.take_along_axis(places, order, axis=1)


def exact(
    rows: Matrix,
    triples: Sequence[Triple],
    kinds: Matrix,
    told: Callable[[str], object] = lambda said: None,
) -> Exact:
    """The true first K by cosine, of PAP and PAP+ by their definitions, and of the adaptive choice
    over its true candidates.
    """
    queries = np.array([q for q, _, _ in triples])
    turned = normalised(np.array([project_query("pap", *triple)[0] for triple in triples]))
    adapted = [parts(*triple, kinds=kinds) for triple in triples]
    wide = normalised(np.array([each.search for each in adapted])).astype(np.float32)
    axes = normalised(np.array([p for _, _, p in triples]))
    plain, pap, plus = (_Best(len(triples), K) for _ in range(3))
    first = _Best(len(triples), min(CANDIDATES, len(rows)))
    for start, block in blocks(rows, min(CHUNK, 20_000)):
        told(f"exact search: {start:,} of {len(rows):,}")
        plain.add(start, queries @ block.T)
        along = turned @ block.T
        pap.add(start, along)
        plus.add(start, along / np.sqrt(np.maximum(1.0 - (axes @ block.T) ** 2, 1e-12)))
        first.add(start, wide @ block.T)
    chosen = [
        _chosen(each, rows, found) for each, found in zip(adapted, first.positions, strict=True)
    ]
    return Exact(
        {
            "plain": plain.positions,
            "PAP": pap.positions,
            "PAP+": plus.positions,
            "PAP+ precomputed": plus.positions,
            "adaptive": np.array(chosen),
        }
    )


def _chosen(projected: Parts, rows: Matrix, found: Positions) -> Positions:
    near = rows_at(rows, found)
    order = np.argsort(-choose(projected, near).scores(near), kind="stable")
    best: Positions = found[order][:K]
    return best


def rows_at(rows: Matrix, positions: Positions) -> Matrix:
    """Unit rows of float32 at the positions, read in the order of the file."""
    order = np.argsort(positions)
    read = np.empty((len(positions), rows.shape[1]), dtype=np.float32)
    read[order] = rows[positions[order]]
    return normalised(read)


def recall(found: Sequence[Positions], true: Positions) -> float:
    """Mean share of the true first K that were found, in [0, 1]."""
    shares = [
        len(set(a.tolist()) & set(b.tolist())) / len(b) for a, b in zip(found, true, strict=True)
    ]
    return float(np.mean(shares))
