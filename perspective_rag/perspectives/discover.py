"""Perspectives that the passages take, for a question whose wording names none."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from perspective_rag.errors import JudgeError
from perspective_rag.flow.request import Request, degrade, note
from perspective_rag.flow.steps import Flow
from perspective_rag.judge.support import judge_table
from perspective_rag.maths.vectors import cosine
from perspective_rag.perspectives.sides import as_perspectives, both_sides, distinct
from perspective_rag.perspectives.statements import main_verb, sound
from perspective_rag.perspectives.words import PREPOSITIONS, SUBORDINATORS, bare, upper_first
from perspective_rag.protocols import Judge
from perspective_rag.search.candidates import merge, rank_by_relevance
from perspective_rag.search.search import embed_passages, embed_queries, search, width_of
from perspective_rag.text import split_sentences, text_key
from perspective_rag.text import words as words_of
from perspective_rag.types import Extraction, Passage, Query, Vector

PASSAGES = 30
STATEMENTS = 14
OPPOSED = 0.7
LONGEST = 20_000
"""Characters that are read of a passage."""
MOST = 40
"""Statements of one passage that are embedded."""
FIRST = 3
"""How many of the nearest statements are tried as the first, until one is opposed."""
_WORDS = range(5, 36)
# What a sentence that begins so is about stands in the sentence before it.
_POINTS_BACK = re.compile(
    r"^(?:this|that|these|those|it|its|they|their|them|he|him|his|she|her|such|as|here|there|we|our"
    r"|what)$",
    re.IGNORECASE,
)
_PERSONAL = frozenset("i me my mine you your yours".split())
_REASON = re.compile(
    r" ?(?:[:;–—]|,? because\b|,? so that\b|,? for the same reason\b).*$",
    re.IGNORECASE,
)
_SOURCE = re.compile(r"(?:\s*\[[^\[\]]{1,60}\])+[ .]*$")  # "... saves lives [ref]."
_SOURCES_AT_END = 200  # characters
_LINK = re.compile(
    r"^(?:and|but|so|yet|or|however|therefore|thus|hence|moreover)\b,?\s+", re.IGNORECASE
)


def discover(request: Request, judge: Judge, extraction: Extraction) -> Flow[Extraction]:
    """The extraction with at most ``discover`` statements of the passages as its perspectives, each
    against what the others say; as it was where the question invites none.

    A search for the question finds passages. The first perspective is the sentence nearest to the
    question, among the nearest of each of the best ``PASSAGES`` passages, that another opposes;
    the ``FIRST`` nearest are tried. Every further one maximises

        r_s (1 - prod over chosen t of (1 - max(P(s opposes t), P(t opposes s))))

    over the ``STATEMENTS`` nearest, with r the cosine to the question (without an embedder: 1 /
    log2(1 + rank)), as long as the second factor reaches ``OPPOSED`` (lower: more statements, of
    which fewer really oppose). What nobody disputes is no side: there are then none. With
    ``discover=1`` they are the disputed statement and its negation by rule. 2 (n - 1) pairs are
    judged for each statement tried or chosen.

    Sentences of 5 to 35 words that can stand alone and be negated count, by English rules; headings
    and sentences that are cut off do not. What was
    chosen goes into the trace's decisions; what fails is recorded and leaves no perspectives.
    """
    if not extraction.invites_perspectives:
        return extraction
    question = extraction.root
    try:
        statements, relevance = yield from _statements(request, question)
        limit = min(max(request.options.discover, 2), len(statements))
        chosen = yield from _disputed(judge, statements, relevance, limit)
    except Exception as error:
        degrade("discover", f"no perspectives could be discovered: {error!r}", error)
        return extraction
    if not chosen:
        return extraction
    texts = [statements[i] for i in chosen][: request.options.discover]
    note(decision={"stage": "discover", "query": question, "from": texts})
    if request.options.discover == 1:
        return replace(extraction, perspectives=both_sides(texts[0]))
    return replace(extraction, perspectives=as_perspectives(distinct(texts)))


def _statements(request: Request, question: str) -> Flow[tuple[list[str], Vector]]:
    """One statement of each of the best passages, nearest first, and their relevance."""
    rankings = yield from search(request, Extraction(question), [Query(question)])
    found = yield from merge(request, rankings)
    ordered = yield from rank_by_relevance(request, question, found)
    embedder = request.embedder
    texts = [c.passage.text for c in ordered[:PASSAGES]]
    said = _all_said(texts, question)
    ranks = np.arange(1, len(said) + 1)
    best, relevance = [each[0] for each in said], 1.0 / np.log2(1.0 + ranks)
    if embedder is not None and said:
        yield from embed_queries(request, embedder, [question])
        every = [Passage(text, text) for each in said for text in each]
        vectors = yield from embed_passages(embedder, every, columns=width_of(request))
        if vectors is not None:
            near = iter(cosine(vectors, request.vectors[question][None, :])[:, 0])
            scored = [[(next(near), text) for text in each] for each in said]
            tops = [max(each, key=lambda pair: pair[0]) for each in scored]
            best, relevance = [text for _, text in tops], np.array([near for near, _ in tops])
    first = {text_key(text): i for i, text in reversed(list(enumerate(best)))}
    order = sorted(first.values(), key=lambda i: -relevance[i])[:STATEMENTS]
    return [best[i] for i in order], np.asarray(relevance[order], dtype=np.float64)


def _all_said(texts: Sequence[str], question: str) -> list[list[str]]:
    """The statements of each text that has any; of many those that share most words with the
    question.
    """
    asked = set(words_of(question))
    found = []
    for text in texts:
        said = stand_alone(text)
        if len(said) > MOST:
            shared = [len(asked.intersection(words_of(each))) for each in said]
            said = [said[i] for i in sorted(range(len(said)), key=lambda i: -shared[i])[:MOST]]
        if said:
            found.append(said)
    return found


def stand_alone(text: str) -> list[str]:
    """The sentences of a text that say something by themselves and have a negation, without the
    word that links them to the one before, the reason they give, and the full stop. Of a long text
    the first ``LONGEST`` characters are read: the rules are slower than a store's texts are long.
    """
    kept = []
    sentences = split_sentences(text[:LONGEST])
    for sentence in sentences:
        if len(sentences) > 1 and sentence.rstrip("\"'”’)]")[-1:] not in {".", "!", "…"}:
            continue  # a heading, a question, or cut off
        plain = _without_sources(_LINK.sub("", " ".join(sentence.split()))).rstrip(" .")
        claim = _REASON.sub("", plain)
        words = (claim if len(claim.split()) in _WORDS else plain).split()
        if len(words) in _WORDS and _says_something(words):
            kept.append(upper_first(" ".join(words)))
    return kept


def _without_sources(sentence: str) -> str:
    rest, end = sentence[:-_SOURCES_AT_END], sentence[-_SOURCES_AT_END:]
    return rest + _SOURCE.sub("", end)


def _says_something(words: Sequence[str]) -> bool:
    """A statement with a verb of its own that can be negated; no title, question or quotation."""
    if not sound(" ".join(words)) or bare(words[-1]) in PREPOSITIONS:
        return False
    if words[-1].endswith("?") or not words[0][0].isalnum() or _POINTS_BACK.match(words[0]):
        return False
    if _is_heading(words):
        return False
    lower = [word.lower().strip(",;") for word in words]
    verb = main_verb(list(words))
    stands = verb is not None and SUBORDINATORS.isdisjoint(lower[:verb])
    return stands and _PERSONAL.isdisjoint(lower)


def _is_heading(words: Sequence[str]) -> bool:
    """Long words in capitals throughout: "Zoos Protect Animals From Extinction"."""
    long = [word for word in words[1:] if len(word) > 3 and word[0].isalpha()]
    return len(long) > 2 and sum(word[0].isupper() for word in long) >= 0.75 * len(long)


def _disputed(
    judge: Judge, statements: Sequence[str], relevance: Vector, limit: int
) -> Flow[list[int]]:
    """The statements chosen, two or more; none where the nearest are not opposed."""
    for first in range(min(FIRST, len(statements)) if limit > 1 else 0):
        chosen = yield from _against_each_other(judge, statements, relevance, limit, first)
        if len(chosen) > 1:
            return chosen
    return []


def _against_each_other(
    judge: Judge, statements: Sequence[str], relevance: Vector, limit: int, first: int = 0
) -> Flow[list[int]]:
    """The chosen statements, in the order picked, from the ``first`` on."""
    chosen, unopposed = [first][:limit], np.ones(len(statements))
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
    of_it = yield from judge_table(judge, [against[index]], [passages[i] for i in others])
    by_it = yield from judge_table(
        judge, [replace(against[i], id=str(i)) for i in others], [passages[index]]
    )
    both = np.maximum(of_it, by_it.T)
    if np.isnan(both).all():
        raise JudgeError(f"judge {judge.name!r} gave no verdict on the statements found")
    result = np.zeros(len(statements))
    result[others] = np.nan_to_num(both[:, 0])
    return result
