"""A program as a user writes it; every line of it is right."""

from __future__ import annotations

import asyncio

from typing_extensions import Unpack

from perspective_rag import (
    CallableExtractor,
    CallableJudge,
    Corpus,
    NumpyStore,
    OnnxMiniLM,
    Passage,
    Perspective,
    PerspectivePipeline,
    PipelineOptions,
    RetrievalResult,
    local_pipeline,
)
from perspective_rag.extend import Embedder, Flow, Judge, Matrix, Options, Reply, Store, call

PASSAGES = [Passage("a", "Zoos save species."), Passage("b", "Zoos are prisons.")]


def decide(perspectives: list[Perspective], passages: list[Passage]) -> list[list[float]]:
    return [[0.9 if p.text in d.text else 0.1 for p in perspectives] for d in passages]


async def sides(question: str) -> list[str]:
    return [f"Yes: {question}", f"No: {question}"]


def search(question: str, **options: Unpack[Options]) -> RetrievalResult:
    embedder: Embedder = OnnxMiniLM()
    store: Store = NumpyStore(PASSAGES, embedder.embed_passages([p.text for p in PASSAGES]))
    judge: Judge = CallableJudge(decide, name="words", threshold=0.5)
    extractor = CallableExtractor(sides)
    defaults = PipelineOptions(k=2, projection="pap").override(fusion="round-robin")
    pipeline = PerspectivePipeline(
        store, embedder=embedder, judge=judge, extractor=extractor, options=defaults, k=2
    )
    asyncio.run(pipeline.aretrieve(question, coverage="annotate", timeout=None))
    return pipeline.retrieve(question, perspectives=["Zoos help", "Zoos harm"], **options)


def ask(stage: str) -> Flow[Matrix]:
    reply: Reply = yield from call(stage, OnnxMiniLM().embed_passages, ["a text"])
    found: Matrix = reply.value
    return found


found = search("Should zoos be closed?", lambda_mult=0.5, fetch_k=20)
local = local_pipeline(Corpus(PASSAGES), dense=True, mmr_lambda=0.7)
print([candidate.score for candidate in found.candidates], local.retrieve("Zoos?").to_dict())
