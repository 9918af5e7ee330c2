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
from perspective_rag.types import (
    Answer,
    Choice,
    Claim,
    Completion,
    Extraction,
    Hit,
    ListingRule,
    Matrix,
    Passage,
    Perspective,
    Prompt,
    Proof,
    Query,
    RetrievalResult,
    Selection,
    Vector,
)


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors."""

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeds what is searched for.

        Args:
            texts: n queries.

        Returns:
            Shape (n, d), one row for each text.
        """

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embeds what is searched in.

        Args:
            texts: n texts of passages.

        Returns:
            Shape (n, d), one row for each text, in the space of the queries.
        """


@runtime_checkable
class Store(Protocol):
    """Finds passages.

    A store may also set ``in_turn = True`` or ``thread_bound = True``. With either, the searches of
    a request run one after the other. ``in_turn`` is for a store that computes in Python and never
    waits, where the GIL makes threads slower. ``thread_bound`` is for a store that works only in
    the thread that made it: it is searched in the caller's thread, where no time-out can cut a
    search and an event loop waits for it.

    Attributes:
        takes_vector: True: it searches by ``vector``; False: by ``text`` alone.
    """

    takes_vector: bool

    def search(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]:
        """Finds the best passages for a query.

        Args:
            text: The query.
            vector: Its vector, shape (d,); None where ``takes_vector`` is False.
            k: Maximum number of hits.
            filter: What the caller gave as filter; None: no filter.

        Returns:
            Hits, best first, with scores that are higher-is-better or None.
        """

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Sequence[Hit]:
        """The same as ``search``, without blocking the event loop."""


@runtime_checkable
class KeepsEmbeddings(Protocol):
    """A store that can hand back the vectors of passages it found."""

    def embeddings_of(self, passages: Sequence[Passage]) -> Matrix:
        """Looks up the vectors of passages.

        Args:
            passages: n passages that the store found.

        Returns:
            Shape (n, d), rows in the order given; NaN rows where the store has no vector.
        """


@runtime_checkable
class LLM(Protocol):
    """A language model behind any API."""

    @property
    def name(self) -> str:
        """The model's name, for messages and the keys of caches."""

    def complete(self, prompt: Prompt) -> Completion:
        """Sends one prompt.

        Args:
            prompt: What to ask, and the form that the reply must have.

        Returns:
            The reply, with its token counts.
        """

    async def acomplete(self, prompt: Prompt) -> Completion:
        """The same as ``complete``, without blocking the event loop."""


@runtime_checkable
class CompletesMany(Protocol):
    """A language model that answers several prompts at once.

    Attributes:
        batch_size: How many prompts it answers best at a time.
    """

    batch_size: int

    def complete_many(self, prompts: Sequence[Prompt]) -> Sequence[Completion | LLMError]:
        """Sends prompts together.

        Args:
            prompts: What to ask.

        Returns:
            A Completion or an LLMError for each prompt, in their order.
        """


@runtime_checkable
class Extractor(Protocol):
    """Finds the perspectives of a question."""

    def extract(self, question: str) -> Flow[Extraction] | Extraction:
        """Finds the sides that people take on a question.

        Args:
            question: The question as it was asked.

        Returns:
            The perspectives and how the question was read; without perspectives, retrieval is
            plain.
        """


@runtime_checkable
class Expander(Protocol):
    """Writes queries for perspectives."""

    def expand(
        self, question: str, perspectives: Sequence[Perspective]
    ) -> Flow[list[Query]] | Sequence[Query]:
        """Writes the queries; the pipeline adds the question itself and removes duplicates.

        Args:
            question: The question.
            perspectives: Its perspectives, at least one.

        Returns:
            Queries, each with the id of the perspective it is for.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Projected:
    """A query's vector, changed by its perspective.

    Args:
        vector: Shape (d,), what the store is searched with.
        problem: The reason for falling back to the plain query, otherwise None.
        reranks: True: ``Projection.rerank`` puts the hits in their exact order.
        fetch_k: Minimum number of hits that this order needs.
        state: Handed back to ``Projection.rerank``.
        store: Searched instead of the pipeline's own: the same passages by the same ids, with
            vectors projected ahead.
    """

    vector: Vector
    problem: str | None = None
    reranks: bool = False
    fetch_k: int = 0
    state: Any = None
    store: Store | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Reranked:
    """The exact scores of a search's hits.

    Args:
        scores: Shape (n,), higher is better; None keeps the order of the hits.
        decision: What was chosen and why, for the trace.
    """

    scores: Vector | None
    decision: Mapping[str, Any] | None = None


@runtime_checkable
class Projection(Protocol):
    """Changes the vector of a query by the perspective it was written for. Pure: no calls, no
    state.
    """

    @property
    def name(self) -> str:
        """The name in the trace."""

    def texts(self, query: Query, extraction: Extraction) -> Sequence[str]:
        """Names the texts whose vectors ``query_vector`` needs; they are embedded with the queries.

        Args:
            query: The query.
            extraction: The question's perspectives.

        Returns:
            Texts, besides the query's own.
        """

    def query_vector(
        self, query: Query, extraction: Extraction, vectors: Mapping[str, Vector]
    ) -> Projected:
        """Computes the vector to search with.

        Args:
            query: The query.
            extraction: The question's perspectives.
            vectors: Vector of shape (d,) by text, for ``texts`` and the query.

        Returns:
            The vector, and whether the hits are to be reranked.
        """

    def rerank(self, projected: Projected, rows: Matrix) -> Reranked:
        """Scores what the search found; called only where ``Projected.reranks`` is True.

        Args:
            projected: What ``query_vector`` returned.
            rows: Vectors of the hits, shape (n, d).

        Returns:
            The scores, shape (n,).
        """


@runtime_checkable
class Judge(Protocol):
    """Decides how likely a passage supports a perspective.

    A judge may have a ``listing``, a ``ListingRule`` that says from which probability support is
    shown; without one, ``threshold`` does.
    """

    @property
    def name(self) -> str:
        """The judge's name, for messages."""

    @property
    def threshold(self) -> float:
        """P(support) from which a passage leans to support, set on development data."""

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix] | Matrix:
        """Judges every passage against every perspective.

        Args:
            perspectives: m statements.
            passages: n passages.

        Returns:
            P(support), shape (n, m), in [0, 1]; NaN where it could not judge.
        """


