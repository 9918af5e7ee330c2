"""An answer made of sentences of the passages, without a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from perspective_rag.answer.citations import citation_keys
from perspective_rag.answer.reported import is_reported
from perspective_rag.answer.sentences import (
    Sentence,
    argues,
    demands,
    nearest,
    overlaps,
    proving,
    restates,
    shares_topic,
    stands_alone,
    tellable,
    tells,
)
from perspective_rag.answer.standing import standing
from perspective_rag.errors import count
from perspective_rag.flow.request import degrade, note
from perspective_rag.flow.steps import Flow
from perspective_rag.judge.support import pair_judge, read_passages
from perspective_rag.protocols import Judge
from perspective_rag.text import split_sentences, text_key
from perspective_rag.types import (
    Answer,
    Candidate,
    Claim,
    Coverage,
    Matrix,
    Passage,
    RetrievalResult,
)

MOST_JUDGED = 300
"""Sentences that are judged: those of very long passages would be thousands."""

SHORT = 35
"""Words of a sentence that can lead a side."""

# What a sentence loses in rank; from _POOR on it is not added to its side's best one.
_POOR = 0.65
_LONG, _JOINED, _ASKS, _OFF, _NO_REASON, _DEMAND, _TELLS = 0.2, 0.2, 0.3, 0.2, 0.4, 0.3, 0.7
_UNSURE, _RESTATES, _DANGLES, _REPORTED = 1.0, 1.5, 2.5, 4.0


class ExtractiveAnswerer:
    """Quotes, for each perspective, the sentences that support it best.

    They come from the passages listed under it, each as it can stand alone (``tellable``); those
    that hold the judge's own proofs stand first, and a short one that gives a reason before all.
    What says the perspective over again, points back to what is not quoted, only reports a
    position, tells what happened, or is not listed by itself, is quoted only where its passages
    have nothing else, so that no listed side is blank. Of more than ``MOST_JUDGED`` sentences those
    that share most words with the perspectives are read.

    Args:
        judge: Judges each sentence by itself; without one the passage's support and the words
            shared with the perspective rank it.
        sentences: At most so many a perspective.
        language: Of the passages, by whose rules sentences are cut; how a sentence begins and what
            only reports is told in English alone.
    """

    def __init__(
        self, judge: Judge | None = None, *, sentences: int = 2, language: str = "en"
    ) -> None:
        self.judge = pair_judge(judge)
        self.language = language
        self.sentences = count("sentences", sentences)

    def answer(self, result: RetrievalResult) -> Flow[Answer]:
        """One claim a sentence, in the words of the passage it cites; none is used twice.

        A judge that fails is recorded. The caller adds the trace.

        Args:
            result: What was retrieved and judged.

        Returns:
            The claims; perspectives under which no passage is listed are ``unsupported``. Without
            perspectives, or where no judge looked at the passages, the claim is the sentence that
            fits the question best; where the corpus says nothing about it there is none.
        """
        summary = standing(result)
        if result.says_nothing:
            return Answer((), result.perspectives, summary=summary)
        if not result.perspectives or not result.coverage.judged:
            return Answer(_best_for_question(result, self.language), summary=summary)
        listed = result.coverage.listed
        asked = np.flatnonzero(listed.any(axis=0)).tolist()
        unsupported = tuple(p for j, p in enumerate(result.perspectives) if j not in asked)
        if not asked:
            return Answer((), unsupported, summary=summary)
        places = _by_perspective(result.coverage, asked)
        sentences = tellable(result.candidates, places, self.language)
        if len(sentences) > MOST_JUDGED:
            left = len(sentences) - MOST_JUDGED
            asked_for = [result.perspectives[column].text for column in asked]
            sentences = nearest(asked_for, sentences, MOST_JUDGED)
            verdict = f"{left} sentences that share few words with the perspectives were not read"
            note(decision={"stage": "answer", "verdict": verdict})
        judged = yield from self._judged(result, result.coverage, sentences)
        scores, sources, losses, clear = self._scores(result, result.coverage, sentences, judged)
        keys = citation_keys(result.candidates)
        claims: list[Claim] = []
        texts = [text_key(each.text) for each in sentences]
        assigned = self._assign(scores[:, asked].T, texts)
        for column, picks in zip(asked, assigned, strict=True):
            side = result.perspectives[column].id
            good = [row for row in picks if losses[row, column] < _POOR]
            good.sort(key=lambda row: len(sentences[row].text.split()) > SHORT)
            for row in good or picks[:1]:
                source = int(sources[row, column])
                text = sentences[row].holders[source]
                alone = bool(clear[row, column])
                claims.append(
                    Claim(
                        text,
                        (keys[source],),
                        side,
                        is_reported(text),
                        True if alone else None,
                        "side" if alone else "quoted",
                    )
                )
        left_out = {result.perspectives[j].id: j for j in asked}
        for claim in claims:
            left_out.pop(claim.perspective or "", None)
        for side, column in left_out.items():
            if sentences and np.isneginf(scores[:, column]).all():
                found = {"stage": "answer", "perspective": side, "verdict": "no sentence by itself"}
                note(decision=found)
            else:
                message = f"every sentence for {side} already stands for another"
                degrade("answer", message)
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
            degrade("answer", "the judge failed; shared words rank sentences", error)
            return unknown

    def _scores(
        self,
        result: RetrievalResult,
        coverage: Coverage,
        sentences: Sequence[Sentence],
        judged: Matrix,
    ) -> tuple[Matrix, NDArray[np.int_], Matrix, NDArray[np.bool_]]:
        """How well each sentence speaks for each perspective, which candidate it is quoted from,
        what it lost, and whether by itself it is listed, all (n_sentences, n_perspectives); -inf
        where it cannot be quoted: what by itself is listed under a contradicting perspective.
        """
        clear = coverage.rule.verdicts(judged, coverage.contradicts) == "clear"
        rival = np.zeros_like(clear)
        if coverage.contradicts is not None:
            rival = clear.astype(int) @ coverage.contradicts.astype(int) > 0
        proofs = {
            (place, each.id): [text_key(t) for t in proving(candidate, each.id, self.language)]
            for place, candidate in enumerate(result.candidates)
            for each in result.perspectives
        }
        scores = np.full(judged.shape, -np.inf)
        sources = np.zeros(judged.shape, dtype=int)
        losses = np.zeros(judged.shape)
        for column, perspective in enumerate(result.perspectives):
            near = overlaps(perspective.text, sentences)
            for row, sentence in enumerate(sentences):
                held = [i for i in sentence.holders if coverage.listed[i, column]]
                keys = {i: text_key(sentence.holders[i]) for i in held}
                proves = [i for i in held if any(t in keys[i] for t in proofs[i, perspective.id])]
                unjudged = bool(np.isnan(judged[row, column]))
                if not held or (rival[row, column] and not proves):
                    continue
                strength = coverage.support[:, column]
                sources[row, column] = best = max(proves or held, key=strength.__getitem__)
                known = strength[best] if proves or unjudged else judged[row, column]
                scores[row, column] = known + near[row] * (1.0 if unjudged else 1e-3)
                scores[row, column] += 1.0 * bool(proves)
                text = sentence.holders[best]
                each = split_sentences(text, self.language)
                losses[row, column] = (
                    _LONG * (len(text.split()) // SHORT)
                    + _JOINED * (len(each) > 1)
                    + _ASKS * ("?" in text)
                    + _OFF * (not shares_topic(perspective.text, sentence))
                    + _NO_REASON * (not argues(text))
                    + _DEMAND * demands(text)
                    + _TELLS * tells(text)
                    # The side itself in other words is no argument for it.
                    + _RESTATES * restates(perspective.text, text)
                    + _DANGLES * (not stands_alone(text))
                    + _UNSURE * (not unjudged and not clear[row, column] and not proves)
                    + _REPORTED * any(map(is_reported, each))
                )
                scores[row, column] -= losses[row, column]
        return scores, sources, losses, clear

    def _assign(self, scores: Matrix, texts: Sequence[str]) -> list[list[int]]:
        """Sentences for each row: first one for every row that can have one, then the rest, of
        which none holds another.
        """
        owner = _matched(scores)
        chosen: list[list[int]] = [[] for _ in scores]
        for sentence, row in owner.items():
            chosen[row].append(sentence)
        order = np.argsort(-scores, axis=None, kind="stable")
        for row, sentence in zip(*np.unravel_index(order, scores.shape), strict=True):
            full = len(chosen[row]) >= self.sentences or any(
                texts[sentence] in texts[other] or texts[other] in texts[sentence]
                for other in chosen[row]
            )
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
    sentences = tellable(result.candidates, places, language)
    near = overlaps(result.question, sentences)
    about = [
        (share + 1 / (1 + min(sentence.holders)), -row)
        for row, (share, sentence) in enumerate(zip(near, sentences, strict=True))
        if shares_topic(result.question, sentence) and not restates(result.question, sentence.text)
    ]
    if not about:
        return ()
    best = sentences[-max(about)[1]]
    source = min(best.holders)
    text, cited = best.holders[source], citation_keys(result.candidates)[source]
    return (Claim(text, (cited,), None, is_reported(text), checked="quoted"),)


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

    best = scores.max(axis=1, initial=-np.inf)
    for row in np.argsort(-best, kind="stable").tolist():  # who has a better one is asked first
        place(row, set())
    return owner
