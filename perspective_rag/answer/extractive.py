"""Sentences of the passages: an answer made of them, and the one that proves a passage's side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perspective_rag.answer.passages import citation_keys
from perspective_rag.answer.sentences import (
    Sentence,
    argues,
    demands,
    is_reported,
    nearest,
    overlaps,
    proving,
    quotable,
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
from perspective_rag.types import Answer, Claim, Matrix, Passage, RetrievalResult

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
        sentences: Maximum number of sentences for each perspective.
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
        coverage = result.coverage
        asked = np.flatnonzero(coverage.listed.any(axis=0)).tolist()
        unsupported = tuple(p for j, p in enumerate(result.perspectives) if j not in asked)
        if not asked:
            return Answer((), unsupported, summary=summary)
        places: list[int] = []  # those of the first perspective first, strongest first
        for column in asked:
            rows = np.flatnonzero(coverage.listed[:, column])
            places += sorted(rows.tolist(), key=lambda i: -coverage.support[i, column])
        sentences = tellable(result.candidates, places, self.language)
        if len(sentences) > MOST_JUDGED:
            left = len(sentences) - MOST_JUDGED
            asked_for = [result.perspectives[column].text for column in asked]
            sentences = nearest(asked_for, sentences, MOST_JUDGED)
            verdict = f"{left} sentences that share few words with the perspectives were not read"
            note(decision={"stage": "answer", "verdict": verdict})
        judged = yield from _judged_alone(
            self.judge, result, sentences, "the judge failed; shared words rank sentences"
        )
        ranked = self._ranked(result, sentences, judged)
        keys = citation_keys(result.candidates)
        claims: list[Claim] = []
        texts = [text_key(each.text) for each in sentences]
        assigned = self._assign(ranked.scores[:, asked].T, texts)
        for column, picks in zip(asked, assigned, strict=True):
            side = result.perspectives[column].id
            good = [row for row in picks if ranked.losses[row, column] < _POOR]
            good.sort(key=lambda row: len(sentences[row].text.split()) > SHORT)
            for row in good or picks[:1]:
                source = int(ranked.sources[row, column])
                text = sentences[row].holders[source]
                alone = bool(ranked.clear[row, column])
                claims.append(
                    Claim(
                        text,
                        (keys[source],),
                        side,
                        is_reported(text),
                        verified=True if alone else None,
                        checked="side" if alone else "quoted",
                    )
                )
            if picks:
                continue
            if sentences and np.isneginf(ranked.scores[:, column]).all():
                found = {"stage": "answer", "perspective": side, "verdict": "no sentence by itself"}
                note(decision=found)
            else:
                degrade("answer", f"every sentence for {side} already stands for another")
        return Answer(tuple(claims), unsupported, summary=summary)

    def _ranked(
        self, result: RetrievalResult, sentences: Sequence[Sentence], judged: Matrix
    ) -> _Ranked:
        """How well each sentence speaks for each perspective."""
        coverage = result.coverage
        clear = coverage.rule.verdicts(judged, coverage.contradicts) == "clear"
        rival = np.zeros_like(clear)
        if coverage.contradicts is not None:
            rival = clear.astype(int) @ coverage.contradicts.astype(int) > 0
        scores = np.full(judged.shape, -np.inf)
        sources = np.zeros(judged.shape, dtype=int)
        losses = np.zeros(judged.shape)
        for column, perspective in enumerate(result.perspectives):
            near = overlaps(perspective.text, sentences)
            strength = coverage.support[:, column]
            proofs = [
                [text_key(text) for text in proving(candidate, perspective.id, self.language)]
                for candidate in result.candidates
            ]
            for row, sentence in enumerate(sentences):
                held = [i for i in sentence.holders if coverage.listed[i, column]]
                keys = {i: text_key(sentence.holders[i]) for i in held}
                proves = [i for i in held if any(text in keys[i] for text in proofs[i])]
                unjudged = bool(np.isnan(judged[row, column]))
                if not held or (rival[row, column] and not proves):
                    continue
                sources[row, column] = best = max(proves or held, key=strength.__getitem__)
                known = strength[best] if proves or unjudged else judged[row, column]
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
                score = known + near[row] * (1.0 if unjudged else 1e-3) + bool(proves)
                scores[row, column] = score - losses[row, column]
        return _Ranked(scores, sources, losses, clear)

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


@dataclass(frozen=True, slots=True)
class _Ranked:
    """How well each sentence speaks for each perspective, which candidate it is quoted from, what
    it lost, and whether by itself it is listed, all (n_sentences, n_perspectives).

    ``scores`` are -inf where it cannot be quoted: no candidate that holds it is listed, or by
    itself it is listed under a contradicting perspective.
    """

    scores: Matrix
    sources: NDArray[np.int_]
    losses: Matrix
    clear: NDArray[np.bool_]


def _judged_alone(
    judge: Judge | None, result: RetrievalResult, sentences: Sequence[Sentence], failed: str
) -> Flow[Matrix]:
    """P(support) of each sentence by itself, shape (n_sentences, n_perspectives), NaN where nobody
    could say; a judge that fails is recorded as ``failed``.
    """
    unknown: Matrix = np.full((len(sentences), len(result.perspectives)), np.nan)
    if judge is None or not sentences:
        return unknown
    alone = []
    for number, each in enumerate(sentences):
        candidate = result.candidates[min(each.holders)]
        whole = candidate.passage
        passage = Passage(f"{whole.id}#{number}", each.text, whole.metadata)
        alone.append(replace(candidate, passage=passage, support={}, embedding=None))
    contradicts = result.coverage.contradicts
    exclusive = contradicts is not None and bool(contradicts.any())
    scale = result.coverage.scale
    try:
        judged = yield from read_passages(
            judge, result.perspectives, alone, exclusive=exclusive, scale=scale
        )
        return judged
    except Exception as error:
        degrade("answer", failed, error)
        return unknown


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


def supporting_sentences(
    judge: Judge | None, result: RetrievalResult
) -> Flow[dict[tuple[int, str], str]]:
    """By a listed candidate's place and the perspective's id: the sentence to show first, in the
    passage's words with single spaces and without what looks like a citation.

    Where the judge that listed it quoted its proof, the sentence that holds it. Else the judge
    reads each sentence alone; where it cannot, shared words rank them. A sentence that only reports
    a position, or repeats the perspective, stands after the others. A judge that fails is recorded.
    """
    listed = result.coverage.listed.copy()
    proved: dict[tuple[int, str], str] = {}
    for place, column in np.argwhere(listed).tolist():
        name = result.perspectives[column].id
        if held := proving(result.candidates[place], name):
            proved[place, name] = held[0]
            listed[place, column] = False
    if not listed.any():
        return proved
    sentences = quotable(result.candidates, np.flatnonzero(listed.any(axis=1)).tolist())
    message = "the judge failed; shared words choose the sentence that is marked"
    judged = yield from _judged_alone(judge, result, sentences, message)
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
