"""An answer made of sentences of the passages, without a language model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from perspective_rag.checks import count
from perspective_rag.flow import Flow, degrade
from perspective_rag.judging import in_range
from perspective_rag.protocols import Judge
from perspective_rag.sentences import split_sentences, text_key, words
from perspective_rag.types import (
    Answer,
    Candidate,
    Claim,
    Matrix,
    Passage,
    Perspective,
    RetrievalResult,
)

# Fewer words than this are a heading or a fragment.
_LEAST_WORDS = 4
_OPENING = "\"'“‘«([「『（"


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence and every passage that holds it."""

    text: str
    passages: tuple[Passage, ...]

    def source(self, support: Mapping[str, float]) -> Passage | None:
        """The passage with the most support, or None when no passage has any."""
        held = [passage for passage in self.passages if passage.id in support]
        return max(held, key=lambda passage: support[passage.id], default=None)


class ExtractiveAnswerer:
    """Quotes, for each perspective, the ``sentences`` sentences that support it best.

    They come from the passages that support it. With a ``judge`` each sentence is judged; without
    one the passage's support and the words shared with the perspective rank it. The judge has the
    say on further sentences: only the first of a perspective may stay below its threshold.
    """

    def __init__(self, judge: Judge | None = None, *, sentences: int = 2) -> None:
        self.judge = judge
        self.sentences = count("sentences", sentences)

    def answer(self, result: RetrievalResult) -> Flow[Answer]:
        """One claim a sentence, as it stands in the passage it cites; no sentence is used twice.

        Perspectives that no passage supports are ``unsupported``. Without perspectives, or where no
        judge looked at the passages, the claims are what fits the question best. A judge that fails
        is recorded. The caller adds the trace.
        """
        if not result.perspectives or result.coverage is None:
            return Answer(self._best_for_question(result))
        supporting = {p.id: result.supporting(p) for p in result.perspectives}
        asked = [p for p in result.perspectives if supporting[p.id]]
        unsupported = tuple(p for p in result.perspectives if not supporting[p.id])
        if not asked:
            return Answer((), unsupported)
        sentences = _sentences(c for p in asked for c in supporting[p.id])
        judged = yield from self._judged(asked, sentences)
        support = [{c.passage.id: c.support[p.id] for c in supporting[p.id]} for p in asked]
        scores = np.full((len(asked), len(sentences)), -np.inf)
        for i, perspective in enumerate(asked):
            overlaps = _overlaps(perspective.text, sentences)
            for j, sentence in enumerate(sentences):
                if source := sentence.source(support[i]):
                    unjudged = np.isnan(judged[j, i])
                    known = support[i][source.id] if unjudged else judged[j, i]
                    scores[i, j] = known + overlaps[j] * (1.0 if unjudged else 1e-3)
        claims: list[Claim] = []
        for i, picks in enumerate(self._assign(scores, judged.T)):
            sources = [(sentences[j].text, sentences[j].source(support[i])) for j in picks]
            claims += [Claim(text, (p.id,), asked[i].id) for text, p in sources if p is not None]
        left_out = [p.id for p in asked if p.id not in {claim.perspective for claim in claims}]
        if left_out:
            message = f"every sentence for {', '.join(left_out)} already stands for another"
            yield from degrade("answer", message)
        return Answer(tuple(claims), unsupported)

    def _best_for_question(self, result: RetrievalResult) -> tuple[Claim, ...]:
        sentences = _sentences(result.candidates)
        rank = {c.passage.id: i for i, c in enumerate(result.candidates)}
        overlaps = _overlaps(result.question, sentences)
        first = [sentence.passages[0].id for sentence in sentences]
        scores = [o + 1 / (1 + rank[id]) for o, id in zip(overlaps, first, strict=True)]
        order = sorted(range(len(sentences)), key=lambda j: -scores[j])[: self.sentences]
        return tuple(Claim(sentences[j].text, (first[j],)) for j in order)

    def _judged(
        self, perspectives: Sequence[Perspective], sentences: Sequence[_Sentence]
    ) -> Flow[Matrix]:
        shape = (len(sentences), len(perspectives))
        unknown: Matrix = np.full(shape, np.nan)
        if self.judge is None:
            return unknown
        passages = [
            Passage(f"{s.passages[0].id}#{i}", s.text, s.passages[0].metadata)
            for i, s in enumerate(sentences)
        ]
        try:
            judged = yield from self.judge.judge(perspectives, passages)
            return in_range(judged, shape, self.judge.name)
        except Exception as error:
            yield from degrade("answer", "the judge failed; shared words rank sentences", error)
            return unknown

    def _assign(self, scores: Matrix, judged: Matrix) -> list[list[int]]:
        """Sentences for each row: first one for every row that can have one, then the rest."""
        owner = _matched(scores)
        chosen: list[list[int]] = [[] for _ in scores]
        for sentence, row in owner.items():
            chosen[row].append(sentence)
        least = self.judge.threshold if self.judge else -np.inf
        order = np.argsort(-scores, axis=None, kind="stable")
        for row, sentence in zip(*np.unravel_index(order, scores.shape), strict=True):
            weak = judged[row, sentence] < least
            full = len(chosen[row]) >= self.sentences
            if not (full or weak or sentence in owner or np.isneginf(scores[row, sentence])):
                owner[int(sentence)] = int(row)
                chosen[row].append(int(sentence))
        rows = zip(chosen, scores, strict=True)
        return [sorted(picks, key=lambda j: -row[j]) for picks, row in rows]


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


def _sentences(candidates: Iterable[Candidate]) -> list[_Sentence]:
    """The distinct sentences of passages; fragments only from a passage that has nothing else."""
    found: dict[str, tuple[str, list[Passage]]] = {}
    for passage in {c.passage.id: c.passage for c in candidates}.values():
        texts = split_sentences(passage.text)
        whole = [text for text in texts if _is_whole(text)]
        for text in whole or texts:
            if key := text_key(text):
                found.setdefault(key, (" ".join(text.split()), []))[1].append(passage)
    return [_Sentence(text, tuple(holders)) for text, holders in found.values()]


def _is_whole(text: str) -> bool:
    starts = not text.lstrip(_OPENING)[:1].islower()
    ends = not text[-1].isalnum() and text[-1] not in ",;:-–—"
    return starts and ends and len(words(text)) >= _LEAST_WORDS


def _overlaps(target: str, sentences: Sequence[_Sentence]) -> list[float]:
    """The share of the target's words in each sentence, rarer words counting more."""
    bags = [frozenset(words(sentence.text)) for sentence in sentences]
    frequency = Counter(word for bag in bags for word in bag)
    weights = {word: 1.0 / (1 + frequency[word]) for word in set(words(target))}
    total = sum(weights.values()) or 1.0
    return [sum(w for word, w in weights.items() if word in bag) / total for bag in bags]
