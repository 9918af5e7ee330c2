"""What is about to be listed, and what nearly is, is read again by a surer judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError, JudgeError, MissingDependency
from perspective_rag.flow.request import Request, degrade, note, stage
from perspective_rag.flow.steps import Flow
from perspective_rag.judge.support import (
    checked,
    contradictions,
    is_judged,
    listed,
    related,
    relevance_on_scale,
    rule_of,
    support_matrix,
)
from perspective_rag.types import Candidate, Extraction, ListingRule, Matrix, Vector

Choose = Callable[[Request, Extraction, Sequence[Candidate]], list[Candidate]]

FIRST = "first:"
"""Before a perspective's id in ``Candidate.scores``: what the first judge said."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """A candidate to read beside one side and what contradicts it (None: its negation)."""

    row: int
    side: int
    rival: int | None


@stage
def second_reading(
    request: Request,
    extraction: Extraction,
    candidates: Sequence[Candidate],
    chosen: Sequence[Candidate],
    choose: Choose,
) -> Flow[list[Candidate]]:
    """The choice made again (``choose``) with the second judge's verdicts, among what was chosen
    and what else was read; the chosen as they are where nothing is read again.

    At most ``reread_k`` texts are read: the listed ones first, then the others that were chosen,
    then the likeliest of the candidates. Each is read beside the side that it most likely supports
    and the likeliest that contradicts that one. The second judge's P(support), moved to the scale
    of the request's listing rule, takes the place of the first one's: what it lists is listed, and
    of what it read nothing else. The first one's stays in ``scores``. What it could not judge keeps
    the first verdict, which is recorded. Named alternatives ("A or B?") are not read again: second
    judges learn and are measured on a statement and its opposite, and confirm too few of these.
    """
    second, limit = request.second_judge, request.options.reread_k
    if second is None or limit == 0 or not is_judged(request, extraction):
        return list(chosen)
    if extraction.kind == "alternatives":
        return list(chosen)
    pool = _pool(request, candidates, chosen)
    rule = rule_of(request, extraction)
    about = related(pool, request.floor) if request.floor is not None else None
    cells = _cells(pool, chosen, extraction, rule, about)[:limit]
    if not cells:
        return list(chosen)
    perspectives = extraction.perspectives
    support = support_matrix(pool, perspectives)
    sides = [
        (perspectives[c.side], None if c.rival is None else perspectives[c.rival]) for c in cells
    ]
    first = [
        (support[c.row, c.side], np.nan if c.rival is None else support[c.row, c.rival])
        for c in cells
    ]
    try:
        passages = [pool[c.row].passage for c in cells]
        near = relevance_on_scale([pool[c.row] for c in cells], request.scale)
        read = second.read_again(sides, passages, np.array(first), near)
        found = yield from checked(second.name, read, (len(cells), 2))
    except (ConfigError, MissingDependency):
        raise
    except Exception as error:
        problem = JudgeError(f"judge {second.name!r}: {error}")
        problem.__cause__ = error
        degrade("second_reading", f"{len(cells)} texts were not read again", problem)
        return list(chosen)
    note(counts={"read_again": len(cells)})
    own = second.second_listing
    if request.options.min_support is not None:
        own = own.listing_from(request.options.min_support)
    held = {id(each) for each in chosen}
    kept = {row: each for row, each in enumerate(pool) if id(each) in held}
    for cell, values in zip(cells, on_scale(found, own, rule), strict=True):
        if not np.isnan(values).any():
            before = kept.get(cell.row, pool[cell.row])
            kept[cell.row] = _with_verdict(before, extraction, cell, values, rule)
    final = [kept[row] for row in sorted(kept)]
    return choose(request, extraction, final)


def _with_verdict(
    candidate: Candidate, extraction: Extraction, cell: _Cell, values: Vector, rule: ListingRule
) -> Candidate:
    """The candidate with what was read of it. A further side that contradicts the one read was
    less likely at first, and is not listed because that one now is doubted.
    """
    perspectives = extraction.perspectives
    against = contradictions(perspectives, exclusive=extraction.exclusive)[cell.side]
    below = float(np.nextafter(rule.threshold, 0.0))
    new = {
        each.id: min(candidate.support[each.id], below)
        for each in (perspectives[i] for i in np.flatnonzero(against))
        if each.id in candidate.support
    }
    for side, value in zip((cell.side, cell.rival), values.tolist(), strict=True):
        if side is not None:
            new[perspectives[side].id] = value
    first = {FIRST + key: value for key, value in candidate.support.items() if key in new}
    scores = {**first, **candidate.scores}
    return replace(candidate, support={**candidate.support, **new}, scores=scores)


def on_scale(support: Matrix, own: ListingRule, rule: ListingRule) -> Matrix:
    """P(support) of two contradicting sides by the rule ``own`` as ``rule`` is to read them.

    Both of shape (n, 2); NaN stays NaN. The verdicts of ``rule`` on the result are those of ``own``
    on what is given, so that one rule serves a whole result.
    """
    verdicts = own.verdicts(support, np.array([[False, True], [True, False]]))
    moved = own.moved(support, rule)
    below = np.nextafter(rule.threshold, 0.0)
    for row, said in zip(moved, verdicts, strict=True):
        clear = said == "clear"
        row[~clear] = np.minimum(row[~clear], below)
        if clear.any():
            lead = np.nextafter(row[clear][0] - rule.lead, 0.0)
            row[~clear] = np.minimum(row[~clear], max(lead, 0.0))
        elif "mixed" in said:
            row[:] = row.mean()  # neither leads
    return moved


def _pool(
    request: Request, candidates: Sequence[Candidate], chosen: Sequence[Candidate]
) -> list[Candidate]:
    """Every candidate once, as it was chosen where it was; what only the guard found comes last."""
    keys = request.keys([each.passage for each in candidates])
    own = request.keys([each.passage for each in chosen])
    known = dict(zip(keys, candidates, strict=True))
    return list((known | dict(zip(own, chosen, strict=True))).values())


def _cells(
    pool: Sequence[Candidate],
    chosen: Sequence[Candidate],
    extraction: Extraction,
    rule: ListingRule,
    about: NDArray[np.bool_] | None,
) -> list[_Cell]:
    """What to read, the most important first; of a candidate what it is listed under, else the
    side that it most likely supports.
    """
    perspectives = extraction.perspectives
    support = np.nan_to_num(support_matrix(pool, perspectives), nan=-1.0)
    shown = listed(pool, perspectives, rule, exclusive=extraction.exclusive)
    against = contradictions(perspectives, exclusive=extraction.exclusive)
    held = {id(each) for each in chosen}
    cells: list[tuple[tuple[bool, bool, float], _Cell]] = []
    for row, candidate in enumerate(pool):
        if not candidate.support or (about is not None and not about[row]):
            continue
        sides = np.flatnonzero(shown[row]).tolist() or [int(np.argmax(support[row]))]
        for side in sides:
            rivals = np.flatnonzero(against[side]).tolist()
            rival = max(rivals, key=lambda i: support[row, i]) if rivals else None
            rank = not shown[row, side], id(candidate) not in held, -float(support[row, side])
            cells.append((rank, _Cell(row, side, rival)))
    return [cell for _, cell in sorted(cells, key=lambda each: each[0])]
