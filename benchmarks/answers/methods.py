"""Ways to answer: plain RAG, the same model over our passages, ours, and without a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from perspective_rag import (
    Answer,
    ExtractiveAnswerer,
    GroundedAnswerer,
    PerspectivePipeline,
    RetrievalResult,
)
from perspective_rag.addons import citation_keys, fence, shorten, split_sentences, text_key
from perspective_rag.answer.answer import ClaimCheck
from perspective_rag.answer.passages import MARK, without_marks
from perspective_rag.extend import LLM
from perspective_rag.prompts import read_prompt

PROMPT = Path(__file__).with_name("plain.txt")
LONGEST = 1500
"""Characters of a passage that a model is shown."""

_LATE = re.compile(r"([.!?])((?:\s*\[\d{1,3}(?:\s*[,;]\s*\d{1,3})*\])+)")


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence of an answer and the ids of the passages that it cites; ``marks`` counts what it
    cites, passages that do not exist among it.
    """

    text: str
    citations: tuple[str, ...]
    marks: int


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer and the passages that it was made from; ``dropped`` counts what did not stand."""

    sentences: tuple[Said, ...]
    result: RetrievalResult
    dropped: int = 0
    failed: bool = False


Method = Callable[[str], Reply]
"""From a question to its answer."""


def methods(
    pipeline: PerspectivePipeline, llm: LLM | None, *, k: int, max_tokens: int
) -> Mapping[str, Method]:
    """The ways by name; those that need a model only where there is one."""
    rows: dict[str, Method] = {"extractive": lambda question: _ours(pipeline, question, k)}
    if llm is None:
        return rows
    model = llm
    template = read_prompt(PROMPT)

    def plainly(result: RetrievalResult) -> Reply:
        texts = [shorten(without_marks(each.text), LONGEST) for each in result.passages]
        prompt = template.fill(question=result.question, passages=fence(texts))
        completion = model.complete(replace(prompt, max_tokens=max_tokens))
        return Reply(sentences(completion.text, citation_keys(result.candidates)), result)

    quotes = ExtractiveAnswerer(pipeline.judge)
    grounded = GroundedAnswerer(llm, max_tokens=max_tokens, fallback=quotes)
    ours = PerspectivePipeline(
        pipeline.store,
        embedder=pipeline.embedder,
        judge=pipeline.judge,
        answerer=grounded,
        options=pipeline.options,
    )
    rows["plain RAG"] = lambda question: plainly(nearest(pipeline, question, k))
    rows["wrapped RAG"] = lambda question: plainly(pipeline.retrieve(question, k=k))
    rows["ours, unchecked"] = lambda question: _ours(ours, question, k, "off")
    rows["ours"] = lambda question: _ours(ours, question, k)
    return rows


def nearest(pipeline: PerspectivePipeline, question: str, k: int) -> RetrievalResult:
    """The k passages nearest to the question, whatever side they take."""
    return pipeline.retrieve(
        question, k=k, coverage="off", coverage_weight=0.0, max_queries=1, guard_searches=0,
        discover=0, judge_k=0,
    )  # fmt: skip


def _ours(
    pipeline: PerspectivePipeline, question: str, k: int, check: ClaimCheck = "drop"
) -> Reply:
    result = pipeline.retrieve(question, k=k)
    answer: Answer = pipeline.answer(result, check_claims=check)
    said = tuple(Said(c.text, c.citations, len(c.citations)) for c in answer.claims)
    messages = [each.message for each in answer.trace.degradations]
    dropped = sum("was dropped" in each for each in messages)
    failed = any("the fallback was used" in each for each in messages)
    return Reply(said, result, dropped, failed)


def sentences(text: str, keys: Sequence[str]) -> tuple[Said, ...]:
    """The sentences of a model's plain text with their citations; a mark behind a full stop cites
    for the sentence before.
    """
    moved = _LATE.sub(lambda found: found[2] + found[1], text)
    made = []
    for each in split_sentences(moved):
        numbers = [int(n) for mark in MARK.findall(each) for n in re.findall(r"\d+", mark)]
        bare = MARK.sub("", each).strip()
        if text_key(bare):
            cited = dict.fromkeys(keys[n - 1] for n in numbers if 1 <= n <= len(keys))
            made.append(Said(bare, tuple(cited), len(set(numbers))))
    return tuple(made)
