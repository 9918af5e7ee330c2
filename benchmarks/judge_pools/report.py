"""The tables of ``benchmarks.judge_pools``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table
from perspective_rag_train.pools import LISTED_PRECISION, SEARCHED_PRECISION

_AUCS = ("support / rest", "support / opposing", "side-taking / silent")


def tables(measured: Mapping[str, Any]) -> list[Table]:
    """AUCs, what is listed at a threshold, and shown against true probabilities."""
    of_aucs = Table(
        f"AUC over {measured['questions']} pools of {measured['labels']} labels, "
        "95% intervals over questions",
        ["the judge reads", *_AUCS, *(f"{name}, by question" for name in _AUCS)],
    )
    of_listed = Table(
        "Listed under the likelier statement, thresholds of the other folds",
        ["the judge reads", "for", "threshold", "listed", "true %", "opposing %", "found %"],
    )
    of_chances = Table(
        "P of the likelier statement, shown and true",
        ["the judge reads", "from", "passages", "shown %", "true %"],
    )
    for name, view in measured["views"].items():
        cells = []
        for which in of_aucs.columns[1:]:
            low, high = view["intervals"][which]
            cells.append(f"{view['auc'][which]:.3f} [{low:.2f}, {high:.2f}]")
        of_aucs.add(name, *cells)
        for purpose, precision in (
            ("listing", LISTED_PRECISION),
            ("searching", SEARCHED_PRECISION),
        ):
            row = view[purpose]
            of_listed.add(
                name,
                f"{purpose}, {precision:.0%} true",
                f"{row['threshold']:.3f}",
                f"{row['listed']:.0f}",
                f"{100 * row['true']:.1f}",
                f"{100 * row['opposing']:.1f}",
                f"{100 * row['share of all that take a side']:.1f}",
            )
        for row in view["reliability"]:
            of_chances.add(
                name,
                f"{row['from']:.3f}",
                f"{row['passages']:.0f}",
                f"{100 * row['shown']:.1f}",
                f"{100 * row['true']:.1f}",
            )
    return [of_aucs, of_listed, of_chances]
