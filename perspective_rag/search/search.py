"""Queries to rankings, in the caller's store, and the vectors that this takes."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import (
    CapabilityError,
    ConfigError,
    RetrievalError,
    is_number,
    unknown_name,
)
from perspective_rag.flow.driver import in_thread
from perspective_rag.flow.request import Request, degrade, note, stage
from perspective_rag.flow.steps import Call, Flow, Reply, call
from perspective_rag.judge.windows import titled_pieces
from perspective_rag.maths.adaptive import CANDIDATES, KINDS, choose, parts
from perspective_rag.maths.projection import DOCUMENT_SIDE, ROWS, project_query, projected_scores
from perspective_rag.maths.vectors import as_matrix, as_vector, cosine
from perspective_rag.options import PipelineOptions
from perspective_rag.protocols import (
    Embedder,
    Judge,
    KeepsEmbeddings,
    Projected,
    Projection,
    Reranked,
    Store,
)
from perspective_rag.types import Candidate, Extraction, Hit, Matrix, Passage, Query, Vector


def check_capabilities(
    store: Store, embedder: Embedder | None, judge: Judge | None, options: PipelineOptions
) -> None:
    """Raises CapabilityError for what these components can never do."""
    if store.takes_vector and embedder is None:
        raise CapabilityError("this store searches by vector: pass embedder=")
    if options.projection != "none" and not store.takes_vector:
        raise CapabilityError(
            f"projection={options.projection!r} changes vectors, and this store searches by "
            "text only: use a store that searches by vector, or projection='none'"
        )
    has_vectors = embedder is not None or isinstance(store, KeepsEmbeddings)
    if options.mmr_lambda < 1.0 and not has_vectors:
        raise CapabilityError(
            "mmr_lambda below 1.0 compares passages by their vectors: pass embedder="
        )
    if options.discover and judge is None:
        raise CapabilityError("discover compares what the passages say: pass judge=")
    if options.coverage == "require" and judge is None:
        raise CapabilityError('coverage="require" needs a judge: pass judge=')


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The hits of one query, best first."""

    query: Query
    hits: Sequence[Hit]


@stage
def search(
    request: Request, extraction: Extraction, queries: Sequence[Query]
) -> Flow[list[Ranking]]:
    """Searches the store once for each query.

    Where the store searches by vector, the queries are embedded in one batch and the vector of a
    perspective's query is projected. Searches that fail side by side are repeated one after the
    other, for stores with a single connection; what fails then is recorded and left out.

    Args:
        request: The question, its options and the store.
        extraction: The perspectives.
        queries: What to search for.

    Returns:
        One ranking for each query that could be searched, in the order of the queries.

    Raises:
        RetrievalError: The queries could not be embedded, or every search failed.
        ConfigError: The embedder returned something other than one row for each text.
    """
    store = request.store
    if store.takes_vector and request.embedder is not None:
        texts = [query.text for query in queries]
        for query in queries:
            texts += _projection_texts(request, extraction, query)
        try:
            yield from embed_queries(request, request.embedder, texts)
        except ConfigError:
            raise
        except Exception as error:
            raise RetrievalError(f"the queries could not be embedded: {error!r}") from error
    calls, projections, names = [], [], []
    for query in queries:
        projected = _project(request, extraction, query)
        searched = store if projected is None or projected.store is None else projected.store
        checked = _CheckedSearch(searched)
        depth = max(request.options.k, request.options.fetch_k)
        vector: Vector | None = None
        if projected is not None:
            vector, depth = projected.vector, max(depth, projected.fetch_k)
        calls.append(
            Call(
                "search",
                checked.search,
                (query.text, vector),
                {"k": depth, "filter": request.filter},
                checked.asearch,
                in_turn=bool(getattr(searched, "in_turn", False)),
                in_caller=bool(getattr(searched, "thread_bound", False)),
            )
        )
        projections.append(projected)
        names.append(checked.name)
    replies = yield calls
    replies = yield from _again(calls, replies)
    errors = [reply.error for reply in replies if reply.error is not None]
    if len(errors) == len(queries):
        raise RetrievalError(
            f"all {len(errors)} searches failed ({names[0]}); first: {errors[0]!r}"
        ) from errors[0]
    rankings = []
    for query, projected, name, reply in zip(queries, projections, names, replies, strict=True):
        if reply.error is not None:
            degrade("search", f"the search for {query.text!r} failed", reply.error)
            continue
        found: Found = reply.value
        if found.unusable:
            problem = f"{name} returned {found.example} for a Hit: left out"
            degrade("search", f"{problem} ({found.unusable} for {query.text!r})")
        hits = found.hits
        if projected is not None and projected.store is not None:
            # Its vectors are projected: they compare with no others.
            hits = tuple(replace(hit, embedding=None) for hit in hits)
        rankings.append((yield from _rerank(request, Ranking(query, hits), projected)))
    return rankings


