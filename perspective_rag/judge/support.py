"""Support as numbers: a judge's table, what it covers, and how much each perspective should get."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError, JudgeError
from perspective_rag.flow.steps import Flow, complete
from perspective_rag.listing import Calibration, ListingRule, RelevanceFloor
from perspective_rag.protocols import Embedder, Judge, JudgesSides
from perspective_rag.results import Coverage
from perspective_rag.text import named, topic_words
from perspective_rag.types import Candidate, Matrix, Passage, Perspective, Vector
from perspective_rag.validation import between

_READ = 20_000  # characters of a passage in which the question's words are looked for


def judge_table(
    judge: Judge, perspectives: Sequence[Perspective], passages: Sequence[Passage]
) -> Flow[Matrix]:
    """P(support) by any judge, a flow or a plain function, shape (n_passages, n_perspectives).

    NaN where it could not judge. Raises what the judge raises, JudgeError for another shape and for
    values outside [0, 1], ConfigError for what is no table of numbers.
    """
    shape = (len(passages), len(perspectives))
    returns = f"an array of shape {shape}"
    component = f"judge {judge.name!r}"
    values = yield from complete(judge.judge(perspectives, passages), component, returns)
    return in_range(values, shape, judge.name)


def in_range(values: Any, shape: tuple[int, ...], name: str) -> Matrix:
    """The values as floats of that shape.

    Raises ConfigError for what is no table of numbers, JudgeError for another shape and for values
    outside [0, 1] (rounding errors of 1e-6 are cut off).
    """
    try:
        if values is None or isinstance(values, (str, bytes, dict)):
            raise TypeError(f"not a table: {type(values).__name__}")
        support = np.asarray(values)
        if support.dtype.kind == "c":
            raise TypeError("complex numbers")
        support = support.astype(float)
    except Exception as error:  # whatever the values' own conversion raises
        raise ConfigError(
            f"judge {name!r} returned {values!r:.200}; expected numbers of shape {shape}"
        ) from error
    if support.shape != shape:
        raise JudgeError(f"judge {name!r} returned shape {support.shape}, expected {shape}")
    if np.any((support < -1e-6) | (support > 1 + 1e-6)):  # False for NaN
        raise JudgeError(f"judge {name!r} returned values outside [0, 1]")
    clipped: Matrix = np.clip(support, 0.0, 1.0)  # the softmax of a float32 may pass 1 a little
    return clipped


def support_matrix(candidates: Sequence[Candidate], perspectives: Sequence[Perspective]) -> Matrix:
    """The candidates' support as shape (n_candidates, n_perspectives), NaN where not judged."""
    rows = [[c.support.get(p.id, math.nan) for p in perspectives] for c in candidates]
    return np.array(rows, dtype=float).reshape(len(candidates), len(perspectives))


def coverage_of(
    candidates: Sequence[Candidate],
    perspectives: Sequence[Perspective],
    rule: ListingRule,
    *,
    exclusive: bool = False,
    about: NDArray[np.bool_] | None = None,
    scale: RelevanceFloor | None = None,
    judged: bool = True,
) -> Coverage:
    """The coverage of candidates as they were judged; ``about`` says which are about the question
    (None: all), ``scale`` and ``judged`` as in ``Coverage``.
    """
    return Coverage(
        tuple(perspectives),
        support_matrix(candidates, perspectives),
        rule,
        contradictions(perspectives, exclusive=exclusive),
        about,
        scale,
        judged,
    )


def listed(
    candidates: Sequence[Candidate],
    perspectives: Sequence[Perspective],
    rule: ListingRule,
    *,
    exclusive: bool = False,
) -> NDArray[np.bool_]:
    """Which candidate is listed under which perspective, shape (n_candidates, n_perspectives)."""
    return coverage_of(candidates, perspectives, rule, exclusive=exclusive).listed


def contradictions(
    perspectives: Sequence[Perspective], *, exclusive: bool = False
) -> NDArray[np.bool_]:
    """Which perspectives contradict each other, shape (m, m).

    The two stances on one claim do; ``exclusive`` perspectives without a claim all do.
    """
    count = len(perspectives)
    result = np.zeros((count, count), dtype=bool)
    for i, one in enumerate(perspectives):
        for j, other in enumerate(perspectives):
            if one.claim is not None and one.claim == other.claim:
                result[i, j] = one.stance != other.stance
            elif i != j and one.claim is None and other.claim is None:
                result[i, j] = exclusive
    return result


