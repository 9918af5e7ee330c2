"""The figures as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.core.table import Table
from benchmarks.core.text import against, with_interval

NOTHING = "-"


def tables(results: Mapping[str, Any], title: str) -> list[Table]:
    """The comparison of the rows, and the judge's figures where there are any."""
    cuts = results["k"]
    found = [both_table(results, f"{title}: the choice, costs at k = {cuts[0]}")]
    found += [listed_table(results, f"{title}: what is listed, k = {k}", k) for k in cuts]
    if "judge" in results:
        found.append(judge_table(results["judge"], f"{title}: the judge"))
    return found


def both_table(results: Mapping[str, Any], title: str) -> Table:
    """The choice of k at each k, and what it costs."""
    cuts = list(results["k"])
    table = Table(
        title,
        (
            "row",
            *(f"both sides among {k}" for k in cuts),
            *(f"vs top-k at {k} (p)" for k in cuts),
            *(f"worse / better at {k}" for k in cuts),
            "pairs judged",
            "searches",
            "seconds",
        ),
    )
    for name, row in results["rows"].items():
        at = [row["at"][str(k)] for k in cuts]
        seconds = row.get("seconds_p50")
        table.add(
            name,
            *(with_interval(each["both_sides"]) for each in at),
            *(_difference(each["against_top_k"]) for each in at),
            # Results of before these were counted have none.
            *(f"{each['worse']} / {each['better']}" if "worse" in each else "-" for each in at),
            f"{at[0]['pairs']:.1f}",
            f"{at[0]['searches']:.1f}",
            _number(seconds, 1, 3),
        )
    return table


def listed_table(results: Mapping[str, Any], title: str, k: int) -> Table:
    """What the rows that list supports show at one k."""
    table = Table(
        title,
        (
            "row",
            "listed",
            "true",
            "opposing",
            "silent",
            "under both",
            "of those present",
            "coverage claimed",
            "claims true",
            "claims proved",
            "abstained",
        ),
    )
    for name, row in results["rows"].items():
        at = row["at"][str(k)]
        if at["listed"] is None:
            continue
        listed, claims = at["listed"], at["claims"]
        table.add(
            name,
            f"{listed['count']}",
            *(_share(listed[each]) for each in ("true", "opposing", "silent")),
            f"{listed['under_both']}",
            _share(listed["of_present"]),
            f"{claims['count']} of {results['questions']}",
            _share(claims["true"]),
            _share(claims["proved"]),
            f"{at['abstained']}",
        )
    return table


def judge_table(judge: Mapping[str, Any], title: str) -> Table:
    """What the judge's probabilities are worth, over whole pools and over what was returned."""
    table = Table(
        title,
        (
            "pairs",
            "number",
            "share true",
            "AUC support / rest",
            "AUC support / opposing",
            "calibration error",
            "cross-fitted",
        ),
    )
    for name, found in judge.items():
        table.add(
            name,
            f"{found['pairs']:,}",
            _number(found["share_true"], 100, 1),
            _number(found["order"]["support_against_rest"], 1, 3),
            _number(found["order"]["support_against_opposing"], 1, 3),
            f"{found['error']:.3f}",
            f"{found['error_cross_fitted']:.3f}",
        )
    return table


def stage_table(found: Mapping[str, Any], title: str) -> Table:
    """What is left after each stage."""
    table = Table(title, ("stage", "both sides", "sides left", "lost here"))
    for name, stage in found["stages"].items():
        table.add(
            name,
            with_interval(stage["both_sides"]),
            f"{stage['sides_left']} of {found['sides']}",
            f"{stage['lost_here']}",
        )
    return table


def claim_table(found: Mapping[str, Any], title: str) -> Table:
    """Claims and abstentions by corpus."""
    table = Table(title, ("asked over", "coverage claimed", "abstained", "listed", "pairs judged"))
    for name, rates in found.items():
        table.add(
            name,
            with_interval(rates["claimed"]),
            with_interval(rates["abstained"]),
            f"{rates['listed']} of {rates['returned']} returned",
            f"{rates['pairs']:.1f}",
        )
    return table


