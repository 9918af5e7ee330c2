"""The mistakes of a plain program: each marked line holds one."""

from __future__ import annotations

from perspective_rag import (
    CallableExtractor,
    CallableJudge,
    Corpus,
    LLMExtractor,
    NumpyStore,
    OnnxMiniLM,
    Passage,
    Perspective,
    PerspectivePipeline,
    PipelineOptions,
    local_pipeline,
)

QUESTION = "Should zoos be closed?"
store, embedder = NumpyStore([], []), OnnxMiniLM()
pipeline = PerspectivePipeline(store, embedder=embedder)


def decide(perspectives: list[Perspective], passages: list[Passage]) -> list[list[float]]:
    return [[0.5 for _ in perspectives] for _ in passages]


PerspectivePipeline(store, embedder=embedder, fetchk=30)  # wrong: an option's name
PerspectivePipeline(store, embedder=embedder, k="5")  # wrong: a string for a number
PerspectivePipeline(store, embedder=embedder, projection="papp")  # wrong: no such projection
PerspectivePipeline(store, embedder=embedder, judge=decide)  # wrong: a function is no judge
PerspectivePipeline(search=store)  # wrong: no store
pipeline.retrieve(QUESTION, coverage="always")  # wrong: no such policy
pipeline.retrieve(QUESTION, perspective=["Zoos help"])  # wrong: perspectives is meant
pipeline.request(QUESTION, strict="yes")  # wrong: a string for a bool
PipelineOptions(fusion="sum")  # wrong: no such fusion
PipelineOptions().override(mmr_lamda=0.5)  # wrong: an option's name
PipelineOptions().override(coverage="some")  # wrong: no such policy
local_pipeline(Corpus([]), densely=True)  # wrong: dense is meant
local_pipeline(Corpus([]), judge_k=2.5)  # wrong: a float for an int
LLMExtractor("gpt")  # wrong: a name is no LLM
CallableJudge(decide, threshold="0.5")  # wrong: a string for a number
CallableExtractor(decide)  # wrong: a function of two arguments
