"""The projections a pipeline can be given: none, a row of the table, or chosen for each query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perspective_rag.errors import unknown_name
from perspective_rag.maths.adaptive import CANDIDATES, KINDS, choose, parts
from perspective_rag.maths.projection import DOCUMENT_SIDE, ROWS, project_query, projected_scores
from perspective_rag.protocols import Projected, Projection, Reranked
from perspective_rag.types import Extraction, Matrix, Query, Vector


@dataclass(frozen=True, slots=True)
class Plain:
    """The query as it is."""

    name: str = "none"

    def texts(self, query: Query, extraction: Extraction) -> Sequence[str]:
        """None."""
        return ()

    def query_vector(
        self, query: Query, extraction: Extraction, vectors: Mapping[str, Vector]
    ) -> Projected:
        """The query's own vector."""
        return Projected(vectors[query.text])

    def rerank(self, projected: Projected, rows: Matrix) -> Reranked:
        """The order of the search."""
        return Reranked(None)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A row of ``table``, the same for every query, e.g. ``Fixed("pap")``.

    Raises ConfigError for an unknown row.
    """

    name: str

    def __post_init__(self) -> None:
        if self.name not in ROWS:
            raise unknown_name(self.name, ROWS, "projection")

    def texts(self, query: Query, extraction: Extraction) -> Sequence[str]:
        """The root and the perspective."""
        return (extraction.root, perspective_text(query, extraction))

    def query_vector(
        self, query: Query, extraction: Extraction, vectors: Mapping[str, Vector]
    ) -> Projected:
        """The first-stage vector of the row, at the query's length."""
        own, root = vectors[query.text], vectors[extraction.root]
        text = perspective_text(query, extraction)
        # A query that is its own perspective would be projected to nothing: what it adds to the
        # root is meant.
        perspective = own - root if text == query.text else vectors[text]
        vector, problem = project_query(self.name, own, root, perspective)
        return Projected(
            vector, problem, self.name in DOCUMENT_SIDE, state=(own, root, perspective)
        )

    def rerank(self, projected: Projected, rows: Matrix) -> Reranked:
        """The exact order of a row that changes the documents' vectors too."""
        return Reranked(projected_scores(self.name, rows, *projected.state))


@dataclass(frozen=True, slots=True)
class Adaptive:
    """Chosen for each query from what it finds; see ``adaptive``."""

    name: str = "adaptive"

    def texts(self, query: Query, extraction: Extraction) -> Sequence[str]:
        """The root, the perspective, and words for kinds of text."""
        return (extraction.root, perspective_text(query, extraction), *KINDS)

    def query_vector(
        self, query: Query, extraction: Extraction, vectors: Mapping[str, Vector]
    ) -> Projected:
        """q + r + P, at the query's length."""
        own, root = vectors[query.text], vectors[extraction.root]
        perspective = vectors[perspective_text(query, extraction)]
        kinds = np.array([vectors[kind] for kind in KINDS])
        projected = parts(own, root, perspective, kinds=kinds)
        vector = _at_length_of(own, projected.search)
        return Projected(vector, reranks=True, fetch_k=CANDIDATES, state=projected)

    def rerank(self, projected: Projected, rows: Matrix) -> Reranked:
        """The cosine to the chosen vector; the order of the search where nothing was chosen."""
        choice = choose(projected.state, rows)
        if choice.problem is not None or not len(rows):
            return Reranked(None, choice.to_dict())
        return Reranked(choice.scores(rows), choice.to_dict())


def projection_for(given: str | Projection) -> Projection:
    """The projection of a name ("none", a row of ``table``, "adaptive"), or the given one itself.

    Raises ConfigError for an unknown name.
    """
    if not isinstance(given, str):
        return given
    return _NAMED[given] if given in _NAMED else Fixed(given)


_NAMED: Mapping[str, Projection] = {"none": Plain(), "adaptive": Adaptive()}


def perspective_text(query: Query, extraction: Extraction) -> str:
    """The text of the perspective that a query was written for: as the question words it, where it
    does.
    """
    if extraction.instruction is not None:
        return extraction.instruction
    texts = {perspective.id: perspective.text for perspective in extraction.perspectives}
    return texts.get(query.perspective or "", query.text)


def _at_length_of(query: Vector, vector: Vector) -> Vector:
    """The vector at the query's length, so that scores of an inner product keep their scale."""
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        return query
    scaled: Vector = (vector * (np.linalg.norm(query) / length)).astype(query.dtype)
    return scaled
