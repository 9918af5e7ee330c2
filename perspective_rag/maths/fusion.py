"""Several rankings of ids into one."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from itertools import zip_longest
from typing import Any, TypeVar

from perspective_rag.errors import ConfigError
from perspective_rag.validation import is_number

Id = TypeVar("Id", bound=Hashable)

_ABSENT: Any = object()


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[Id]],
    *,
    weights: Sequence[float] | None = None,
    constant: float = 60,
) -> dict[Id, float]:
    """The fused score of every id, best first; ties keep the order of first appearance.

    score(id) = sum over the rankings that hold it of weight / (constant + rank), ranks from 1.
    Cormack, Clarke and Buettcher, SIGIR 2009 (constant 60).

    A ranking that does not hold an id gives it nothing, and one that holds it twice counts its
    first place alone; later ranks close up. ``weights``: one for each ranking, at least 0 and not
    all 0 (None: 1 each); higher: that ranking counts more. ``constant``: at least 0; higher: the
    top ranks stand out less. Raises ConfigError for weights, a constant or rankings that cannot
    be used.
    """
    _check_rankings(rankings)
    shares = _checked_weights(weights, len(rankings))
    if not is_number(constant) or not 0 <= constant < math.inf:
        raise ConfigError(f"constant must be a finite number of at least 0, got {constant!r}")
    votes: dict[Id, list[float]] = {}
    for ranking, share in zip(rankings, shares, strict=True):
        for rank, identity in enumerate(dict.fromkeys(ranking), start=1):
            votes.setdefault(identity, []).append(share / (constant + rank))
    # fsum: ids with the same ranks in other lists tie exactly, whatever the order of the lists.
    scores = {identity: math.fsum(given) for identity, given in votes.items()}
    return dict(sorted(scores.items(), key=lambda item: -item[1]))


def round_robin(rankings: Sequence[Sequence[Id]], *, as_published: bool = False) -> list[Id]:
    """All the first places in the order of the rankings, then all the second places, and so on.

    An id that was already taken is skipped, and its ranking waits for the next round. BERDS
    (Section 5): the rankings stand in the order in which their perspectives were generated.

    ``as_published=True`` keeps repeated ids, as the authors' code does; cut the list to 100 for
    their setting. A ranking that has ended is passed over. Raises ConfigError for rankings that
    are text.
    """
    _check_rankings(rankings)
    taken: list[Id] = [
        identity
        for places in zip_longest(*rankings, fillvalue=_ABSENT)
        for identity in places
        if identity is not _ABSENT
    ]
    return taken if as_published else list(dict.fromkeys(taken))


def seats(rankings: Sequence[Sequence[Id]]) -> dict[Id, int]:
    """Each ranking in turn gives its best id that was not taken yet: of every first part of the
    list each has the same share, seats of its own. Ids in this order, each with the place of the
    ranking that gave it.

    Unlike ``round_robin``, a ranking whose next id is already taken gives the one after it: to
    agree with another costs it no place. One that has nothing left is passed over. Raises
    ConfigError for rankings that are text.
    """
    _check_rankings(rankings)
    taken: dict[Id, int] = {}
    waiting = [(place, iter(ranking)) for place, ranking in enumerate(rankings)]
    while waiting:
        for turn in list(waiting):
            place, ranking = turn
            best = next((each for each in ranking if each not in taken), _ABSENT)
            if best is _ABSENT:
                waiting.remove(turn)
            else:
                taken[best] = place
    return taken


def _check_rankings(rankings: Sequence[Sequence[Any]]) -> None:
    for place, ranking in enumerate([rankings, *rankings]):
        if isinstance(ranking, (str, bytes)):
            what = f"ranking {place - 1}" if place else "rankings"
            raise ConfigError(
                f"{what} must be a list of ids, got the text {ranking!r}: wrap it in []"
            )


def _checked_weights(weights: Sequence[float] | None, count: int) -> Sequence[float]:
    if weights is None:
        return [1.0] * count
    if len(weights) != count:
        raise ConfigError(f"weights must hold one number for each of {count} rankings: {weights!r}")
    for weight in weights:
        if not is_number(weight) or not 0 <= weight < math.inf:
            raise ConfigError(f"weights must be finite and at least 0, got {weight!r}")
    if count and not any(weights):
        raise ConfigError("weights are all 0: give at least one ranking a weight above 0")
    return weights
