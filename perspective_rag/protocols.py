"""What a component must offer. Anything of the right shape fits; nothing has to be inherited.

Methods of extractors, expanders, judges and answerers may be flows (generators of calls) or plain
functions that return the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import LLMError
from perspective_rag.flow.steps import Flow
from perspective_rag.listing import ListingRule
from perspective_rag.results import Answer, Claim, RetrievalResult
from perspective_rag.types import (
    Completion,
    Extraction,
    Hit,
    Matrix,
    Passage,
    Perspective,
    Prompt,
    Proof,
    Query,
    Selection,
    Vector,
)


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors, one row a text: shape (n, d)."""

    def embed_queries(self, texts: Sequence[str]) -> Matrix: ...

    def embed_passages(self, texts: Sequence[str]) -> Matrix: ...


@runtime_checkable
class Store(Protocol):
    """Finds passages.

    ``takes_vector`` says whether ``vector`` is used (shape (d,)); when False the store searches by
    ``text`` alone and ``vector`` is None. Hits come best first; their scores are higher-is-better,
    or None. A store that computes in Python and never waits may have ``in_turn = True``: the
    searches of a request are then made one after the other, because the GIL makes threads slower
    here. A store that must be used in the thread that made it may have ``thread_bound = True``: its
    searches are made in the caller's thread, one after the other; the time-out cannot cut them, and
    an event loop waits while they run.
    """

    takes_vector: bool

    def search(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]: ...

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]: ...


@runtime_checkable
class KeepsEmbeddings(Protocol):
    """A store that can hand back the vectors of passages it found: rows in the order given, NaN
    rows where it has none.
    """

    def embeddings_of(self, passages: Sequence[Passage]) -> Matrix: ...


@runtime_checkable
class LLM(Protocol):
    """A language model behind any API."""

    @property
    def name(self) -> str: ...

    def complete(self, prompt: Prompt) -> Completion: ...

    async def acomplete(self, prompt: Prompt) -> Completion: ...


@runtime_checkable
class CompletesMany(Protocol):
    """A language model that answers prompts together, best ``batch_size`` at a time: one Completion
    or LLMError for each, in their order.
    """

    batch_size: int

    def complete_many(self, prompts: Sequence[Prompt]) -> Sequence[Completion | LLMError]: ...


@runtime_checkable
class Extractor(Protocol):
    """Finds the perspectives of a question."""

    def extract(self, question: str) -> Flow[Extraction] | Extraction: ...


@runtime_checkable
class Expander(Protocol):
    """Writes queries for perspectives. The pipeline adds the question itself and removes
    duplicates.
    """

    def expand(
        self, question: str, perspectives: Sequence[Perspective]
    ) -> Flow[list[Query]] | Sequence[Query]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Projected:
    """A query's vector, shape (d,), as its perspective changes it.

    ``problem`` is the reason for falling back to the plain query, otherwise None. ``reranks``: the
    hits of the search are put in the exact order by ``Projection.rerank``, which is handed
    ``state`` back; ``fetch_k`` is how many hits that needs at least. ``store`` is searched instead
    of the pipeline's own: one that holds the same passages, by the same ids, with vectors that were
    projected ahead.
    """

    vector: Vector
    problem: str | None = None
    reranks: bool = False
    fetch_k: int = 0
    state: Any = None
    store: Store | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Reranked:
    """The exact scores of a search's hits, shape (n,), higher is better; None keeps their order.

    ``decision`` is what was chosen and why, for the trace.
    """

    scores: Vector | None
    decision: Mapping[str, Any] | None = None


@runtime_checkable
class Projection(Protocol):
    """Changes the vector of a query by the perspective it was written for.

    ``texts`` are the texts whose vectors it needs; they are embedded in the batch of the queries.
    ``query_vector`` gives the vector to search with, from the vectors of these texts and of the
    query. ``rerank`` scores what the search found, rows (n, d); it is called only where
    ``Projected.reranks`` is true. Pure: no calls, no state.
    """

    @property
    def name(self) -> str: ...

    def texts(self, query: Query, extraction: Extraction) -> Sequence[str]: ...

    def query_vector(
        self, query: Query, extraction: Extraction, vectors: Mapping[str, Vector]
    ) -> Projected: ...

    def rerank(self, projected: Projected, rows: Matrix) -> Reranked: ...


@runtime_checkable
class Judge(Protocol):
    """Decides how likely a passage supports a perspective.

    ``judge`` gives shape (n_passages, n_perspectives): P(support) in [0, 1], NaN where it could not
    judge. ``threshold`` is the probability from which a passage leans to support, set on
    development data. A judge may have a ``listing``, a ``ListingRule`` that says from when support
    is shown as such; without one ``threshold`` says both.
    """

    @property
    def name(self) -> str: ...

    @property
    def threshold(self) -> float: ...

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix] | Matrix: ...


