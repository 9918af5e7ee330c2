"""An answer made of sentences of the passages, without a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perspective_rag.answer.citations import citation_keys
from perspective_rag.answer.reported import is_reported
from perspective_rag.answer.sentences import Sentence, nearest, overlaps, quotable, shares_topic
from perspective_rag.answer.standing import standing
from perspective_rag.flow.steps import Flow, aside, characters, degrade, note
from perspective_rag.judge.sides import read_passages
from perspective_rag.protocols import Judge
from perspective_rag.results import Answer, Claim, Coverage, RetrievalResult
from perspective_rag.text import text_key
from perspective_rag.types import Candidate, Matrix, Passage
from perspective_rag.validation import count

MOST_JUDGED = 300
"""Sentences that are judged: those of very long passages would be thousands."""


class ExtractiveAnswerer:
    """Quotes, for each perspective, the ``sentences`` sentences that support it best.

    They come from the passages listed under it. With a ``judge`` each sentence is judged by itself,
    and quoted only where the result's listing rule lists it too; without one the passage's support
    and the words shared with the perspective rank it. A sentence that only reports a position
    stands after those that take it. Of more than ``MOST_JUDGED`` sentences those that share most
    words with the perspectives are read. ``language`` is that of the passages, by whose rules
    sentences are cut; what only reports is told in English alone.
    """

    def __init__(
        self, judge: Judge | None = None, *, sentences: int = 2, language: str = "en"
    ) -> None:
        self.judge = judge
        self.language = language
        self.sentences = count("sentences", sentences)

    def answer(self, result: RetrievalResult) -> Flow[Answer]:
        """One claim a sentence, in the words of the passage it cites; no sentence is used twice,
        nor one that repeats it.

        Perspectives under which no passage is listed are ``unsupported``. Without perspectives, or
        where no judge looked at the passages, the claim is the sentence that fits the question
        best; where the corpus says nothing about the question there is none. A judge that fails is
        recorded. The caller adds the trace.
        """
        size = characters(result.candidates)
        summary = yield from aside(size, standing, result)
        if result.says_nothing or (result.coverage is not None and result.coverage.says_nothing):
            return Answer((), result.perspectives, summary=summary)
        if not result.perspectives or result.coverage is None:
            best = yield from aside(size, _best_for_question, result, self.language)
            return Answer(best, summary=summary)
        listed = result.coverage.listed
        asked = np.flatnonzero(listed.any(axis=0)).tolist()
        unsupported = tuple(p for j, p in enumerate(result.perspectives) if j not in asked)
        if not asked:
            return Answer((), unsupported, summary=summary)
        places = _by_perspective(result.coverage, asked)
        sentences = yield from aside(size, quotable, result.candidates, places, self.language)
        if len(sentences) > MOST_JUDGED:
            left = len(sentences) - MOST_JUDGED
            asked_for = [result.perspectives[column].text for column in asked]
            sentences = yield from aside(size, nearest, asked_for, sentences, MOST_JUDGED)
            verdict = f"{left} sentences that share few words with the perspectives were not read"
            yield from note(decision={"stage": "answer", "verdict": verdict})
        judged = yield from self._judged(result, result.coverage, sentences)
        scores, sources = yield from aside(
            size, self._scores, result, result.coverage, sentences, judged
        )
        keys = citation_keys(result.candidates)
        claims: list[Claim] = []
        assigned = yield from aside(size, self._assign, scores[:, asked].T)
        for column, picks in zip(asked, assigned, strict=True):
            side = result.perspectives[column].id
            for row in picks:
                source = int(sources[row, column])
                text = sentences[row].holders[source]
                claims.append(Claim(text, (keys[source],), side, is_reported(text), True))
        left_out = {result.perspectives[j].id: j for j in asked}
        for claim in claims:
            left_out.pop(claim.perspective or "", None)
        for side, column in left_out.items():
            if sentences and np.isneginf(scores[:, column]).all():
                found = {"stage": "answer", "perspective": side, "verdict": "no sentence by itself"}
                yield from note(decision=found)
            else:
                message = f"every sentence for {side} already stands for another"
                yield from degrade("answer", message)
        return Answer(tuple(claims), unsupported, summary=summary)

    def _judged(
        self, result: RetrievalResult, coverage: Coverage, sentences: Sequence[Sentence]
    ) -> Flow[Matrix]:
        unknown: Matrix = np.full((len(sentences), len(result.perspectives)), np.nan)
        if self.judge is None or not sentences:
            return unknown
        candidates = [
            _alone(result.candidates[min(each.holders)], each.text, number)
            for number, each in enumerate(sentences)
        ]
        exclusive = coverage.contradicts is not None and bool(coverage.contradicts.any())
        try:
            judged = yield from read_passages(
                self.judge,
                result.perspectives,
                candidates,
                exclusive=exclusive,
                scale=coverage.scale,
            )
            return judged
        except Exception as error:
            yield from degrade("answer", "the judge failed; shared words rank sentences", error)
            return unknown

    def _scores(
        self,
        result: RetrievalResult,
        coverage: Coverage,
        sentences: Sequence[Sentence],
        judged: Matrix,
    ) -> tuple[Matrix, np.ndarray[tuple[int, ...], np.dtype[np.int_]]]:
        """How well each sentence speaks for each perspective, and which candidate it is quoted
        from, both (n_sentences, n_perspectives); -inf where it cannot be quoted.
        """
        clear = coverage.rule.verdicts(judged, coverage.contradicts) == "clear"
        scores = np.full(judged.shape, -np.inf)
        sources = np.zeros(judged.shape, dtype=int)
        for column, perspective in enumerate(result.perspectives):
            near = overlaps(perspective.text, sentences)
            for row, sentence in enumerate(sentences):
                held = [i for i in sentence.holders if coverage.listed[i, column]]
                unjudged = bool(np.isnan(judged[row, column]))
                if not held or not (unjudged or clear[row, column]):
                    continue
                sources[row, column] = best = max(held, key=lambda i: coverage.support[i, column])
                known = coverage.support[best, column] if unjudged else judged[row, column]
                scores[row, column] = known + near[row] * (1.0 if unjudged else 1e-3)
                scores[row, column] -= 2.0 * is_reported(sentence.text)
                # The side itself in other words is no argument for it.
                scores[row, column] -= 1.0 * _repeats(perspective.text, sentence.text)
        return scores, sources

    def _assign(self, scores: Matrix) -> list[list[int]]:
        """Sentences for each row: first one for every row that can have one, then the rest."""
        owner = _matched(scores)
        chosen: list[list[int]] = [[] for _ in scores]
        for sentence, row in owner.items():
            chosen[row].append(sentence)
        order = np.argsort(-scores, axis=None, kind="stable")
        for row, sentence in zip(*np.unravel_index(order, scores.shape), strict=True):
            full = len(chosen[row]) >= self.sentences
            if not (full or sentence in owner or np.isneginf(scores[row, sentence])):
                owner[int(sentence)] = int(row)
                chosen[row].append(int(sentence))
        rows = zip(chosen, scores, strict=True)
        return [sorted(picks, key=lambda j: -row[j]) for picks, row in rows]


def _by_perspective(coverage: Coverage, asked: Sequence[int]) -> list[int]:
    """The places of the listed candidates, those of the first perspective first, strongest first.

    A candidate may be there twice.
    """
    found = []
    for column in asked:
        rows = np.flatnonzero(coverage.listed[:, column]).tolist()
        found += sorted(rows, key=lambda i: -coverage.support[i, column])
    return found


def _alone(candidate: Candidate, text: str, number: int) -> Candidate:
    """One sentence of a candidate as a candidate of its own, to be judged."""
    passage = candidate.passage
    alone = Passage(f"{passage.id}#{number}", text, passage.metadata)
    return replace(candidate, passage=alone, support={}, embedding=None)


def _best_for_question(result: RetrievalResult, language: str) -> tuple[Claim, ...]:
    """The sentence nearest to the question, where any is about it."""
    related = result.related
    places = [i for i in range(len(result.candidates)) if related is None or related[i]]
    sentences = quotable(result.candidates, places, language)
    near = overlaps(result.question, sentences)
    about = [
        (share + 1 / (1 + min(sentence.holders)), -row)
        for row, (share, sentence) in enumerate(zip(near, sentences, strict=True))
        if shares_topic(result.question, sentence) and not _repeats(result.question, sentence.text)
    ]
    if not about:
        return ()
    best = sentences[-max(about)[1]]
    source = min(best.holders)
    text, cited = best.holders[source], citation_keys(result.candidates)[source]
    return (Claim(text, (cited,), None, is_reported(text), True),)


def _repeats(question: str, text: str) -> bool:
    return text_key(question) == text_key(text)


def _matched(scores: Matrix) -> dict[int, int]:
    """One sentence for as many rows as possible (augmenting paths), each row's best first."""
    owner: dict[int, int] = {}

    def place(row: int, tried: set[int]) -> bool:
        for sentence in np.argsort(-scores[row], kind="stable").tolist():
            if sentence in tried or np.isneginf(scores[row, sentence]):
                continue
            tried.add(sentence)
            if sentence not in owner or place(owner[sentence], tried):
                owner[sentence] = row
                return True
        return False

    for row in range(len(scores)):
        place(row, set())
    return owner
