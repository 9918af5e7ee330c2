"""The results of ``benchmarks.latency`` as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.core.table import Table


def tables(found: Mapping[str, Any]) -> list[Table]:
    """The results as tables, those of the parts that were run."""
    shown = [_pure_table(found["pure"]), _mmr_table(found["mmr"])]
    if "end_to_end" in found:
        shown += [whole_table(found["end_to_end"]), _judge_table(found["judge"])]
    return shown


def _pure_table(part: Mapping[str, Any]) -> Table:
    shape = part["shape"]
    table = Table(
        f"Pure steps, fetch_k {shape['fetch_k']}, {shape['perspectives']} perspectives, d "
        f"{shape['d']} (target: all together below {part['target_ms']:g} ms, {_said(part['met'])})",
        ("step", "p50 ms", "p95 ms", "fastest ms"),
    )
    for name, times in part["steps"].items():
        table.add(name, *(f"{times[each]:.2f}" for each in ("p50_ms", "p95_ms", "min_ms")))
    return table


def _mmr_table(part: Mapping[str, Any]) -> Table:
    table = Table(
        f"MMR, d {part['d']}, one run (target: {part['target_ratio']:g} times as fast, "
        f"{_said(part['met'])})",
        ("vectors", "k", "ours p50 ms", "LangChain p50 ms", "ratio", "of fastest", "same choice"),
    )
    for case in part["cases"]:
        table.add(
            f"{case['form']} of {case['n']}",
            str(case["k"]),
            f"{case['ours']['p50_ms']:.3f}",
            f"{case['langchain']['p50_ms']:.3f}",
            f"{case['ratio']:.1f}",
            f"{case['ratio_of_fastest']:.1f}",
            "yes" if case["same_choice"] else "no",
        )
    return table


def whole_table(part: Mapping[str, Any]) -> Table:
    """Whole questions, stage by stage, with and without the caches of an earlier round."""
    table = Table(
        f"Whole questions over {part['passages']:,} passages ({part['questions']} questions; index "
        f"{part['index_seconds']:.1f} s, first question {part['first_question_seconds']:.1f} s)",
        ("stage", "cold p50 ms", "cold p95 ms", "warm p50 ms", "warm p95 ms"),
    )
    for stage in part["cold"]["stages"]:
        cells = [
            f"{part[turn]['stages'][stage][name]:.1f}"
            for turn in ("cold", "warm")
            for name in ("p50_ms", "p95_ms")
        ]
        table.add(stage, *cells)
    for count in part["cold"]["mean"]:
        cold, warm = (f"{part[turn]['mean'][count]:.1f}" for turn in ("cold", "warm"))
        table.add(f"{count.replace('_', ' ')} (mean)", cold, "", warm, "")
    return table


def _judge_table(part: Mapping[str, Any]) -> Table:
    table = Table(
        f"Judge on passages of {part['mean_words']:.0f} words, in batches of {part['batch']}",
        ("judge", "pairs/s", "batch p50 ms", "batch p95 ms"),
    )
    times = part["batch_times"]
    table.add(
        f"{part['pairs']} pairs",
        f"{part['pairs_per_second']:.1f}",
        f"{times['p50_ms']:.1f}",
        f"{times['p95_ms']:.1f}",
    )
    return table


def _said(met: bool) -> str:
    return "met" if met else "missed"
