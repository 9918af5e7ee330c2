"""The sentence of a listed passage that supports its perspective best."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from perspective_rag.answer.reported import is_reported
from perspective_rag.answer.sentences import overlaps, proving, quotable
from perspective_rag.flow.request import degrade
from perspective_rag.flow.steps import Flow
from perspective_rag.judge.support import read_passages
from perspective_rag.protocols import Judge
from perspective_rag.text import text_key
from perspective_rag.types import Matrix, Passage, RetrievalResult


def supporting_sentences(
    judge: Judge | None, result: RetrievalResult
) -> Flow[dict[tuple[int, str], str]]:
    """By a listed candidate's place and the perspective's id: the sentence to show first, in the
    passage's words with single spaces and without what looks like a citation.

    Where the judge that listed it quoted its proof, the sentence that holds it. Else the judge
    reads each sentence alone; where it cannot, shared words rank them. A sentence that only reports
    a position, or repeats the perspective, stands after the others. A judge that fails is recorded.
    """
    if not result.coverage.listed.any():
        return {}
    listed = result.coverage.listed.copy()
    proved: dict[tuple[int, str], str] = {}
    for place, column in np.argwhere(listed).tolist():
        name = result.perspectives[column].id
        if held := proving(result.candidates[place], name):
            proved[place, name] = held[0]
            listed[place, column] = False
    sentences = quotable(result.candidates, np.flatnonzero(listed.any(axis=1)).tolist())
    judged: Matrix = np.full((len(sentences), len(result.perspectives)), np.nan)
    if judge is not None and sentences:
        alone = []
        for number, each in enumerate(sentences):
            candidate = result.candidates[min(each.holders)]
            whole = candidate.passage
            passage = Passage(f"{whole.id}#{number}", each.text, whole.metadata)
            alone.append(replace(candidate, passage=passage, support={}, embedding=None))
        exclusive = result.coverage.contradicts is not None
        try:
            judged = yield from read_passages(
                judge,
                result.perspectives,
                alone,
                exclusive=exclusive and bool(np.any(result.coverage.contradicts)),
                scale=result.coverage.scale,
            )
        except Exception as error:
            message = "the judge failed; shared words choose the sentence that is marked"
            degrade("answer", message, error)
    found: dict[tuple[int, str], tuple[float, str]] = {}
    for column, perspective in enumerate(result.perspectives):
        near = overlaps(perspective.text, sentences)
        for row, sentence in enumerate(sentences):
            known = judged[row, column]
            score = near[row] if np.isnan(known) else float(known) + 1e-3 * near[row]
            score -= 2.0 * is_reported(sentence.text)
            score -= 1.0 * (text_key(perspective.text) == text_key(sentence.text))
            for place, text in sentence.holders.items():
                key = place, perspective.id
                if listed[place, column] and (key not in found or found[key][0] < score):
                    found[key] = score, text
    return {**proved, **{key: text for key, (_, text) in found.items()}}
