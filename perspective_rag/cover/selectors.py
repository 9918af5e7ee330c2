"""The parts that choose k of n: one shape, five algorithms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError
from perspective_rag.maths.coverage import coverage_greedy, joint_coverage, plain_first
from perspective_rag.maths.mmr import mmr_from_embeddings, scale_relevance
from perspective_rag.protocols import Choice
from perspective_rag.types import Matrix, Selection, Vector


def repair(
    chosen: Sequence[int],
    listed: NDArray[np.bool_],
    support: Matrix,
    quotas: Sequence[int] | None = None,
) -> list[int]:
    """The choice after candidates were swapped until each perspective meets its quota.

    ``chosen`` are rows of ``listed`` and ``support`` (n, m), most useful first: which candidate is
    listed under which perspective, and P(support). ``quotas`` are counts for the m columns (None: 1
    each). The listed candidate with the best support takes the place of the last chosen one
    whose loss leaves no perspective short. When every chosen one is needed (quotas above the number
    of places) the choice is left as it is.
    """
    result = list(chosen)
    reaches = np.asarray(listed, dtype=bool)
    wanted = np.ones(support.shape[1], dtype=int) if quotas is None else np.asarray(quotas)
    for column in np.argsort(reaches[result].sum(axis=0) - wanted, kind="stable").tolist():
        others = [i for i in np.flatnonzero(reaches[:, column]).tolist() if i not in result]
        others.sort(key=lambda i: -support[i, column])
        short = int(wanted[column] - reaches[result, column].sum())
        for best in others[: max(short, 0)]:
            place = _least_useful(reaches[result], wanted)
            if place is None:
                break
            result[place] = best
    return result


def _least_useful(covers: NDArray[np.bool_], wanted: NDArray[np.int_]) -> int | None:
    needed = covers.sum(axis=0) <= wanted
    for place in reversed(range(len(covers))):
        if not (covers[place] & needed).any():
            return place
    return None


@dataclass(frozen=True, slots=True)
class PlainFirst:
    """The default: what plain search returns, exchanged where that covers more.

    The best exchange is made first, as long as one improves the value of ``JointCoverage``, with 1
    / log2(1 + place in plain search) as relevance; at most half of the k give their places to
    others (``maths.coverage.plain_first``). Then candidates come in that are listed under a
    perspective short of its quota. Where plain search is one-sided, each perspective that it lacks
    has a quota of k / m (rounded down): one passage against four would still lean the way the
    search does.
    """

    def select(self, choice: Choice, k: int) -> Selection:
        """Chooses, with 1 - ``coverage_weight`` as the weight of relevance.

        Args:
            choice: The candidates, and what is known of them.
            k: Maximum number to choose.

        Returns:
            min(k, n) candidates; their scores never rise.
        """
        picked = plain_first(
            choice.support,
            k,
            plain=choice.plain,
            relevance_weight=1.0 - choice.coverage_weight,
            weights=choice.weights,
            overlaps=choice.overlaps,
        )
        return _fill_quotas(choice, picked, _quotas_where_one_sided(choice, k))


@dataclass(frozen=True, slots=True)
class JointCoverage:
    """The set that most probably covers every perspective, wherever it comes from.

    It maximises w mean(rel_i) + (1 - w) prod over p of C_p(S), smoothed, where C_p(S) = 1 - prod
    over i in S of (1 - P_ip) is the probability that the set S covers perspective p, and w = 1 -
    ``coverage_weight``. With two perspectives the product is MRecall@k in expectation (BERDS,
    section 3). See ``maths.coverage.joint_coverage``.
    """

    def select(self, choice: Choice, k: int) -> Selection:
        """Chooses, then lets in what is listed under a perspective short of its quota.

        Args:
            choice: The candidates, and what is known of them.
            k: Maximum number to choose.

        Returns:
            min(k, n) candidates; their scores never rise.
        """
        picked = joint_coverage(
            choice.relevance,
            choice.support,
            k,
            relevance_weight=1.0 - choice.coverage_weight,
            weights=choice.weights,
        )
        return _fill_quotas(choice, picked, choice.quotas)


@dataclass(frozen=True, slots=True)
class GreedyCoverage:
    """One after the other, by relevance and by the judged coverage that each adds.

    Each pick maximises w rel_i + (1 - w) sum over p of u_p P_ip prod over picked j of (1 - P_jp):
    xQuAD with a judge's P(support) (Santos, Macdonald and Ounis, WWW 2010). See
    ``maths.coverage.coverage_greedy``.

    Args:
        relevance_weight: w in [0, 1]; higher = more relevance, less coverage.
    """

    relevance_weight: float = 0.5

    def select(self, choice: Choice, k: int) -> Selection:
        """Chooses one candidate after the other.

        Args:
            choice: The candidates, and what is known of them.
            k: Maximum number to choose.

        Returns:
            min(k, n) candidates, in the order picked, with the value of each pick.
        """
        return coverage_greedy(
            choice.relevance,
            choice.support,
            k,
            relevance_weight=self.relevance_weight,
            weights=choice.weights,
        )


@dataclass(frozen=True, slots=True)
class XQuAD:
    """``GreedyCoverage`` by cosines of passage and perspective, without a judge.

    The method of Santos, Macdonald and Ounis, WWW 2010.

    Args:
        relevance_weight: In [0, 1]; higher = more relevance, less coverage.
        inferred: True: a perspective weighs as much as the relevant passages are near to it
            (RxQuAD).
    """

    relevance_weight: float = 0.5
    inferred: bool = False

    def select(self, choice: Choice, k: int) -> Selection:
        """Chooses one candidate after the other.

        Args:
            choice: The candidates, and what is known of them.
            k: Maximum number to choose.

        Returns:
            min(k, n) candidates, in the order picked, with the value of each pick.

        Raises:
            ConfigError: A cosine to the question or to a perspective is not known.
        """
        relevance = _check_known(choice.cosines, "the question").clip(0.0, 1.0)
        nearness = _check_known(choice.nearness, "the perspectives").clip(0.0, 1.0)
        weights = relevance @ nearness if self.inferred else choice.weights
        return coverage_greedy(
            relevance, nearness, k, relevance_weight=self.relevance_weight, weights=weights
        )


@dataclass(frozen=True, slots=True)
class MMR:
    """Relevant, and unlike what was chosen before.

    Each pick maximises w Sim1(i) - (1 - w) max over picked j of Sim2(i, j), by the cosines to the
    question and between the candidates (Carbonell and Goldstein, SIGIR 1998; BERDS, Equation 1).
    See ``maths.mmr.mmr``.

    Args:
        mmr_lambda: w in [0, 1]; 1.0 = relevance alone, lower = more diversity.
    """

    mmr_lambda: float = 0.5

    def select(self, choice: Choice, k: int) -> Selection:
        """Chooses one candidate after the other.

        Args:
            choice: The candidates, and what is known of them.
            k: Maximum number to choose.

        Returns:
            min(k, n) candidates, in the order picked, with the value of each pick.

        Raises:
            ConfigError: A vector of a candidate, or its cosine to the question, is not known.
        """
        if choice.embeddings is None:
            raise _unknown_error("vectors of the candidates")
        relevance = scale_relevance(_check_known(choice.cosines, "the question"))
        return mmr_from_embeddings(relevance, choice.embeddings, k, mmr_lambda=self.mmr_lambda)


@dataclass(frozen=True, slots=True)
class TopK:
    """The first k of plain search with the question, whatever a judge says."""

    def select(self, choice: Choice, k: int) -> Selection:
        """Takes the first k.

        Args:
            choice: The candidates, and what is known of them.
            k: Maximum number to choose.

        Returns:
            min(k, n) candidates, with 1 / place as score.
        """
        order = choice.plain_order()[:k]
        return Selection(tuple(order), tuple(1.0 / place for place in range(1, len(order) + 1)))


def _quotas_where_one_sided(choice: Choice, k: int) -> list[int]:
    """The quotas, raised to k / m for what none of plain search's first k is listed under, while
    one of them is listed under another perspective.
    """
    shown = choice.listed[choice.plain_order()[:k]]
    found = [bool(shown[:, side].any()) for side in range(shown.shape[1])]
    share = k // len(found) if any(found) else 0
    return [
        own if there else max(own, share) for own, there in zip(choice.quotas, found, strict=True)
    ]


def _fill_quotas(choice: Choice, picked: Selection, quotas: Sequence[int]) -> Selection:
    """The selection once each perspective has its quota, where candidates are listed under it. One
    that comes in has the score of the place it takes, so that scores never rise.
    """
    chosen = repair(picked.indices, choice.listed, choice.support, quotas)
    return Selection(tuple(chosen), tuple(picked.scores))


def _check_known(cosines: Vector | Matrix, to: str) -> Vector:
    if np.isnan(cosines).any():
        raise _unknown_error(f"cosines of the candidates to {to}")
    return cosines


def _unknown_error(what: str) -> ConfigError:
    return ConfigError(f"this selector needs {what}: pass embedder=, or choose by another selector")