def audit_table(found: Mapping[str, Any], title: str) -> Table:
    """What a person says of the sample."""
    table = Table(title, ("sample", "support", "oppose", "do neither", "agree with the labels"))
    table.add(
        f"{found['marked']} listed supports",
        *(_share(found[kind]) for kind in ("true", "opposing", "silent")),
        f"{found['agree_with_labels']} of {found['marked']}",
    )
    return table


def labelled_table(found: Mapping[str, Any], title: str, k: int) -> Table:
    """The questions scored by labels."""
    table = Table(
        title,
        (
            "row",
            f"MRecall@{k}",
            "vs top-k (p)",
            f"Precision@{k}",
            "listed",
            "true",
            "opposing",
            "coverage claimed",
            "claims true",
        ),
    )
    for name, row in found["rows"].items():
        listed, claims = row["listed"], row["claims"]
        table.add(
            name,
            with_interval(row[f"mrecall@{k}"]),
            _difference(row["against_top_k"]),
            with_interval(row[f"precision@{k}"]),
            *(
                (
                    str(listed["count"]),
                    _share(listed["true"]),
                    _share(listed["opposing"]),
                    f"{claims['count']} of {found['questions']}",
                    _share(claims["true"]),
                )
                if listed
                else (NOTHING,) * 5
            ),
        )
    return table


def labelled_sets_table(found: Mapping[str, Any], title: str, k: int) -> Table:
    """Each set of the questions scored by labels, row by row."""
    table = Table(
        title,
        (
            "set, row",
            "questions",
            f"all / some / no sides among {k}",
            f"Precision@{k}",
            "listed true",
            "supports present listed",
            "claims true",
            "abstained",
            "no sides read",
        ),
    )
    for name, own in found["sets"].items():
        for row, figures in own["rows"].items():
            among, listed, claims = (figures[e] for e in ("sides_among_k", "listed", "claims"))
            table.add(
                f"{name}, {row}",
                str(own["questions"]),
                f"{among['all']} / {among['some']} / {among['none']}",
                f"{100 * figures[f'precision@{k}']['mean']:.1f}",
                *(
                    (
                        _parts(listed["count"], listed["true"]),
                        _share(listed["of_present"]),
                        _parts(claims["count"], claims["true"]),
                        str(figures["abstained"]),
                        str(figures["without_perspectives"]),
                    )
                    if listed
                    else (NOTHING,) * 5
                ),
            )
    return table


def markdown(tables: Sequence[Table], *lines: str) -> str:
    """Tables and lines below each other."""
    return "\n".join([*(table.markdown() for table in tables), *(f"{line}\n" for line in lines)])


def _parts(whole: int, found: Mapping[str, float] | None) -> str:
    """A share of a whole as a count: "3 of 7"."""
    return f"{round(whole * found['mean'])} of {whole}" if found is not None else NOTHING


def _share(found: Mapping[str, float] | None) -> str:
    return with_interval(found) if found is not None else NOTHING


def _difference(found: Mapping[str, float]) -> str:
    return against(None if found["low"] == found["high"] == 0.0 else found)


def _number(value: float | None, factor: float, places: int) -> str:
    return NOTHING if value is None else f"{factor * value:.{places}f}"


def long_table(found: Mapping[str, Any], title: str) -> Table:
    """Where in a chunk the passage stands, and what becomes of it."""
    columns = ("the passage", "listed, its side", "listed, other side", "not about it", "quoted")
    table = Table(title, columns)
    for place, row in found["rows"].items():
        names = ("listed", "opposing", "not_about_it", "quoted")
        table.add(place, *(f"{row.get(name, 0)} of {found['chunks']}" for name in names))
    return table