def related(candidates: Sequence[Candidate], floor: RelevanceFloor) -> NDArray[np.bool_]:
    """Which candidates are about the question, shape (n,): none where no known relevance reaches
    ``floor.topic``, else those that reach ``floor.passage``.

    The relevance is that of ``relevance_of``. A candidate without one counts as related where
    others are; where none has one, all count.
    """
    relevance = relevance_of(candidates, floor)
    known = ~np.isnan(relevance)
    topical = not known.any() or bool((relevance[known] >= floor.topic).any())
    return np.asarray(topical & (~known | (relevance >= floor.passage)))


def says_nothing(question: str, candidates: Sequence[Candidate], floor: RelevanceFloor) -> bool:
    """Whether these best passages of a corpus show that it says nothing about a question.

    By two witnesses: no known relevance comes within half of the way from ``floor.passage`` to
    ``floor.topic``, and no passage (title and text) holds half of the words that say what the
    question is about. False where no relevance is known, or the question has no such word.

    Measured with the packaged encoder: said of 1 of 74 questions over their own passages, of 92 of
    98 over a corpus that lacks their topics; the encoder alone, by ``floor.topic``: 22 and 98.
    """
    relevance = relevance_of(candidates, floor)
    topic = topic_words(question)
    if np.isnan(relevance).all() or not topic:
        return False
    if np.nanmax(relevance) >= (floor.passage + floor.topic) / 2:
        return False
    return all(2 * named(each.passage.titled[:_READ], topic) < len(topic) for each in candidates)


def relevance_of(candidates: Sequence[Candidate], floor: RelevanceFloor | None) -> Vector:
    """How near the candidates are to the question, shape (n,), NaN where it is not known.

    The cosine (``scores["relevance"]``); where a passage names the topic of a short question
    (``rank.relevance.with_names``), from a little below ``floor.passage`` on at least
    ``floor.topic``: a topic that is only named has no passage as near as a whole question has. Half
    the distance of the two floors below, 97% of such passages that people labelled are kept.
    """
    cosines = np.array([c.scores.get("relevance", np.nan) for c in candidates], dtype=float)
    if floor is None:
        return cosines
    named = np.array(["named" in c.scores for c in candidates], dtype=bool)
    lifted = named & (cosines >= floor.passage - (floor.topic - floor.passage) / 2)
    return np.where(lifted, np.maximum(cosines, floor.topic), cosines)


def threshold_of(judge: Judge) -> float:
    """The judge's threshold; raises ConfigError, naming the judge, unless it is in [0, 1]."""
    return between(f"the threshold of judge {judge.name!r}", judge.threshold)


def listing_rule(judge: Judge | None, min_support: float | None = None) -> ListingRule:
    """The judge's own rule (``listing``), else its threshold.

    ``min_support`` replaces the P(support) from which a passage is listed. Raises ConfigError for a
    threshold outside [0, 1].
    """
    rule = getattr(judge, "listing", None)
    if not isinstance(rule, ListingRule):
        threshold = threshold_of(judge) if judge is not None else 0.5
        rule = ListingRule(threshold, threshold)
    return rule if min_support is None else rule.listing_from(min_support)


def sides_rule(judge: Judge | None) -> ListingRule | None:
    """The rule of a judge that reads two sides together (``sides_listing``), None for any other.

    Raises ConfigError for what is no rule.
    """
    if not isinstance(judge, JudgesSides):
        return None
    rule = judge.sides_listing
    if rule is not None and not isinstance(rule, ListingRule):
        raise ConfigError(
            f"judge {judge.name!r}: sides_listing must be a ListingRule or None, got {rule!r:.80}"
        )
    return rule


def relevance_floor(
    embedder: Embedder | None, given: float | None, calibration: Calibration | None = None
) -> RelevanceFloor | None:
    """The floor that is ``given``, else the calibrated one, else what the embedder says of itself,
    else None (unknown).
    """
    if given is not None:
        return RelevanceFloor(given, given) if given > -1.0 else None
    return calibration.floor if calibration is not None else own_floor(embedder)


def relevance_scale(
    embedder: Embedder | None, calibration: Calibration | None
) -> RelevanceFloor | None:
    """What stands for the packaged encoder's floor among the embedder's cosines; None: unknown."""
    return calibration.scale if calibration is not None else own_floor(embedder)


def own_floor(embedder: Embedder | None) -> RelevanceFloor | None:
    """What the embedder says of itself, or None."""
    own = getattr(embedder, "relevance_floor", None)
    return own if isinstance(own, RelevanceFloor) else None


def quotas(perspectives: Sequence[Perspective], k: int) -> list[int]:
    """How many of k passages should support each perspective: ceil(share k), at least 1."""
    # Without the subtraction, 0.3 of 10 would be 4 passages.
    return [max(1, math.ceil(each.share * k - 1e-9)) for each in perspectives]