_NOT_AGAIN = (TimeoutError, CapabilityError, ConfigError, NotImplementedError)


def _again(calls: Sequence[Call], replies: Sequence[Reply]) -> Flow[list[Reply]]:
    """The replies, after the searches that failed side by side were made again by themselves.

    Not those that took too long or can never work; where none has worked, the first alone tells.
    """
    result = list(replies)
    if len(calls) == 1 or any(step.in_turn or step.in_caller for step in calls):
        return result
    failed = [
        index
        for index, reply in enumerate(replies)
        if reply.error is not None and not isinstance(reply.error, _NOT_AGAIN)
    ]
    if len(failed) == len(calls):
        first = failed.pop(0)
        (result[first],) = yield [calls[first]]
        if result[first].error is not None:
            return result
    if not failed:
        return result
    again = yield [replace(calls[index], in_turn=True) for index in failed]
    for index, reply in zip(failed, again, strict=True):
        result[index] = reply
    repeated = sum(reply.error is None for reply in result) - sum(r.error is None for r in replies)
    if repeated:
        reason = "searches that failed side by side worked one after the other"
        note(decision={"stage": "search", "again": repeated, "reason": reason})
    return result


# What a store returns


@dataclass(frozen=True, slots=True)
class Found:
    """The usable hits of a search, best first, and how many could not be used, with the first of
    them as text.
    """

    hits: tuple[Hit, ...]
    unusable: int = 0
    example: str = ""


_MANY = 500  # hits: more are not looked at in the event loop


class _CheckedSearch:
    """The searches of a store, whose hits are read and checked within the call.

    A store may return what is only read later, and reading it may fail or never end: at most ``k``
    hits are read. Raises RetrievalError, naming the store, for what is no sequence of hits.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.name = type(store).__name__

    def search(self, text: str, vector: Vector | None, *, k: int, filter: Any = None) -> Found:
        return usable(self.store.search(text, vector, k=k, filter=filter), self.name, k)

    async def asearch(
        self, text: str, vector: Vector | None, *, k: int, filter: Any = None
    ) -> Found:
        returned = await self.store.asearch(text, vector, k=k, filter=filter)
        if isinstance(returned, (list, tuple)) and len(returned) > _MANY:
            return await in_thread(usable, returned, self.name, k)  # the event loop goes on
        return usable(returned, self.name, k)


def usable(returned: Any, name: str, k: int | None = None) -> Found:
    """The hits among the first ``k`` (None: all) of what ``name`` returned.

    A score that is no finite number becomes None, and so does an embedding that is no vector of
    finite numbers. Raises RetrievalError for what is no sequence, and where nothing in it is a hit.
    """
    if inspect.iscoroutine(returned):
        returned.close()
    if isinstance(returned, (str, bytes, Mapping)) or not isinstance(returned, Iterable):
        raise RetrievalError(
            f"{name} returned {_repr(returned)}; expected a sequence of Hits, best first"
        )
    hits: list[Hit] = []
    bad: list[Any] = []
    for each in islice(returned, k):
        if _is_hit(each):
            hits.append(_clean(each))
        else:
            bad.append(each)
    if bad and not hits:
        raise RetrievalError(
            f"{name} returned {_repr(bad[0])}; expected Hits, each with a Passage that has a text"
        )
    return Found(tuple(hits), len(bad), _repr(bad[0]) if bad else "")


def _is_hit(value: Any) -> bool:
    if not isinstance(value, Hit) or not isinstance(value.passage, Passage):
        return False
    return isinstance(value.passage.text, str) and isinstance(value.passage.metadata, Mapping)


def _clean(hit: Hit) -> Hit:
    score, embedding = _number(hit.score), hit.embedding
    if embedding is not None:
        try:
            vector = as_vector(embedding, "embedding")
            embedding = vector if vector.size else None
        except ConfigError:
            embedding = None
    if score == hit.score and embedding is hit.embedding:
        return hit
    return replace(hit, score=score, embedding=embedding)


def _number(value: Any) -> float | None:
    try:
        return float(value) if is_number(value) and math.isfinite(value) else None
    except OverflowError:  # an integer that is no float
        return None


def _repr(value: Any) -> str:
    try:
        return f"{value!r:.120}"
    except Exception:  # a value that cannot even be shown
        return f"a {type(value).__name__}"


# Projections: none, a row of the table, or chosen for each query


@dataclass(frozen=True, slots=True)
class Plain:
    """The query as it is."""

    name: str = "none"

    def texts(self, query: Query, extraction: Extraction) -> Sequence[str]:
        return ()

    def query_vector(
        self, query: Query, extraction: Extraction, vectors: Mapping[str, Vector]
    ) -> Projected:
        return Projected(vectors[query.text])

    def rerank(self, projected: Projected, rows: Matrix) -> Reranked:
        return Reranked(None)


@dataclass(frozen=True, slots=True)
class Fixed:
    """A row of the table in ``maths.projection``, the same for every query, e.g. ``Fixed("pap")``.

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
    """Chosen for each query from what it finds; see ``maths.adaptive``."""

    name: str = "adaptive"

    def texts(self, query: Query, extraction: Extraction) -> Sequence[str]:
        return (extraction.root, perspective_text(query, extraction), *KINDS)

    def query_vector(
        self, query: Query, extraction: Extraction, vectors: Mapping[str, Vector]
    ) -> Projected:
        own, root = vectors[query.text], vectors[extraction.root]
        perspective = vectors[perspective_text(query, extraction)]
        kinds = np.array([vectors[kind] for kind in KINDS])
        projected = parts(own, root, perspective, kinds=kinds)
        # At the query's length, so that scores of an inner product keep their scale.
        vector, length = own, float(np.linalg.norm(projected.search))
        if length > 0.0:
            vector = (projected.search * (np.linalg.norm(own) / length)).astype(own.dtype)
        return Projected(vector, reranks=True, fetch_k=CANDIDATES, state=projected)

    def rerank(self, projected: Projected, rows: Matrix) -> Reranked:
        choice = choose(projected.state, rows)
        if choice.problem is not None or not len(rows):
            return Reranked(None, choice.to_dict())
        return Reranked(choice.scores(rows), choice.to_dict())


