"""From replies to the numbers of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.ambigqa.scoring import contains, exact_match, f1, said
from benchmarks.core.bootstrap import interval, paired_difference
from benchmarks.downstream.retrieving import GOLD

BASE = "plain"


@dataclass(frozen=True, slots=True)
class Row:
    """The replies under one condition, and 1.0 where a gold passage was given, query by query."""

    replies: Sequence[str]
    hits: Sequence[float]


def summary(
    rows: Mapping[str, Row], answers: Sequence[Sequence[str]], *, seed: int, resamples: int
) -> dict[str, Any]:
    """For each condition its measures: the mean over queries with its interval, and the difference
    from plain on the same queries.

    ``hit``: a gold passage was given. With known answers ``exact_match``, ``f1`` and ``contains``;
    where rows hold "gold", ``agreement``: the F1 of a reply with the reply to the gold passage, for
    data without answers.
    """
    gold = rows[GOLD].replies if GOLD in rows else None
    values = {name: _values(row, answers, gold) for name, row in rows.items()}
    base = values.get(BASE, {})
    return {
        name: {
            measure: {
                **interval(found, seed=seed, resamples=resamples).to_dict(),
                "against_plain": (
                    paired_difference(
                        found, base[measure], seed=seed, resamples=resamples
                    ).to_dict()
                    if measure in base and name != BASE
                    else None
                ),
            }
            for measure, found in measures.items()
        }
        for name, measures in values.items()
    }


def _values(
    row: Row, answers: Sequence[Sequence[str]], gold: Sequence[str] | None
) -> dict[str, list[float]]:
    replies = [said(reply) for reply in row.replies]
    found = {"hit": list(row.hits)}
    if all(answers):
        pairs = list(zip(replies, answers, strict=True))
        found["exact_match"] = [exact_match(reply, accepted) for reply, accepted in pairs]
        found["f1"] = [f1(reply, accepted) for reply, accepted in pairs]
        found["contains"] = [contains(reply, accepted) for reply, accepted in pairs]
    if gold is not None:
        found["agreement"] = [
            f1(reply, [said(best)]) for reply, best in zip(replies, gold, strict=True)
        ]
    return found
