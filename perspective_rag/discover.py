"""Perspectives that the passages take, for a question whose wording names none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perspective_rag.errors import JudgeError
from perspective_rag.extract.english import upper_first
from perspective_rag.extract.negation import SUBORDINATORS, main_verb
from perspective_rag.extract.rules import as_perspectives, both_sides
from perspective_rag.flow import Flow, degrade
from perspective_rag.judging import in_range
from perspective_rag.merge import merge
from perspective_rag.ordering import order_by_relevance
from perspective_rag.protocols import Embedder, Judge, Store
from perspective_rag.request import Request
from perspective_rag.search import embed_passages, embed_queries, search_all
from perspective_rag.sentences import split_sentences, text_key
from perspective_rag.types import Extraction, Passage, Query, Vector
from perspective_rag.vectors import cosine

PASSAGES = 30
STATEMENTS = 14
OPPOSED = 0.7
_WORDS = range(5, 36)
# What a sentence that begins so is about stands in the sentence before it.
_POINTS_BACK = re.compile(
    r"^(?:this|that|these|those|it|its|they|their|them|he|him|his|she|her|such|as|here|there|we|our"
    r"|what)$",
    re.IGNORECASE,
)
_PERSONAL = frozenset("i me my mine you your yours".split())
_REASON = re.compile(
    r"\s*(?:[:;–—]|,? because\b|,? so that\b|,? for the same reason\b).*$",
    re.IGNORECASE | re.DOTALL,
)
_LINK = re.compile(
    r"^(?:and|but|so|yet|or|however|therefore|thus|hence|moreover)\b,?\s+", re.IGNORECASE
)


def discovered(
    request: Request,
    store: Store,
    embedder: Embedder | None,
    judge: Judge,
    extraction: Extraction,
) -> Flow[Extraction]:
    """The extraction with at most ``discover`` statements of the passages as its perspectives, each
    against what the others say; as it was where the question is settled.

    A search for the question finds passages. The first perspective is the sentence s nearest to the
    question, among the nearest of each of the best ``PASSAGES`` passages. Every further one
    maximises

        r_s (1 - prod over chosen t of (1 - max(P(s opposes t), P(t opposes s))))

    over the ``STATEMENTS`` nearest, with r the cosine to the question (without an embedder: 1 /
    log2(1 + rank)), as long as the second factor reaches ``OPPOSED`` (lower: more statements, of
    which fewer really oppose). Where nothing opposes the first, the perspectives are that statement
    and its negation by rule, so that the missing side is looked for and its absence reported. 2 (n
    - 1) pairs are judged for each statement chosen.

    Sentences of 5 to 35 words that can stand alone and be negated count, by English rules. What was
    chosen goes into the trace's decisions; what fails is recorded and leaves no perspectives.
    """
    if extraction.settled:
        return extraction
    question = extraction.root
    try:
        statements, relevance = yield from _statements(request, store, embedder, question)
        limit = min(request.options.discover, len(statements))
        chosen = yield from _against_each_other(judge, statements, relevance, limit)
    except Exception as error:
        yield from degrade("discover", f"no perspectives could be discovered: {error!r}", error)
        return extraction
    if not chosen:
        return extraction
    texts = [statements[i] for i in chosen]
    request.recorder.decisions.append({"stage": "discover", "query": question, "from": texts})
    if len(texts) == 1:
        return replace(extraction, perspectives=both_sides(texts[0]))
    return replace(extraction, perspectives=as_perspectives(texts))


def _statements(
    request: Request, store: Store, embedder: Embedder | None, question: str
) -> Flow[tuple[list[str], Vector]]:
    """One statement of each of the best passages, nearest first, and their relevance."""
    rankings = yield from search_all(
        request, store, embedder, Extraction(question), [Query(question)]
    )
    found = merge(rankings, key=request.key)
    ordered = yield from order_by_relevance(request, store, embedder, question, found)
    said = [each for c in ordered[:PASSAGES] if (each := stand_alone(c.passage.text))]
    ranks = np.arange(1, len(said) + 1)
    best, relevance = [each[0] for each in said], 1.0 / np.log2(1.0 + ranks)
    if embedder is not None and said:
        yield from embed_queries(request, embedder, [question])
        every = [Passage(text, text) for each in said for text in each]
        vectors = yield from embed_passages(embedder, every)
        if vectors is not None:
            near = iter(cosine(vectors, request.vectors[question][None, :])[:, 0])
            scored = [[(next(near), text) for text in each] for each in said]
            tops = [max(each, key=lambda pair: pair[0]) for each in scored]
            best, relevance = [text for _, text in tops], np.array([near for near, _ in tops])
    first = {text_key(text): i for i, text in reversed(list(enumerate(best)))}
    order = sorted(first.values(), key=lambda i: -relevance[i])[:STATEMENTS]
    return [best[i] for i in order], np.asarray(relevance[order], dtype=np.float64)


def stand_alone(text: str) -> list[str]:
    """The sentences of a text that say something by themselves and have a negation, without the
    word that links them to the one before, the reason they give, and the full stop.
    """
    kept = []
    for sentence in split_sentences(text):
        plain = _LINK.sub("", sentence).rstrip(" .")
        claim = _REASON.sub("", plain)
        words = (claim if len(claim.split()) in _WORDS else plain).split()
        if len(words) in _WORDS and _says_something(words):
            kept.append(upper_first(" ".join(words)))
    return kept


def _says_something(words: Sequence[str]) -> bool:
    """A statement with a verb of its own that can be negated; no title, question or quotation."""
    if words[-1].endswith("?") or not words[0][0].isalnum() or _POINTS_BACK.match(words[0]):
        return False
    lower = [word.lower().strip(",;") for word in words]
    verb = main_verb(list(words))
    stands = verb is not None and SUBORDINATORS.isdisjoint(lower[:verb])
    return stands and _PERSONAL.isdisjoint(lower)


def _against_each_other(
    judge: Judge, statements: Sequence[str], relevance: Vector, limit: int
) -> Flow[list[int]]:
    """The chosen statements, in the order picked."""
    chosen, unopposed = [0][:limit], np.ones(len(statements))
    while 0 < len(chosen) < limit:
        unopposed *= 1.0 - (yield from _opposition(judge, statements, chosen[-1]))
        gain = np.where(unopposed > 1.0 - OPPOSED, -np.inf, relevance * (1.0 - unopposed))
        gain[chosen] = -np.inf
        if np.isinf(gain).all():
            break
        chosen.append(int(np.argmax(gain)))
    return chosen


def _opposition(judge: Judge, statements: Sequence[str], index: int) -> Flow[Vector]:
    """How far each statement and statements[index] oppose each other, shape (n,)."""
    against = [both_sides(text)[1] for text in statements]
    passages = [Passage(str(i), text) for i, text in enumerate(statements)]
    others = [i for i in range(len(statements)) if i != index]
    shape = (len(others), 1)
    of_it = yield from judge.judge([against[index]], [passages[i] for i in others])
    by_it = yield from judge.judge(
        [replace(against[i], id=str(i)) for i in others], [passages[index]]
    )
    both = np.maximum(
        in_range(of_it, shape, judge.name), in_range(by_it, shape[::-1], judge.name).T
    )
    if np.isnan(both).all():
        raise JudgeError(f"judge {judge.name!r} gave no verdict on the statements found")
    result = np.zeros(len(statements))
    result[others] = np.nan_to_num(both[:, 0])
    return result
