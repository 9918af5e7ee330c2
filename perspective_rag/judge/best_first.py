"""Candidates are judged best first, until every perspective is covered or the budget is spent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from perspective_rag.errors import ConfigError, JudgeError
from perspective_rag.flow.recording import degrade, stage
from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import Flow
from perspective_rag.judge.inner import list_reader
from perspective_rag.judge.sides import read_candidates, rule_for
from perspective_rag.judge.support import listed, quotas, related
from perspective_rag.listing import ListingRule, RelevanceFloor
from perspective_rag.protocols import Judge
from perspective_rag.types import Candidate, Extraction, Perspective

BATCH = 8


@stage
def judge(
    request: Request, extraction: Extraction, candidates: Sequence[Candidate]
) -> Flow[list[Candidate]]:
    """The candidates with their support of each perspective, best first and within the budget of
    ``judge_k``; as they are where there is nothing to judge.

    What is not about the question is not judged.
    """
    if not is_judged(request, extraction):
        return list(candidates)
    left = judgements_left(request, candidates)
    limit = request.options.judge_k if left is None else left
    judged = yield from judge_within(request, extraction, candidates, limit)
    return judged


def judge_within(
    request: Request,
    extraction: Extraction,
    candidates: Sequence[Candidate],
    limit: int,
    *,
    beside: Sequence[Candidate] = (),
) -> Flow[list[Candidate]]:
    """``judge_best_first`` with what the request asks for."""
    assert request.judge is not None
    judged = yield from judge_best_first(
        request.judge,
        extraction.perspectives,
        candidates,
        k=request.options.k,
        limit=limit,
        rule=rule_of(request, extraction),
        exclusive=extraction.exclusive,
        floor=request.floor,
        beside=beside,
        scale=request.scale,
        question=extraction.root,
        read_in_lists=request.read_in_lists,
    )
    return judged


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


def stance_asked(extraction: Extraction) -> Perspective | None:
    """The side of a claim that a question asks for ("find a claim that opposes: X"), or None.

    None where several sides are asked for: then coverage, not one side, is what is wanted.
    """
    if len(extraction.perspectives) != 1:
        return None
    (perspective,) = extraction.perspectives
    return perspective if perspective.stance is not None and perspective.claim else None


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
        if lists is not None:
            read |= {id(result[i].passage) for i in batch}
        try:
            rows, proofs = yield from read_candidates(
                by,
                question,
                perspectives,
                [result[i] for i in batch],
                exclusive=exclusive,
                scale=scale,
            )
            failures = failures + 1 if np.isnan(rows).all() else 0
        except ConfigError:
            raise
        except Exception as error:
            failures += 1
            problem = (
                error
                if isinstance(error, JudgeError)
                else JudgeError(f"judge {by.name!r}: {error}")
            )
            problem.__cause__ = error if problem is not error else error.__cause__
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
