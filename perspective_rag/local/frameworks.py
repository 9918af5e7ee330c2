"""What the wrappers of frameworks have in common: the parts they take, their models and stores."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any, Generic, Literal, TypedDict, TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from perspective_rag.annotations import ScoreKind, annotations_of, check_score_kind, scores_of
from perspective_rag.errors import check_component
from perspective_rag.flow.driver import in_thread, map_in_threads
from perspective_rag.flow.limiter import Limiter
from perspective_rag.flow.request import Telemetry
from perspective_rag.options import ChoiceOptions, Options, PipelineOptions, changed_options
from perspective_rag.prompts.replies import llm_errors
from perspective_rag.protocols import Expander, Extractor, Judge, Selector
from perspective_rag.redaction import scrubbing, without_secrets
from perspective_rag.types import (
    Completion,
    Hit,
    Matrix,
    Passage,
    Perspective,
    Prompt,
    RetrievalResult,
    Vector,
)

DedupKey = str | Callable[[Any], Any]
"""A metadata key, or a function of a framework's document: those that share it are one."""


class _Parts(TypedDict, total=False):
    judge: Judge | Literal["default"] | None
    extractor: Extractor | None
    selector: Selector | None
    perspectives: Sequence[Perspective | str] | None
    skip_if: Callable[[str], Any] | None
    dedup_key: DedupKey | None
    score_kind: ScoreKind
    limiter: Limiter | None
    telemetry: Telemetry | None
    options: PipelineOptions | Mapping[str, Any] | None


class ChooserArguments(_Parts, ChoiceOptions, total=False):
    """The parts and options of a wrapper that chooses among given documents, as keywords.

    For editors and type checkers; ``WrapperParts`` and ``PipelineOptions`` say what each one means.
    """


class WrapperArguments(_Parts, Options, total=False):
    """The parts and options of a wrapper that searches, like ``ChooserArguments``."""

    expander: Expander | None


