"""Texts of the caller's own, ordered or judged by the steps of the pipeline that need no search."""

from __future__ import annotations

import copy
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from perspective_rag import (
    CachedEmbedder,
    CascadeJudge,
    ConfigError,
    Hit,
    Passage,
    PerspectivePipeline,
    RetrievalResult,
)
from perspective_rag.extend import as_perspectives
from perspective_rag_serve.failures import Failure


@dataclass(frozen=True, slots=True)
class Chosen:
    """A result over the caller's texts, and the place of each candidate among them."""

    result: RetrievalResult
    places: tuple[int, ...]


async def choose(
    pipeline: PerspectivePipeline,
    question: str,
    texts: Sequence[str],
    *,
    perspectives: Sequence[str] | None = None,
    k: int | None = None,
    every: bool = False,
) -> Chosen:
    """The best ``k`` of the texts (None: all of them, in the order chosen); ``every``: the judge
    reads all that are about the question, not the first few alone.

    Their embeddings are not kept: a client could fill the disk with them. Raises Failure for
    perspectives or a question that cannot be used, and what the pipeline raises.
    """
    mark = uuid.uuid4().hex  # so that no id is that of a passage in the store
    hits = [Hit(Passage(f"{mark}:{place}", text)) for place, text in enumerate(texts)]
    options: dict[str, Any] = {"k": k or len(hits)}
    if every:
        options["judge_k"] = max(len(hits), pipeline.options.judge_k)
    one = _keeping_nothing(pipeline)
    try:
        as_perspectives(perspectives or ())
        one.request(question, **options)
    except ConfigError as error:
        raise Failure(422, "request", str(error)) from error
    result = await one.achoose(question, hits, perspectives=perspectives, **options)
    places = tuple(int(c.passage.id.rpartition(":")[2]) for c in result.candidates)
    return Chosen(result, places)


def _keeping_nothing(pipeline: PerspectivePipeline) -> PerspectivePipeline:
    """The pipeline with a cache of embeddings that is this request's own, in memory."""
    if not isinstance(pipeline.embedder, CachedEmbedder):
        return pipeline
    one = copy.copy(pipeline)
    one.embedder = CachedEmbedder(pipeline.embedder.inner)
    if isinstance(one.judge, CascadeJudge) and one.judge.embedder is pipeline.embedder:
        one.judge = copy.copy(one.judge)
        one.judge.embedder = one.embedder
    return one