_PLAIN = Plain()
_NAMED: Mapping[str, Projection] = {"none": _PLAIN, "adaptive": Adaptive()}


def projection_for(given: str | Projection) -> Projection:
    """The projection of a name ("none", a row of the table, "adaptive"), or the given one itself.

    Raises ConfigError for an unknown name.
    """
    if not isinstance(given, str):
        return given
    return _NAMED[given] if given in _NAMED else Fixed(given)


def perspective_text(query: Query, extraction: Extraction) -> str:
    """The text of the perspective that a query was written for: as the question words it, where it
    does.
    """
    if extraction.instruction is not None:
        return extraction.instruction
    texts = {perspective.id: perspective.text for perspective in extraction.perspectives}
    return texts.get(query.perspective or "", query.text)


def _projection_of(request: Request, query: Query) -> tuple[Projection, str]:
    """What changes the query's vector, and its name for messages."""
    projection = request.projection if query.perspective is not None else _PLAIN
    return projection, f"projection {type(projection).__name__}"


def _projection_texts(request: Request, extraction: Extraction, query: Query) -> list[str]:
    """The further texts whose vectors the query's projection needs; none where it fails."""
    projection, name = _projection_of(request, query)
    try:
        texts = list(projection.texts(query, extraction))
        if not all(isinstance(text, str) for text in texts):
            raise TypeError(f"expected texts, got {texts!r:.200}")
        return texts
    except Exception as error:
        degrade("project", f"{name} asked for no texts: {error!r}", error)
        return []


def _project(request: Request, extraction: Extraction, query: Query) -> Projected | None:
    """The query's vector as its perspective changes it, its own where the projection fails; None
    where the store searches by text.
    """
    own = request.vectors.get(query.text)
    if own is None:
        return None
    projection, name = _projection_of(request, query)
    try:
        projected = projection.query_vector(query, extraction, request.vectors)
        vector = as_vector(projected.vector, f"the vector of {name}", size=own.size)
    except Exception as error:
        problem = f"{name} failed, {query.text!r} is searched as it is: {error!r}"
        degrade("project", problem, error)
        return Projected(own)
    if projected.problem:
        degrade("project", f"{projected.problem} (query {query.text!r})")
    return replace(projected, vector=vector)