SEARCH_NAMES = tuple(
    sorted(WrapperArguments.__annotations__.keys() - ChooserArguments.__annotations__.keys())
)
"""The parts and options that have no effect where nothing is searched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrapperParts:
    """What every wrapper takes beside the objects of its framework.

    Attributes:
        judge: Says which document supports which perspective; "default": the one that comes with
            perspective_rag, None: no judging.
        extractor: Finds the perspectives of a question; None: the language model, else rules.
        expander: Writes the queries for perspectives; None: their own statements.
        selector: Chooses the documents from the judged ones; None: plain search's own, exchanged
            where that covers more.
        perspectives: The sides of every question, where they are known beforehand.
        skip_if: True of a question that is searched as it is, without perspectives and judge, such
            as "thanks".
        dedup_key: A metadata key, or a function of a document; documents that share it are one.
            None: the document's id.
        score_kind: What a document's score is: "similarity" to the question, higher is better, or
            the score of the choice ("selection"), which keeps the order where somebody sorts by it.
        limiter: Limits the calls of all requests together.
        telemetry: Is told what each request does, ``OpenTelemetry()`` for example.
        options: The options of every request.

    Raises:
        ConfigError: One of them cannot be used.
    """

    judge: Judge | Literal["default"] | None = "default"
    extractor: Extractor | None = None
    expander: Expander | None = None
    selector: Selector | None = None
    perspectives: Sequence[Perspective | str] | None = None
    skip_if: Callable[[str], Any] | None = None
    dedup_key: DedupKey | None = None
    score_kind: ScoreKind = "similarity"
    limiter: Limiter = field(default_factory=Limiter)
    telemetry: Telemetry | None = None
    options: PipelineOptions = field(default_factory=PipelineOptions)

    def __post_init__(self) -> None:
        if self.judge is not None and not (isinstance(self.judge, str) and self.judge == "default"):
            check_component("judge", self.judge, framework='"default", None')
        for name in ("extractor", "expander", "selector", "limiter", "telemetry", "options"):
            if (value := getattr(self, name)) is not None:
                check_component(name, value)
        if self.perspectives is not None:
            from perspective_rag.perspectives.sides import as_perspectives

            as_perspectives(self.perspectives)  # they stay texts, which are words for a side
            object.__setattr__(self, "perspectives", tuple(self.perspectives))
        check_score_kind(self.score_kind)

    @classmethod
    def of(
        cls,
        given: Mapping[str, Any],
        *,
        options: PipelineOptions | None = None,
        parameters: Iterable[str] = (),
        without: Iterable[str] = (),
    ) -> WrapperParts:
        """Makes the parts from a wrapper's keyword arguments.

        Args:
            given: Parts and options by name; ``options`` may be a mapping.
            options: Where options start if ``given`` has no ``options``; None: the defaults.
            parameters: Names of the wrapper's own parameters, suggested for a misspelt name.
            without: Names that have no effect in this wrapper, because it searches nothing.

        Returns:
            The parts.

        Raises:
            ConfigError: A name is unknown or in ``without``, or a value cannot be used.
        """
        unused = set(without)
        names = [each.name for each in fields(cls) if each.name not in unused]
        start = given.get("options") or options
        if isinstance(start, Mapping):
            start = PipelineOptions.from_dict(start)
        if start is not None:
            check_component("options", start, framework="a mapping")
        parts = {name: given[name] for name in names if name in given and name != "options"}
        if parts.get("limiter", 0) is None:
            del parts["limiter"]
        changes = {name: value for name, value in given.items() if name not in names}
        known = (*names, *parameters)
        return cls(
            **parts, options=changed_options(start, changes, parameters=known, without=unused)
        )


_AT_A_TIME = 4


class WrappedEmbedder:
    """A framework's embedding model as an Embedder.

    Passages go in one batch. Frameworks embed queries one at a time, so several run side by side.
    A ``relevance_floor`` of the model is handed on.

    Args:
        model: The framework's model.
        one: Embeds a query.
        many: Embeds passages.
        alike: True: the model embeds queries as it embeds passages, so they too go in one batch.
    """

    def __init__(
        self,
        model: Any,
        one: Callable[[str], Sequence[float]],
        many: Callable[[list[str]], Any],
        *,
        alike: bool = False,
    ) -> None:
        self.model = model
        self._one, self._many, self._alike = one, many, alike

    @property
    def relevance_floor(self) -> Any:
        """The model's own; None where it has none."""
        return getattr(self.model, "relevance_floor", None)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Embeds texts as the model embeds queries; see ``Embedder.embed_queries``.

        Args:
            texts: n texts.

        Returns:
            Shape (n, d).
        """
        if self._alike:
            return self.embed_passages(texts)
        with scrubbing(self.model):
            return np.array(map_in_threads(self._one, texts, most=_AT_A_TIME))

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """Embeds texts in one batch; see ``Embedder.embed_passages``.

        Args:
            texts: n texts.

        Returns:
            Shape (n, d).
        """
        with scrubbing(self.model):
            return np.array(self._many(list(texts)))


Held = TypeVar("Held")


class WrappedLLM(Generic[Held]):
    """A framework's language model as an LLM: write ``hold``, ``request``, ``read``, ``secrets``.

    The model is held to the schema of a prompt where it can be. One that refused once, and then
    answered in plain text, is not held to a schema again.

    Args:
        name: The model's name, for errors and caches.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._refuses = False

    def hold(self, prompt: Prompt) -> Held | None:
        """Holds the model to a prompt's schema.

        Args:
            prompt: The prompt, which has a schema.

        Returns:
            What ``request`` needs for it; None: it cannot be held.
        """
        raise NotImplementedError

    def request(
        self, prompt: Prompt, held: Held | None
    ) -> tuple[Callable[[], Any], Callable[[], Awaitable[Any]] | None]:
        """Makes the request for a prompt.

        Args:
            prompt: The prompt.
            held: What ``hold`` returned; None: it goes without its schema.

        Returns:
            What sends it, and what sends it without blocking the event loop; None: nothing does.
        """
        raise NotImplementedError

    def read(self, reply: Any, held: Held | None) -> Completion:
        """Reads a reply.

        Args:
            reply: What the request returned.
            held: As in ``request``.

        Returns:
            The reply, which may repeat secrets.
        """
        raise NotImplementedError

    def secrets(self) -> list[str]:
        """The model's keys, which its errors and replies may repeat."""
        raise NotImplementedError

    def complete(self, prompt: Prompt) -> Completion:
        """Sends one prompt, once or twice; see ``LLM.complete``.

        Args:
            prompt: The prompt.

        Returns:
            The reply.

        Raises:
            LLMError: Whatever the model raises. Neither error nor reply holds a key of the model's.
        """
        held = self._held(prompt)
        with llm_errors(self.name, prompt, self.secrets):
            if held is not None:
                # It may refuse the schema alone: a failure of the plain request is the model's.
                with suppress(Exception):
                    return self._send(prompt, held)
            reply = self._send(prompt, None)
        self._refuses |= held is not None
        return reply

    async def acomplete(self, prompt: Prompt) -> Completion:
        """The same as ``complete``, without blocking the event loop."""
        held = self._held(prompt)
        with llm_errors(self.name, prompt, self.secrets):
            if held is not None:
                with suppress(Exception):
                    return await self._asend(prompt, held)
            reply = await self._asend(prompt, None)
        self._refuses |= held is not None
        return reply

    def _held(self, prompt: Prompt) -> Held | None:
        return None if prompt.schema is None or self._refuses else self.hold(prompt)

    def _send(self, prompt: Prompt, held: Held | None) -> Completion:
        send, _ = self.request(prompt, held)
        return self._read(send(), held)

    async def _asend(self, prompt: Prompt, held: Held | None) -> Completion:
        send, asend = self.request(prompt, held)
        return self._read(await (in_thread(send) if asend is None else asend()), held)

    def _read(self, reply: Any, held: Held | None) -> Completion:
        read = self.read(reply, held)
        return replace(read, text=without_secrets(read.text, self.secrets()))


