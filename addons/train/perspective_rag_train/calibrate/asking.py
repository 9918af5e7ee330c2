"""What a corpus gives for questions: candidates, their cosines, and what the judge says of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perspective_rag import Candidate, ConfigError, Passage, Perspective, PerspectivePipeline
from perspective_rag.addons import (
    Limits,
    Recorder,
    RelevanceFloor,
    nearness,
    read_passages,
    run,
    split_sentences,
)
from perspective_rag.extend import Embedder, Judge, Matrix
from perspective_rag_train.calibrate.fit import Floats, Scale, scale_of
from perspective_rag_train.calibrate.marks import Row

DEPTH = 25
"""Passages looked at for each question, as many as a pipeline judges by default."""
PROBES = 40
"""Questions, or sentences in their place, from which two encoders are compared."""
_LEAST_WORDS, _MOST_WORDS = 6, 30


@dataclass(frozen=True, slots=True)
class TwoSided:
    """A question and its two sides, which contradict each other."""

    text: str
    sides: tuple[Perspective, Perspective]


def found(pipeline: PerspectivePipeline, question: TwoSided) -> list[Candidate]:
    """The best candidates for a question, unjudged."""
    result = pipeline.retrieve(question.text, perspectives=question.sides, k=DEPTH, coverage="off")
    return list(result.candidates)


def judged(
    judge: Judge,
    sides: tuple[Perspective, Perspective],
    candidates: Sequence[Candidate],
    scale: RelevanceFloor,
) -> Matrix:
    """P(support) of both sides, shape (n, 2); raises what the judge raises and JudgeError for any
    pair that it could not judge.
    """
    flow = read_passages(judge, sides, candidates, exclusive=True, scale=scale)
    return run(flow, Recorder(strict=True), Limits(timeout=None))


def sentences_of(passages: Sequence[Passage], *, seed: int) -> list[tuple[str, str]]:
    """Sentences of the corpus to search with in place of questions, each with its passage's id."""
    generator = random.Random(seed)
    order = generator.sample(range(len(passages)), min(len(passages), 4 * PROBES))
    probes = []
    for place in order:
        whole = [
            each
            for each in split_sentences(passages[place].text)
            if _LEAST_WORDS <= len(each.split()) <= _MOST_WORDS
        ]
        if whole:
            probes.append((generator.choice(whole), passages[place].id))
    return probes[:PROBES]


def compared(
    pipeline: PerspectivePipeline,
    probes: Sequence[tuple[str, str]],
    packaged: Embedder,
    *,
    seed: int,
) -> Scale:
    """The packaged encoder's floor on the scale of the pipeline's encoder, from what both say of
    the passages found for the probes (the passage that a probe comes from is left out).

    Raises ConfigError where too little is found.
    """
    own, of_packaged, place = [], [], []
    for number, (probe, source) in enumerate(probes):
        result = pipeline.retrieve(probe, perspectives=(), k=DEPTH, coverage="off")
        kept = [c for c in result.candidates if c.passage.id != source]
        kept = [c for c in kept if "relevance" in c.scores]
        if not kept:
            continue
        own += [c.scores["relevance"] for c in kept]
        of_packaged += cosines(packaged, probe, kept).tolist()
        place += [number] * len(kept)
    if len(set(place)) < 5:
        raise ConfigError(
            f"only {len(set(place))} of {len(probes)} searches found other passages: the encoder "
            "cannot be compared on so small a corpus"
        )
    return scale_of(np.array(own), np.array(of_packaged), np.array(place), seed=seed)


def cosines(embedder: Embedder, question: str, candidates: Sequence[Candidate]) -> Floats:
    """The cosine of each candidate, with its title, to the question, shape (n,)."""
    asked = np.asarray(embedder.embed_queries([question]), dtype=float)
    return nearness(embedder, question, asked, [c.passage for c in candidates])


def marked_candidates(embedder: Embedder, question: str, rows: Sequence[Row]) -> list[Candidate]:
    """The passages of marked rows of one question as candidates, with their cosine to it."""
    plain = [Candidate(row.passage, 0.0) for row in rows]
    near = cosines(embedder, question, plain)
    return [
        Candidate(each.passage, value, {"relevance": value})
        for each, value in zip(plain, near.tolist(), strict=True)
    ]
