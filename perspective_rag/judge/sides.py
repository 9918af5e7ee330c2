"""Candidates read against all perspectives, two contradicting sides together where a judge can."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from perspective_rag.errors import ConfigError
from perspective_rag.flow.steps import Flow, complete
from perspective_rag.judge.inner import list_reader
from perspective_rag.judge.support import (
    contradictions,
    in_range,
    judge_table,
    listing_rule,
    relevance_of,
    sides_rule,
)
from perspective_rag.listing import PACKAGED, Calibration, ListingRule, RelevanceFloor
from perspective_rag.protocols import Judge, Judged, JudgesSides
from perspective_rag.types import Candidate, Matrix, Passage, Perspective, Proof, Vector


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


def read_candidates(
    judge: Judge,
    question: str,
    perspectives: Sequence[Perspective],
    candidates: Sequence[Candidate],
    *,
    exclusive: bool = False,
    scale: RelevanceFloor | None = None,
) -> Flow[tuple[Matrix, Sequence[Mapping[str, Proof]]]]:
    """``read_passages``, as one list by a judge that reads lists, and the proofs of each candidate
    by perspective id.

    Raises what the judge raises, ConfigError for what is no ``Judged``.
    """
    lists = list_reader(judge)
    if lists is None:
        support = yield from read_passages(
            judge, perspectives, candidates, exclusive=exclusive, scale=scale
        )
        return support, [{}] * len(candidates)
    relevance = relevance_on_scale(candidates, scale)
    passages = [candidate.passage for candidate in candidates]
    flow = lists.judge_list(question, perspectives, passages, relevance, exclusive=exclusive)
    judged = yield from complete(flow, f"judge {judge.name!r}", "a Judged")
    if not isinstance(judged, Judged) or len(judged.proofs) != len(candidates):
        raise ConfigError(
            f"judge {judge.name!r} returned {judged!r:.200} from judge_list; expected a Judged "
            f"with the proofs of {len(candidates)} passages"
        )
    shape = len(candidates), len(perspectives)
    return in_range(judged.support, shape, judge.name), judged.proofs


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
        table = yield from judge_table(judge, perspectives, passages)
        return table
    assert isinstance(judge, JudgesSides)
    support: Matrix = np.full((len(passages), len(perspectives)), np.nan)
    for first in range(len(perspectives)):
        second = int(np.argmax(paired[first]))
        if second < first:
            continue
        sides = (perspectives[first], perspectives[second])
        values = yield from complete(
            judge.judge_sides(sides, passages, relevance),
            f"judge {judge.name!r}",
            f"an array of shape {(len(passages), 2)}",
        )
        support[:, [first, second]] = in_range(values, (len(passages), 2), judge.name)
    return support


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
    paired = contradictions(perspectives, exclusive=exclusive)
    rule = listing_rule(judge)
    if _in_pairs(paired):
        rule = sides_rule(judge) or rule
    if calibration is not None and calibration.listing is not None and _in_pairs(paired):
        rule = calibration.listing
    return rule if min_support is None else rule.listing_from(min_support)


def _in_pairs(paired: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> bool:
    return bool(len(paired)) and bool((paired.sum(axis=1) == 1).all())