def _rerank(request: Request, ranking: Ranking, projected: Projected | None) -> Flow[Ranking]:
    """The ranking in the exact order of its projection, without a further search.

    The store is asked for the vectors of hits that came without. Hits that have none stay behind
    the others in their old order, without a score. A projection that fails changes no order.
    """
    if projected is None or not projected.reranks:
        return ranking
    found = [Candidate(hit.passage, 0.0, embedding=hit.embedding) for hit in ranking.hits]
    placed = yield from with_embeddings(request, found)
    hits = [replace(h, embedding=c.embedding) for h, c in zip(ranking.hits, placed, strict=True)]
    known = [hit for hit in hits if hit.embedding is not None]
    width = len(projected.vector)
    rows = np.array([hit.embedding for hit in known]).reshape(len(known), width)
    ordered: Sequence[Hit] = ranking.hits
    try:
        outcome = request.projection.rerank(projected, rows)
        if outcome.scores is not None:
            scores = as_vector(outcome.scores, "the scores", size=len(known))
            order = np.argsort(-scores, kind="stable")
            best = [replace(known[i], score=float(scores[i])) for i in order]
            others = [replace(hit, score=None) for hit in hits if hit.embedding is None]
            ordered = [*best, *others]
    except Exception as error:
        _, name = _projection_of(request, ranking.query)
        problem = f"{name} failed, the order of the search stays: {error!r}"
        degrade("project", problem, error)
        outcome = Reranked(None)
    if outcome.decision is not None:
        note(decision={"stage": "project", "query": ranking.query.text, **outcome.decision})
    return replace(ranking, hits=tuple(ordered[: max(request.options.k, request.options.fetch_k)]))


# Vectors


def embed_queries(request: Request, embedder: Embedder, texts: Sequence[str]) -> Flow[None]:
    """Adds a vector for each text to ``request.vectors``; the new ones come from one call.

    Raises what the embedder raises, and ConfigError for vectors that cannot be used.
    """
    new = [text for text in dict.fromkeys(texts) if text not in request.vectors]
    if not new:
        return
    reply = yield from call(
        "embed", embedder.embed_queries, new, counts={"embedded_texts": len(new)}
    )
    if reply.error is not None:
        raise reply.error
    name = f"the query vectors of embedder {type(embedder).__name__}"
    rows = _rows_for(new, reply.value, name, columns=width_of(request))
    for text, row in zip(new, rows, strict=True):
        request.vectors[text] = row
        if not np.any(row):
            problem = f"the vector of {text[:80]!r} is all zeros: it is near to nothing"
            degrade("embed", problem)


def width_of(request: Request) -> int | None:
    """The dimensions of the queries' vectors, where there are any."""
    return next((len(vector) for vector in request.vectors.values()), None)


def embed_passages(
    embedder: Embedder,
    passages: Sequence[Passage],
    near: Vector | None = None,
    *,
    about: str = "",
    columns: int | None = None,
) -> Flow[Matrix | None]:
    """A vector for each passage with its title, shape (n, d), of ``columns`` dimensions where that
    is given, from one call; None where it failed, which is recorded.

    A long passage has that of its piece nearest to ``near`` (None: of its first); a title counts
    where it has a word of what is asked ``about``.
    """
    cut = [titled_pieces(passage, about) for passage in passages]
    texts = list(dict.fromkeys(piece for pieces in cut for piece in pieces))
    reply = yield from call(
        "embed", embedder.embed_passages, texts, counts={"embedded_texts": len(texts)}
    )
    problem = reply.error
    if problem is None:
        try:
            name = f"the passage vectors of embedder {type(embedder).__name__}"
            rows = _rows_for(texts, reply.value, name, columns=columns)
            position = {text: i for i, text in enumerate(texts)}
            chosen = [_nearest([position[each] for each in pieces], rows, near) for pieces in cut]
            ordered: Matrix = rows[chosen]
            return ordered
        except ConfigError as error:
            problem = error
    degrade("embed", f"{len(texts)} candidates could not be embedded", problem)
    return None


def _nearest(places: Sequence[int], rows: Matrix, near: Vector | None) -> int:
    if near is None or len(places) == 1 or rows.shape[1] != len(near):
        return places[0]
    return places[int(np.argmax(cosine(rows[list(places)], np.asarray(near)[None, :])[:, 0]))]


def nearness(
    embedder: Embedder, question: str, asked: Matrix, passages: Sequence[Passage]
) -> NDArray[np.float64]:
    """The cosine of each passage to the question, whose vector is ``asked`` (1, d), shape (n,): of
    a long one that of its nearest piece. Raises what the embedder raises.
    """
    cut = [titled_pieces(passage, question) for passage in passages]
    pieces = [piece for each in cut for piece in each]
    rows = np.asarray(embedder.embed_passages(pieces), dtype=float)
    result = np.full(len(passages), -np.inf)
    owners = np.repeat(np.arange(len(passages)), [len(each) for each in cut])
    np.maximum.at(result, owners, cosine(rows, asked)[:, 0])
    return result


