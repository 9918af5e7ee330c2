"""The tables of perspective detection, from a results document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table
from benchmarks.perspective_detection import published


def tables(results: Mapping[str, Any]) -> list[Table]:
    """Every table there are results for."""
    made = [detection_table(results)]
    if results.get("domains"):
        made.append(domain_table(results["domains"]))
    if results.get("robustness"):
        made += robustness_tables(results["robustness"])
    if results.get("speed"):
        made.append(speed_table(results["speed"]))
    return made


def detection_table(results: Mapping[str, Any]) -> Table:
    """Table 7 of BERDS with our rows below."""
    first = next(iter(results["detection"].values()))
    title = (
        f"Perspective detection, percent: published rows on {published.PAIRS} human-labelled pairs "
        f"(BERDS Table 7), ours on {first['pairs']} of them ({first['positive']} positive), "
        "95% intervals over documents"
    )
    table = Table(
        title,
        (
            "judge",
            "positive",
            "accuracy",
            "F1",
            "AUC",
            f"right side ({first['one_sided_documents']} documents)",
            "calibration error",
            "pairs/s",
            "parameters",
        ),
    )
    for name, positive, accuracy, score in published.ROWS:
        table.add(name, f"{positive}", f"{accuracy}", f"{score}", "", "", "", "", "")
    for name, row in results["detection"].items():
        table.add(
            f"{name}, P >= {row['threshold']:.3f}",
            *(
                _interval(row[column])
                for column in (
                    "share_positive",
                    "accuracy",
                    "f1",
                    "auc",
                    "side_accuracy",
                    "calibration_error",
                )
            ),
            f"{results['pairs_per_second']:.0f}",
            _millions(results.get("parameters")),
        )
    return table


def domain_table(domains: Mapping[str, Mapping[str, float | None]]) -> Table:
    """Development pairs by where they come from."""
    table = Table(
        "Development pairs on topics that are not in the training data, by source",
        (
            "source",
            "pairs",
            "accuracy",
            "AUC, support against the rest",
            "AUC, support against oppose",
            "calibration error",
        ),
    )
    for source, row in domains.items():
        table.add(
            source,
            f"{row['pairs']:.0f}",
            *(
                "" if row[name] is None else f"{row[name]:.2f}"
                for name in (
                    "accuracy",
                    "auc_support_rest",
                    "auc_support_oppose",
                    "calibration_error",
                )
            ),
        )
    return table


def robustness_tables(found: Mapping[str, Any]) -> list[Table]:
    """Minimal pairs, attacks and long passages."""
    flips = Table(
        "A statement and its reversal beside one passage, percent of pairs",
        (
            "reversal",
            "pairs",
            "right side preferred",
            "verdict flips",
            "both accepted",
            "wrong one",
        ),
    )
    for relation, row in found["flips"].items():
        rates = (row[n] for n in ("right_side", "verdict_flips", "both", "wrong_only"))
        flips.add(relation, f"{row['pairs']:.0f}", *(f"{100 * rate:.1f}" for rate in rates))
    same = found["paraphrases"]
    paraphrase = Table(
        "A statement and its paraphrase beside one passage",
        ("", "pairs", "same verdict (percent)", "mean difference of P(support)"),
    )
    paraphrase.add(
        "paraphrase",
        f"{same['pairs']:.0f}",
        f"{100 * same['same_verdict']:.1f}",
        f"{same['mean_difference']:.3f}",
    )
    attack = Table(
        "Text that speaks to the judge: refused statements it makes accepted, percent",
        ("put into the passage", "passage", "refused before", "flipped", "mean rise of P(support)"),
    )
    for kind, rows in found["attacks"].items():
        for name, row in rows.items():
            attack.add(
                name,
                kind.split()[0],
                f"{row['refused_before']:.0f}",
                f"{100 * row['flipped']:.1f}",
                f"{row['mean_rise']:+.3f}",
            )
    long = Table(
        "The passage within about 600 words on other topics, percent of verdicts",
        ("place", "supported, still accepted", "opposed, newly accepted"),
    )
    for place, row in found["long"].items():
        long.add(place, *(f"{100 * row[n]:.1f}" for n in ("still_accepted", "newly_accepted")))
    return [flips, paraphrase, attack, long]


def speed_table(found: Mapping[str, Any]) -> Table:
    """The judge beside the same network in PyTorch."""
    table = Table(
        f"Pairs a second, passages of {found['words']} words, both in one run",
        ("", "ONNX, as shipped", "PyTorch, float32", "times faster"),
    )
    torch = found["pytorch"]
    table.add(
        "cross-encoder",
        f"{found['onnx']:.0f}",
        f"{torch:.0f}" if torch else "",
        f"{found['onnx'] / torch:.1f}" if torch else "",
    )
    return table


def _interval(row: Mapping[str, float | None]) -> str:
    if row["value"] is None or row["low"] is None or row["high"] is None:
        return ""
    return f"{100 * row['value']:.1f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"


def _millions(parameters: int | None) -> str:
    return f"{parameters / 1e6:.1f} M" if parameters else ""