@runtime_checkable
class JudgesSides(Protocol):
    """A judge that reads a passage beside two statements that contradict each other.

    ``judge_sides`` gives shape (n_passages, 2): P(the passage supports the first, the second side),
    NaN where it could not judge. ``relevance`` (n_passages,) is the cosine of passage and question
    on the scale of the packaged encoder, NaN where it is not known. ``sides_listing`` says from
    when support read so is shown.
    """

    @property
    def name(self) -> str: ...

    @property
    def sides_listing(self) -> ListingRule | None: ...

    def judge_sides(
        self,
        sides: tuple[Perspective, Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
    ) -> Flow[Matrix] | Matrix: ...


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """What a selector chooses from: n candidates, in the order of relevance, and m perspectives.

    - ``relevance`` (n,): higher is better, by the place in that order.
    - ``support`` (n, m): P(candidate supports perspective), NaN where it was not judged.
    - ``listed`` (n, m): which of these are shown as support; ``quotas`` (m,): how many of the
      chosen should be, for each perspective.
    - ``weights`` (m,): higher = that perspective matters more.
    - ``plain`` (n,): the place that plain search, with the question alone, gave a candidate, from 1
      on; infinite where it did not find it.
    - ``overlaps``: for each candidate the others that share a good part of its text.
    - ``cosines`` (n,): cosine to the question, ``nearness`` (n, m): to each perspective; NaN where
      it is not known.
    - ``embeddings`` (n, d): NaN where one is not known; None where none is.
    - ``coverage_weight`` in [0, 1]: what the option of that name says.
    """

    relevance: Vector
    support: Matrix
    listed: NDArray[np.bool_]
    quotas: Sequence[int]
    weights: Vector
    plain: Vector
    overlaps: Sequence[frozenset[int]]
    cosines: Vector
    nearness: Matrix
    embeddings: Matrix | None
    coverage_weight: float

    def plain_order(self) -> list[int]:
        """The candidates, those that plain search found first, in its order."""
        order: list[int] = np.argsort(self.plain, kind="stable").tolist()
        return order


@runtime_checkable
class Selector(Protocol):
    """Chooses at most ``k`` of the candidates: their places, in the order they are to be shown.

    Anything of this shape is one. Passages that repeat others are not among the candidates, and
    ``max_per_source`` is seen to outside. One that raises is replaced by the default, which is
    recorded.
    """

    def select(self, choice: Choice, k: int) -> Selection: ...


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What a judge of lists says of n passages.

    ``support``, shape (n, n_perspectives), is P(support), NaN where it could not judge. ``proofs``
    holds for each passage, by perspective id, the words that prove the support. ``own`` (n,): which
    verdicts are the judge's own, and not those of one that stood in for it.
    """

    support: Matrix
    proofs: tuple[Mapping[str, Proof], ...]
    own: NDArray[np.bool_]


@runtime_checkable
class JudgesLists(Protocol):
    """A judge that reads the candidates of a question together, beside all its sides.

    It is given up to ``batch_size`` candidates at once (None: it reads no lists after all), and no
    more than the option ``judge_k`` for a question. ``question`` may be empty; ``relevance`` is
    that of ``JudgesSides``; ``exclusive`` says that the perspectives contradict each other.
    """

    @property
    def name(self) -> str: ...

    @property
    def batch_size(self) -> int | None: ...

    def judge_list(
        self,
        question: str,
        perspectives: Sequence[Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
        *,
        exclusive: bool = False,
    ) -> Flow[Judged] | Judged: ...


@runtime_checkable
class SecondJudge(Protocol):
    """A judge that reads again what another one would list.

    ``read_again`` gives shape (n, 2): P(passages[i] supports sides[i]), the first of which is
    contradicted by the second (None: by its negation); NaN where it could not judge. ``first`` has
    that shape and holds what the first judge said, NaN where it said nothing. ``second_listing``
    says from when support read so is listed.
    """

    @property
    def name(self) -> str: ...

    @property
    def second_listing(self) -> ListingRule: ...

    def read_again(
        self,
        sides: Sequence[tuple[Perspective, Perspective | None]],
        passages: Sequence[Passage],
        first: Matrix,
    ) -> Flow[Matrix] | Matrix: ...


@runtime_checkable
class Answerer(Protocol):
    """Puts a result into sentences that cite its passages."""

    def answer(self, result: RetrievalResult) -> Flow[Answer] | Answer: ...


@runtime_checkable
class TellsClaims(Protocol):
    """An answerer that tells of each claim as soon as it has it.

    ``answer_telling`` is ``answer`` and calls ``tell`` with claims between its steps; the answer
    may hold further ones.
    """

    def answer_telling(
        self, result: RetrievalResult, tell: Callable[[Claim], None]
    ) -> Flow[Answer]: ...


@runtime_checkable
class StreamsText(Protocol):
    """A language model that gives its reply piece by piece."""

    def stream(self, prompt: Prompt) -> Iterator[str]: ...
