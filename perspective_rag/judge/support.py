"""P(support) of candidates for perspectives, and what follows from it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError, JudgeError, between
from perspective_rag.flow.request import Request, degrade, stage
from perspective_rag.flow.steps import Flow, complete
from perspective_rag.options import Calibration
from perspective_rag.protocols import Embedder, Judge, Judged, JudgesLists, JudgesSides
from perspective_rag.text import named, topic_words
from perspective_rag.types import (
    PACKAGED,
    Candidate,
    Coverage,
    Extraction,
    ListingRule,
    Matrix,
    Passage,
    Perspective,
    Proof,
    RelevanceFloor,
    Vector,
)

_READ = 20_000  # characters of a passage in which the question's words are looked for


def judge_table(
    judge: Judge, perspectives: Sequence[Perspective], passages: Sequence[Passage]
) -> Flow[Matrix]:
    """Asks any judge, whether it is a flow or a plain function, and checks its answer.

    Args:
        judge: The judge.
        perspectives: m statements.
        passages: n passages.

    Returns:
        P(support), shape (n, m), NaN where it could not judge.

    Raises:
        JudgeError: The shape is another, or a value is outside [0, 1].
        ConfigError: The judge returned no table of numbers.
        Exception: What the judge raises.
    """
    shape = len(passages), len(perspectives)
    return (yield from checked(judge.name, judge.judge(perspectives, passages), shape))


def judge_two(
    judge: Judge,
    sides: tuple[Perspective, Perspective],
    passages: Sequence[Passage],
    relevance: Vector,
) -> Flow[Matrix]:
    """``judge_sides`` of a judge that offers it, checked as in ``judge_table``; shape (n, 2)."""
    assert isinstance(judge, JudgesSides)
    returned = judge.judge_sides(sides, passages, relevance)
    return (yield from checked(judge.name, returned, (len(passages), 2)))


def checked(name: str, returned: Any, shape: tuple[int, ...]) -> Flow[Matrix]:
    """``in_range`` of what a method of a judge returned: a flow, or its outcome."""
    expected = f"an array of shape {shape}"
    return in_range((yield from complete(returned, f"judge {name!r}", expected)), shape, name)


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

    def contradict(one: Perspective, other: Perspective) -> bool:
        if one.claim is not None and one.claim == other.claim:
            return one.stance != other.stance
        return exclusive and one is not other and one.claim is None and other.claim is None

    table = [[contradict(one, other) for other in perspectives] for one in perspectives]
    return np.array(table, dtype=bool).reshape(len(perspectives), len(perspectives))


def related(candidates: Sequence[Candidate], floor: RelevanceFloor) -> NDArray[np.bool_]:
    """Which candidates are about the question, shape (n,): none where no known relevance reaches
    ``floor.topic``, else those that reach ``floor.passage``. Of a passage with half of the words
    of the question (``rank.relevance.with_names``) half of the way to ``floor.topic`` is enough.

    The relevance is that of ``relevance_of``. A candidate without one counts as related where
    others are; where none has one, all count.

    With the packaged encoder, 36 questions find something in 31 of their own collections (24 by
    ``floor.topic`` alone), and in 1 (0) of 252 collections on something else.
    """
    relevance = relevance_of(candidates, floor)
    known = ~np.isnan(relevance)
    worded = np.array(["worded" in c.scores for c in candidates], dtype=bool)
    wanted = np.where(worded, (floor.passage + floor.topic) / 2, floor.topic)
    topical = not known.any() or bool((relevance >= wanted)[known].any())
    return np.asarray(topical & (~known | (relevance >= floor.passage)))


def says_nothing(question: str, candidates: Sequence[Candidate], floor: RelevanceFloor) -> bool:
    """Whether these best passages of a corpus show that it says nothing about a question.

    By two witnesses: no known relevance reaches a quarter of the way from ``floor.passage`` to
    ``floor.topic``, and no passage (title and text) holds two fifths of the words that say what
    the question is about. False where no relevance is known, or the question has no such word.

    With the packaged encoder, said of 0 of 36 questions over their own collections and of 196 of
    252 over collections on something else; by the middle of the floors and half of the words, as it
    was before, of 3 and of 221.
    """
    relevance = relevance_of(candidates, floor)
    topic = topic_words(question)
    if np.isnan(relevance).all() or not topic:
        return False
    if np.nanmax(relevance) >= (3 * floor.passage + floor.topic) / 4:
        return False
    texts = [each.passage.titled[:_READ] for each in candidates]
    return all(5 * named(text, topic) < 2 * len(topic) for text in texts)


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


def listing_rule(judge: Judge | None) -> ListingRule:
    """The judge's own rule (``listing``), else its threshold.

    Raises ConfigError for a threshold outside [0, 1].
    """
    rule = getattr(judge, "listing", None)
    if isinstance(rule, ListingRule):
        return rule
    threshold = threshold_of(judge) if judge is not None else 0.5
    return ListingRule(threshold, threshold)


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


def quick_judge(judge: Judge | None) -> Judge | None:
    """What reads single sentences in a judge's place (``quick``): a language model behind it would
    cost a call for each. The judge itself where it names nothing; None: nobody can.
    """
    found: Judge | None = getattr(judge, "quick", judge)
    return found


def list_reader(judge: Judge | None) -> JudgesLists | None:
    """The judge where it reads lists, else None."""
    return judge if isinstance(judge, JudgesLists) and judge.batch_size is not None else None


def related_to(request: Request, candidates: Sequence[Candidate]) -> NDArray[np.bool_] | None:
    """Which candidates are about the question, shape (n,): by the floor, and what a judge of lists
    found to support a side; None where no floor is known.
    """
    if request.floor is None:
        return None
    about = related(candidates, request.floor)
    if list_reader(request.judge) is not None:
        about |= np.array([max(c.support.values(), default=0.0) > 0.5 for c in candidates])
    return about


def pair_judge(judge: Judge | None) -> Judge | None:
    """What is asked about single pairs: the judge, or what one that reads lists has for them."""
    return judge if list_reader(judge) is None else quick_judge(judge)


def read_passages(
    judge: Judge,
    perspectives: Sequence[Perspective],
    candidates: Sequence[Candidate],
    *,
    exclusive: bool = False,
    scale: RelevanceFloor | None = None,
) -> Flow[Matrix]:
    """P(support), shape (n_candidates, n_perspectives), NaN where it could not be judged.

    Two perspectives that contradict each other, and no third, are read together by a judge that
    offers ``judge_sides``: beside both statements a passage's side is surer than beside one. Others
    are judged one by one. ``scale`` says what the cosines to the question mean, as
    ``relevance_scale`` does; without it the judge is told none. Raises what the judge raises.
    """
    relevance = relevance_on_scale(candidates, scale)
    passages = [candidate.passage for candidate in candidates]
    return read_beside(judge, perspectives, passages, relevance, exclusive=exclusive)


def read_beside(
    judge: Judge,
    perspectives: Sequence[Perspective],
    passages: Sequence[Passage],
    relevance: Vector,
    *,
    exclusive: bool = False,
) -> Flow[Matrix]:
    """``read_passages`` with the relevance as ``JudgesSides`` takes it, shape (n,)."""
    paired = contradictions(perspectives, exclusive=exclusive)
    if sides_rule(judge) is None or not _in_pairs(paired):
        return (yield from judge_table(judge, perspectives, passages))
    support: Matrix = np.full((len(passages), len(perspectives)), np.nan)
    for first, second in np.argwhere(np.triu(paired)).tolist():
        sides = perspectives[first], perspectives[second]
        support[:, [first, second]] = yield from judge_two(judge, sides, passages, relevance)
    return support


def _read_list(
    lists: JudgesLists,
    question: str,
    perspectives: Sequence[Perspective],
    candidates: Sequence[Candidate],
    relevance: Vector,
    exclusive: bool,
) -> Flow[Judged]:
    """What a judge of lists says, checked; ConfigError for what is no ``Judged``."""
    passages = [candidate.passage for candidate in candidates]
    flow = lists.judge_list(question, perspectives, passages, relevance, exclusive=exclusive)
    judged = yield from complete(flow, f"judge {lists.name!r}", "a Judged")
    if not isinstance(judged, Judged) or len(judged.proofs) != len(candidates):
        raise ConfigError(
            f"judge {lists.name!r} returned {judged!r:.200} from judge_list; expected a Judged "
            f"with the proofs of {len(candidates)} passages"
        )
    support = in_range(judged.support, (len(candidates), len(perspectives)), lists.name)
    return replace(judged, support=support)


def relevance_on_scale(candidates: Sequence[Candidate], scale: RelevanceFloor | None) -> Vector:
    """How near the candidates are to the question on the packaged encoder's scale, shape (n,), NaN:
    not known.
    """
    own = relevance_of(candidates, scale)
    return np.full_like(own, np.nan) if scale is None else scale.moved(own, PACKAGED)


def rule_for(
    judge: Judge | None,
    perspectives: Sequence[Perspective],
    *,
    exclusive: bool = False,
    min_support: float | None = None,
    calibration: Calibration | None = None,
) -> ListingRule:
    """When a passage is listed: the judge's rule for the way it reads these perspectives.

    ``calibration`` replaces it where perspectives contradict each other two by two,
    ``min_support`` the P(support) from which a passage is listed.
    """
    rule = listing_rule(judge)
    if _in_pairs(contradictions(perspectives, exclusive=exclusive)):
        calibrated = calibration.listing if calibration is not None else None
        rule = calibrated or sides_rule(judge) or rule
    return rule if min_support is None else rule.listing_from(min_support)


def _in_pairs(paired: NDArray[np.bool_]) -> bool:
    return bool(len(paired)) and bool((paired.sum(axis=1) == 1).all())


BATCH = 8


@stage
def judge(
    request: Request, extraction: Extraction, candidates: Sequence[Candidate]
) -> Flow[list[Candidate]]:
    """Judges candidates that are about the question, best first, at most ``judge_k`` of them.

    It stops early once k are judged and every perspective has its share listed.

    Args:
        request: The question, its options and the judge.
        extraction: The perspectives.
        candidates: Candidates, best first.

    Returns:
        The candidates in their order, with their support; unchanged where there is nothing to
        judge.
    """
    if not is_judged(request, extraction):
        return list(candidates)
    left = judgements_left(request, candidates)
    limit = request.options.judge_k if left is None else left
    return (yield from judge_within(request, extraction, candidates, limit))


def judge_within(
    request: Request,
    extraction: Extraction,
    candidates: Sequence[Candidate],
    limit: int,
    *,
    beside: Sequence[Candidate] = (),
) -> Flow[list[Candidate]]:
    """``judge_best_first`` with what the request asks for.

    A judge of lists sees for itself what is beside the point, at no further call.
    """
    assert request.judge is not None
    return judge_best_first(
        request.judge,
        extraction.perspectives,
        candidates,
        k=request.options.k,
        limit=limit,
        rule=rule_of(request, extraction),
        exclusive=extraction.exclusive,
        floor=request.floor if list_reader(request.judge) is None else None,
        beside=beside,
        scale=request.scale,
        question=extraction.root,
        read_in_lists=request.read_in_lists,
    )


def judgements_left(request: Request, candidates: Iterable[Candidate]) -> int | None:
    """How many candidates more a judge of lists may be asked about for this question: ``judge_k``
    less those it has read; None: the judge reads no lists, and each step has a limit of its own.
    """
    if list_reader(request.judge) is None:
        return None
    read = request.read_in_lists
    known = sum(bool(each.support) or id(each.passage) in read for each in candidates)
    return max(0, request.options.judge_k - known)


def rule_of(request: Request, extraction: Extraction) -> ListingRule:
    """When a passage is listed as support, for this question."""
    return rule_for(
        request.judge,
        extraction.perspectives,
        exclusive=extraction.exclusive,
        min_support=request.options.min_support,
        calibration=request.options.calibrated,
    )


def is_judged(request: Request, extraction: Extraction) -> bool:
    """Whether there is a judge and something for it to judge."""
    asked = request.options.coverage != "off" and bool(extraction.perspectives)
    return asked and request.judge is not None


def judge_best_first(
    by: Judge,
    perspectives: Sequence[Perspective],
    candidates: Sequence[Candidate],
    *,
    k: int,
    limit: int,
    rule: ListingRule | None,
    exclusive: bool = False,
    floor: RelevanceFloor | None = None,
    beside: Sequence[Candidate] = (),
    scale: RelevanceFloor | None = None,
    question: str = "",
    read_in_lists: set[int] | None = None,
) -> Flow[list[Candidate]]:
    """The candidates, in their order, with ``support`` filled for those that were judged.

    Judges at most ``limit`` that have not been judged yet, in batches, and stops once at least
    ``k`` are judged and among them every perspective has its quota listed: k / m passages (m
    perspectives, rounded up; more where its share is larger). Without a ``rule`` it never stops
    early. Candidates that are not about the question (``floor``) are passed over; whether any is,
    ``beside``, further candidates of the question, tells too. ``scale`` as in ``read_passages``. A
    judge that reads lists is handed as many as its ``batch_size`` at once, with the ``question``,
    and its proofs are kept with the candidates; it is asked about none of ``read_in_lists``, to
    which is added what it read. A batch that fails is recorded and stays unjudged; two batches in a
    row without a verdict end it.
    """
    result = list(candidates)
    about = related([*result, *beside], floor) if floor is not None else None
    lists = list_reader(by)
    read = set() if lists is None or read_in_lists is None else read_in_lists
    waiting = [
        i
        for i, c in enumerate(result)
        if not c.support and (about is None or about[i]) and id(c.passage) not in read
    ][:limit]
    size = BATCH if lists is None else lists.batch_size or BATCH
    failures = 0
    while waiting and failures < 2:
        if rule is not None and _enough(result, perspectives, k, rule, exclusive):
            break
        batch, waiting = waiting[:size], waiting[size:]
        chosen = [result[i] for i in batch]
        proofs: Sequence[Mapping[str, Proof]] = [{}] * len(batch)
        if lists is not None:
            read |= {id(each.passage) for each in chosen}
        try:
            if lists is None:
                rows = yield from read_passages(
                    by, perspectives, chosen, exclusive=exclusive, scale=scale
                )
            else:
                near = relevance_on_scale(chosen, scale)
                judged = yield from _read_list(
                    lists, question, perspectives, chosen, near, exclusive
                )
                rows, proofs = judged.support, judged.proofs
            failures = failures + 1 if np.isnan(rows).all() else 0
        except ConfigError:
            raise
        except Exception as error:
            failures += 1
            problem: Exception = error
            if not isinstance(error, JudgeError):
                problem = JudgeError(f"judge {by.name!r}: {error}")
                problem.__cause__ = error
            degrade("judge", f"{len(batch)} passages could not be judged: {error!r}", problem)
            continue
        for i, row, proof in zip(batch, rows, proofs, strict=True):
            support = {
                p.id: float(v) for p, v in zip(perspectives, row, strict=True) if not math.isnan(v)
            }
            result[i] = replace(
                result[i],
                support={**result[i].support, **support},
                proofs={**result[i].proofs, **proof},
            )
    return result


def _enough(
    candidates: Sequence[Candidate],
    perspectives: Sequence[Perspective],
    k: int,
    rule: ListingRule,
    exclusive: bool,
) -> bool:
    judged = sum(bool(c.support) for c in candidates)
    even = math.ceil(k / max(len(perspectives), 1))
    each = np.maximum(even, quotas(perspectives, k))
    shown = listed(candidates, perspectives, rule, exclusive=exclusive)
    return judged >= k and bool((shown.sum(axis=0) >= each).all())