def with_embeddings(
    request: Request,
    candidates: Sequence[Candidate],
    near: Vector | None = None,
    *,
    about: str = "",
) -> Flow[list[Candidate]]:
    """The candidates with their vectors: from the hits, else from the store in one call, else
    embedded in one batch, as ``embed_passages`` does.

    A candidate without a vector keeps None, and that is recorded.
    """
    placed = yield from with_stored_embeddings(request, candidates)
    missing = [i for i, c in enumerate(placed) if c.embedding is None]
    if not missing or request.embedder is None:
        return placed
    passages = [placed[i].passage for i in missing]
    stored = next((len(c.embedding) for c in placed if c.embedding is not None), None)
    columns = width_of(request) or stored
    rows = yield from embed_passages(request.embedder, passages, near, about=about, columns=columns)
    for i, row in zip(missing, rows if rows is not None else [], strict=False):
        placed[i] = replace(placed[i], embedding=row)
    return placed


def with_stored_embeddings(
    request: Request, candidates: Sequence[Candidate]
) -> Flow[list[Candidate]]:
    """The candidates with the vectors that came with the hits or that the store keeps: one call.

    Vectors of another width than the queries' (without queries: than most) are left out, and that
    is recorded.
    """
    store, result = request.store, list(candidates)
    name = type(store).__name__
    missing = [i for i, c in enumerate(result) if c.embedding is None]
    if missing and isinstance(store, KeepsEmbeddings):
        passages = [result[i].passage for i in missing]
        bound = bool(getattr(store, "thread_bound", False))
        (reply,) = yield [Call("vectors", store.embeddings_of, (passages,), in_caller=bound)]
        problem = reply.error
        if problem is None:
            try:
                for i, row in zip(missing, _rows_of(reply.value, len(missing)), strict=True):
                    if np.isfinite(row).all():
                        result[i] = replace(result[i], embedding=row)
            except ConfigError as error:
                problem = error
        if problem is not None:
            degrade("vectors", f"{name} could not return its vectors", problem)
    sizes = Counter(len(c.embedding) for c in result if c.embedding is not None)
    width = width_of(request) or max(sizes, key=lambda size: sizes[size], default=0)
    others = [
        i for i, c in enumerate(result) if c.embedding is not None and len(c.embedding) != width
    ]
    for i in others:
        result[i] = replace(result[i], embedding=None)
    if others:
        found = ", ".join(str(size) for size in sorted(sizes) if size != width)
        said = f"{len(others)} vectors of {name} have {found} dimensions instead of {width}"
        degrade("vectors", f"{said}: left out")
    return result


def matrix_of(rows: Sequence[Any]) -> Matrix:
    """Makes an array of the vectors that a store has for passages.

    Args:
        rows: n vectors of the same length d; None where the store has none.

    Returns:
        Shape (n, d), NaN for None; (n, 1) where there is no vector at all.
    """
    width = next((len(row) for row in rows if row is not None), 1)
    result: Matrix = np.full((len(rows), width), np.nan)
    for index, row in enumerate(rows):
        if row is not None:
            result[index] = row
    return result


def scored_hits(passages: Sequence[Passage], rows: Matrix, vector: Vector) -> list[Hit]:
    """Makes hits with vectors and cosines, for a store whose vectors are at hand.

    Args:
        passages: n passages.
        rows: Their vectors, shape (n, d); a passage whose row is not finite gets neither vector nor
            score.
        vector: The query's vector, shape (d,).

    Returns:
        A hit for each passage, in their order.
    """
    known = np.asarray(np.isfinite(rows).all(axis=1))
    scores = np.full(len(rows), np.nan)
    if known.any():
        scores[known] = cosine(rows[known], np.asarray(vector)[None, :])[:, 0]
    return [
        Hit(passage, float(score), row) if there else Hit(passage)
        for passage, score, row, there in zip(passages, scores, rows, known, strict=True)
    ]


def _rows_for(
    texts: Sequence[str], values: Any, name: str, *, columns: int | None = None
) -> Matrix:
    rows = as_matrix(values, name, columns=columns)
    if len(rows) != len(texts):
        raise ConfigError(f"{name}: got {len(rows)} rows for {len(texts)} texts")
    return rows


def _rows_of(values: Any, count: int) -> Matrix:
    """A store's rows, shape (count, d), NaN where it has none; raises ConfigError for others."""
    try:
        rows: Matrix = np.asarray(values)
        rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
    except Exception as error:  # whatever the value's own conversion raises
        raise ConfigError(f"expected {count} rows of numbers: {error}") from error
    if rows.ndim != 2 or len(rows) != count:
        raise ConfigError(f"expected {count} rows, got shape {rows.shape}")
    return rows