def token_counts(*places: Any) -> tuple[int, int]:
    """Finds what a reply cost, which servers tell under different names and in different places.

    Args:
        *places: Mappings or objects that may tell it.

    Returns:
        Tokens of the prompt and of the reply; 0 where none tells it.
    """

    def first(*names: str) -> int:
        for place in places:
            for name in names:
                found = place.get(name) if isinstance(place, Mapping) else getattr(place, name, 0)
                if isinstance(found, int) and found:
                    return found
        return 0

    return (
        first("prompt_tokens", "input_tokens"),
        first("completion_tokens", "output_tokens"),
    )


Reader = Callable[[Any, Sequence[Any]], Mapping[Any, Any]]
"""``reader(store, ids)``: the vectors that a store has, by id, in one request."""


def _never(store: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreAdapter:
    """How to treat one kind of vector store, where it is special.

    The functions are called with the store. ``perspective_rag.testing.check_store`` checks an
    adapter of your own.

    Attributes:
        vectors: ``vectors(store, ids)`` reads its vectors back, by id, in one request; None: it
            cannot.
        id_key: The metadata key of the ids of a store that gives its documents none.
        at_hand: True: the vectors lie in this process and cost a look-up instead of a request.
        search: ``search(store, vector, *, k, filter=None, **more)`` finds documents by vector;
            None: the store's own way.
        filter_name: The store's name for a filter, where its methods take it and do not show it.
        awaits: Whether its async search leaves the event loop free, in any loop; None: where it has
            an async search of its own.
        blocks: Whether its async search computes where it is awaited, and blocks the loop.
        in_turn: Whether it computes in Python, so that searches side by side gain nothing.
        thread_bound: Whether it works only in the thread that made it.
        is_new: Whether nothing was ever stored, for a store that then raises instead of finding
            nothing.
    """

    vectors: Reader | None = None
    id_key: str | None = None
    at_hand: bool = False
    search: Callable[..., Sequence[Any]] | None = None
    filter_name: str | None = None
    awaits: Callable[[Any], bool] | None = None
    blocks: Callable[[Any], bool] = _never
    in_turn: Callable[[Any], bool] = _never
    thread_bound: Callable[[Any], bool] = _never
    is_new: Callable[[Any], bool] = _never

    @classmethod
    def of(cls, store: Any, known: Mapping[str, StoreAdapter]) -> StoreAdapter:
        """Finds the adapter for a store.

        Args:
            store: The store.
            known: Adapters by the name of a class, or by "package.Class".

        Returns:
            The one for its class or the nearest of its base classes; else the one for any store.
        """
        for base in type(store).__mro__:
            package = base.__module__.split(".")[0]
            for name in (f"{package}.{base.__name__}", base.__name__):
                if name in known:
                    return known[name]
        return cls()

    def matrix(self, store: Any, passages: Sequence[Passage]) -> Matrix:
        """Reads vectors back as an array.

        Args:
            store: The store.
            passages: n passages that it found.

        Returns:
            Shape (n, d); NaN rows where the store has no vector.
        """
        from perspective_rag.search.search import matrix_of

        key = self.id_key
        ids = [p.id if key is None else p.metadata.get(key, p.id) for p in passages]
        found = self.vectors(store, list(dict.fromkeys(ids))) if self.vectors is not None else {}
        return matrix_of([found.get(each) for each in ids])

    def hits(self, store: Any, passages: Sequence[Passage], vector: Vector | None) -> list[Hit]:
        """Makes hits, with vectors and cosines where the vectors are at hand.

        Args:
            store: The store.
            passages: n passages that it found.
            vector: The query's vector, shape (d,); None: it was searched by text.

        Returns:
            A hit for each passage, in their order.
        """
        from perspective_rag.search.search import scored_hits

        if vector is None or not passages or self.vectors is None or not self.at_hand:
            return [Hit(passage) for passage in passages]
        return scored_hits(passages, self.matrix(store, passages), vector)


def chroma_vectors(store: Any, ids: Sequence[str]) -> dict[str, Any]:
    """Reads vectors back from Chroma.

    Args:
        store: A wrapper of a Chroma collection.
        ids: The ids.

    Returns:
        The vectors that it has, by id.
    """
    found = store._collection.get(ids=list(ids), include=["embeddings"])
    return dict(zip(found["ids"], found["embeddings"], strict=True))


def qdrant_vectors(client: Any, collection: str, ids: Sequence[Any], field: str) -> dict[Any, Any]:
    """Reads vectors back from Qdrant; those compared by cosine have length one.

    Args:
        client: The client.
        collection: The collection's name.
        ids: The ids.
        field: The vector's name, where points have several.

    Returns:
        The vectors that it has, by id.
    """
    points = client.retrieve(collection, ids=list(ids), with_payload=False, with_vectors=True)
    rows = {p.id: p.vector.get(field) if isinstance(p.vector, dict) else p.vector for p in points}
    return {each: rows[each] for each in ids if each in rows}


def is_local_qdrant(client: Any) -> bool:
    """Whether a Qdrant client computes in Python, making a copy of all vectors at each search.

    Args:
        client: The client, sync or async.

    Returns:
        False of one that asks a server.
    """
    return type(getattr(client, "_client", None)).__name__ in ("QdrantLocal", "AsyncQdrantLocal")


_PLACES: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()


def faiss_vectors(index: Any, names: Mapping[Any, str], ids: Sequence[str]) -> dict[str, Any]:
    """Reads vectors back from a FAISS index, which knows them by their place alone.

    Args:
        index: The index.
        names: The id at each place.
        ids: The ids.

    Returns:
        The vectors, by id; none from an index without a direct map, or one that keeps none.
    """
    places = _PLACES.get(index, {})
    # Documents come and go: what is remembered holds only while the names agree with it.
    if any(names.get(places.get(each)) != each for each in ids):
        places = _PLACES[index] = {name: place for place, name in list(names.items())}
    found = {each: int(places[each]) for each in ids if each in places}
    try:
        rows = index.reconstruct_batch(list(found.values()))
    except RuntimeError:
        return {}
    return dict(zip(found, rows, strict=True))


def hit_of(
    passage: Passage, row: Vector | None, vector: Vector | None, score: float | None = None
) -> Hit:
    """Makes a hit of a passage that came with its vector, or without.

    Args:
        passage: The passage.
        row: Its vector, shape (d,).
        vector: The query's.
        score: The source's own score.

    Returns:
        The hit, scored by the cosine where both vectors are known, else by ``score``.
    """
    from perspective_rag.search.search import scored_hits

    if row is None or vector is None or len(row) != len(vector):
        return Hit(passage, score, row)
    return scored_hits([passage], row[None, :], vector)[0]


def sources_of(
    result: RetrievalResult, kind: ScoreKind, *, given: Mapping[str, float] | None = None
) -> Iterator[tuple[Any, float | None, dict[str, str | float]]]:
    """Goes through what a wrapper returns, best first.

    Args:
        result: The result.
        kind: What scores are; see ``scores_of``.
        given: The source's own scores by passage id; see ``scores_of``.

    Yields:
        The framework's document as it was found, its score, and the metadata to add to a copy.
    """
    scores, added = scores_of(result, kind, given=given), annotations_of(result)
    for candidate, score, more in zip(result.candidates, scores, added, strict=True):
        yield candidate.passage.source, score, more