@runtime_checkable
class JudgesSides(Protocol):
    """A judge that reads a passage beside two statements that contradict each other."""

    @property
    def name(self) -> str:
        """The judge's name, for messages."""

    @property
    def sides_listing(self) -> ListingRule | None:
        """From which probability support read in this way is shown."""

    def judge_sides(
        self,
        sides: tuple[Perspective, Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
    ) -> Flow[Matrix] | Matrix:
        """Judges passages against two opposite sides.

        Args:
            sides: The two statements.
            passages: n passages.
            relevance: Shape (n,), cosine of passage and question on the scale of the packaged
                encoder; NaN where it is not known.

        Returns:
            P(the passage supports the first side) and P(it supports the second), shape (n, 2); NaN
            where it could not judge.
        """


@runtime_checkable
class Selector(Protocol):
    """Chooses the passages to return.

    Passages that repeat others are not among the candidates, and ``max_per_source`` is kept
    outside. A selector that raises is replaced by the default, and the trace records it.
    """

    def select(self, choice: Choice, k: int) -> Selection:
        """Chooses at most k candidates.

        Args:
            choice: The candidates, and what is known of them.
            k: Maximum number to choose, at least 1.

        Returns:
            Their places among the candidates, in the order to show them.
        """


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What a judge of lists says of n passages and m perspectives.

    Args:
        support: Shape (n, m), P(support); NaN where it could not judge.
        proofs: For each passage, by perspective id, the words that prove the support.
        own: Shape (n,), True where the verdict is the judge's own, False where another judge stood
            in.
    """

    support: Matrix
    proofs: tuple[Mapping[str, Proof], ...]
    own: NDArray[np.bool_]


@runtime_checkable
class JudgesLists(Protocol):
    """A judge that reads the candidates of a question together, beside all its sides."""

    @property
    def name(self) -> str:
        """The judge's name, for messages."""

    @property
    def batch_size(self) -> int | None:
        """Maximum number of candidates for one call; None: it reads no lists after all."""

    def judge_list(
        self,
        question: str,
        perspectives: Sequence[Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
        *,
        exclusive: bool = False,
    ) -> Flow[Judged] | Judged:
        """Judges a list of candidates, for one question at most ``judge_k`` in all.

        Args:
            question: The question; may be empty.
            perspectives: m sides.
            passages: n passages, at most ``batch_size``.
            relevance: Shape (n,), as for ``JudgesSides.judge_sides``.
            exclusive: True: the perspectives contradict each other.

        Returns:
            The support of each side by each passage, with proofs.
        """


@runtime_checkable
class SecondJudge(Protocol):
    """A judge that reads again what another one would list."""

    @property
    def name(self) -> str:
        """The judge's name, for messages."""

    @property
    def second_listing(self) -> ListingRule:
        """From which probability support is listed after the second reading."""

    def read_again(
        self,
        sides: Sequence[tuple[Perspective, Perspective | None]],
        passages: Sequence[Passage],
        first: Matrix,
        relevance: Vector,
    ) -> Flow[Matrix] | Matrix:
        """Judges n passages, each against a side and what contradicts it.

        Args:
            sides: For each passage a side and the one that contradicts it (None: its negation).
            passages: n passages.
            first: Shape (n, 2), what the first judge said; NaN where it said nothing.
            relevance: Shape (n,), cosines of passage and question on the packaged encoder's scale;
                NaN where one is not known.

        Returns:
            P(the passage supports the side) and P(it supports what contradicts it), shape (n, 2);
            NaN where it could not judge.
        """


@runtime_checkable
class Answerer(Protocol):
    """Writes the answer to a question from the passages found."""

    def answer(self, result: RetrievalResult) -> Flow[Answer] | Answer:
        """Puts a result into sentences that cite its passages.

        Args:
            result: What retrieval returned.

        Returns:
            The answer, claim by claim.
        """


@runtime_checkable
class TellsClaims(Protocol):
    """An answerer that hands out each claim as soon as it has it."""

    def answer_telling(
        self, result: RetrievalResult, tell: Callable[[Claim], None]
    ) -> Flow[Answer]:
        """Answers as ``answer`` does, and tells of claims on the way.

        Args:
            result: What retrieval returned.
            tell: Called with each claim between the answerer's steps.

        Returns:
            The answer; it may hold further claims.
        """


@runtime_checkable
class StreamsText(Protocol):
    """A language model that gives its reply piece by piece."""

    def stream(self, prompt: Prompt) -> Iterator[str]:
        """Sends one prompt.

        Args:
            prompt: What to ask.

        Returns:
            The pieces of the reply, in order.
        """
