"""What a component must offer. Anything of the right shape fits; nothing has to be inherited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from perspective_rag.errors import LLMError
from perspective_rag.flow import Flow
from perspective_rag.types import (
    Answer,
    Completion,
    Extraction,
    Hit,
    Matrix,
    Passage,
    Perspective,
    Prompt,
    Query,
    RetrievalResult,
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
    searches of a request are then made one after the other, as threads that compute in Python take
    turns anyway, and lose time by it.
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

    def extract(self, question: str) -> Flow[Extraction]: ...


@runtime_checkable
class Expander(Protocol):
    """Writes queries for perspectives. The pipeline adds the question itself and removes
    duplicates.
    """

    def expand(self, question: str, perspectives: Sequence[Perspective]) -> Flow[list[Query]]: ...


@runtime_checkable
class Judge(Protocol):
    """Decides how likely a passage supports a perspective.

    ``judge`` gives shape (n_passages, n_perspectives): P(support) in [0, 1], NaN where it could not
    judge. ``threshold`` is the probability from which a passage counts as supporting, set on
    development data.
    """

    @property
    def name(self) -> str: ...

    @property
    def threshold(self) -> float: ...

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]: ...


@runtime_checkable
class Answerer(Protocol):
    """Puts a result into sentences that cite its passages."""

    def answer(self, result: RetrievalResult) -> Flow[Answer]: ...
