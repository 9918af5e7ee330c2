"""What the command line does with the pools, mode by mode."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.core import results
from benchmarks.core.command import progress, publish
from benchmarks.core.table import Table
from benchmarks.sides import report
from benchmarks.sides.asking import Bench, PoolBench
from benchmarks.sides.calibration import (
    Pair,
    calibration_figures,
    judged_pairs,
    order_figures,
    shown_pairs,
)
from benchmarks.sides.data import Pools, read_pools
from benchmarks.sides.extract import ask_alone, extraction_figures, read_sides, write_open
from benchmarks.sides.lacking import claim_rates, over_another, over_own
from benchmarks.sides.plot import draw
from benchmarks.sides.reading import Outcome
from benchmarks.sides.rows import GUARDED, PERFECT, PLAIN, Row, rows
from benchmarks.sides.running import CUTS, Answers, answers, seconds_of
from benchmarks.sides.scoring import figures
from benchmarks.sides.stages import all_passed, stage_figures
from perspective_rag import ConfigError, Corpus
from perspective_rag.extend import Embedder, Judge


@dataclass(slots=True)
class Setting:
    """What a mode is given: the options, the models, and where to write.

    ``judge`` None: the package's own, of which ``judge_folder`` are the files.
    """

    options: argparse.Namespace
    given: list[str]
    console: Console
    embedder: Embedder
    judge: Judge | None
    judge_folder: Path | None
    started: float = field(default_factory=time.perf_counter)

    @property
    def cache(self) -> Path:
        """The folder of what is kept."""
        return Path(self.options.cache)

    def bench(self) -> Bench:
        """A bench without pools."""
        return Bench(self.embedder, self.judge, self.cache, strict=self.options.strict)

    def pool_bench(self, *, timed: int | None = None) -> PoolBench:
        """A bench with the pools of --data; ``timed``: with so many, and nothing kept."""
        options = self.options
        pools = read_pools(options.data, limit=timed or options.limit)
        cache = self.cache if timed is None else None
        return PoolBench(pools, self.embedder, self.judge, cache, strict=options.strict)

    @contextmanager
    def counting(self, what: str, total: int) -> Iterator[Callable[[], None]]:
        """A bar; what it gives is called after each of ``total`` steps."""
        with progress(self.console) as bars:
            task = bars.add_task(what, total=total)
            yield lambda: bars.advance(task)

    def publish(
        self,
        name: str,
        bench: Bench,
        data: Mapping[str, Any],
        config: Mapping[str, Any],
        found: Mapping[str, Any],
        tables: Sequence[Table],
        *lines: str,
        degradations: int = 0,
    ) -> Path:
        """Writes results and tables under a name and shows them; where the results are."""
        options = self.options
        own = options.judge != "default" or options.llm is not None
        partial = bool(options.limit or options.only or options.per_set or own)
        out: Path = options.out or results.place(name, partial=partial)
        document = results.document(
            "sides",
            arguments=self.given,
            config=config,
            seed=options.seed,
            data=data,
            embedder=results.embedder_name(self.embedder),
            judge=results.judge_identity(bench.judge, self.judge_folder),
            seconds=time.perf_counter() - self.started,
            degradations=degradations,
            results=found,
        )
        text = report.markdown(tables, *lines)
        publish(document, out, self.console, markdown=text, shown=tables)
        for line in lines:
            self.console.print(line, highlight=False, markup=False)
        return out


def compare(setting: Setting) -> int:
    """The rows against each other, and the calibration of what is shown."""
    bench, seed = setting.pool_bench(), setting.options.seed
    pools = bench.pools
    chosen = _chosen(rows(), setting.options.only)
    steps = len(pools.questions) * len(CUTS) * sum(len(row.settings) for row in chosen)
    found: dict[str, dict[int, Answers]] = {}
    with setting.counting("asking", steps) as step:
        for row in chosen:
            found[row.name] = {k: answers(row, bench, k, step) for k in CUTS}
    seconds = _seconds(setting, chosen)
    summary: dict[str, Any] = {
        "questions": len(pools.questions),
        "k": list(CUTS),
        "timed": setting.options.time,
        "rows": {
            row.name: {
                **row.to_dict(),
                "seconds_p50": seconds.get(row.name),
                "chosen": {
                    str(k): {str(fold): name for fold, name in each.chosen.items()}
                    for k, each in found[row.name].items()
                },
                "at": {
                    str(k): figures(
                        each.outcomes, pools.questions, found[PLAIN][k].outcomes, seed=seed
                    )
                    for k, each in found[row.name].items()
                },
            }
            for row in chosen
        },
    }
    title = f"{pools.name}, {len(pools.questions)} questions, 95% intervals"
    if GUARDED in found:
        guarded = {k: each.outcomes for k, each in found[GUARDED].items()}
        summary["judge"] = _judge_figures(setting, bench, guarded)
    out = setting.publish(
        "sides",
        bench,
        _data(pools),
        {"rows": {row.name: row.to_dict() for row in chosen}, "k": list(CUTS)},
        summary,
        report.tables(summary, title),
        degradations=sum(
            at["degradations"] for row in summary["rows"].values() for at in row["at"].values()
        ),
    )
    if "judge" in summary:
        picture = out.with_name(f"{out.stem}-calibration.svg")
        draw(summary["judge"], picture)
        setting.console.print(f"Calibration drawn to {picture}", highlight=False)
    return 0


def stages(setting: Setting) -> int:
    """Where sides are lost."""
    bench, k, seed = setting.pool_bench(), setting.options.k, setting.options.seed
    with setting.counting("asking", len(bench.pools.questions)) as step:
        passed = all_passed(bench, k, step)
    found = stage_figures(passed, k, seed=seed)
    title = f"{bench.pools.name}, {len(passed)} questions: where sides are lost, k = {k}"
    table = report.stage_table(found, title)
    setting.publish("sides_stages", bench, _data(bench.pools), {"k": k}, found, [table])
    return 0


def lacking(setting: Setting) -> int:
    """What is claimed over a corpus that says nothing about the questions."""
    bench, k, seed = setting.pool_bench(), setting.options.k, setting.options.seed
    corpus = Corpus.load(setting.options.lacking)
    count = len(bench.pools.questions)
    with setting.counting("asking", 2 * count) as step:
        outcomes = {
            setting.options.lacking.name: over_another(bench, corpus, k, step),
            "their own pools": over_own(bench, k, step),
        }
    found = {name: claim_rates(each, seed=seed) for name, each in outcomes.items()}
    title = f"{bench.pools.name}, {count} questions over a corpus that lacks them, k = {k}"
    setting.publish(
        "sides_lacking",
        bench,
        {**_data(bench.pools), "lacking": corpus.fingerprint, "passages": len(corpus)},
        {"k": k},
        {"over": found},
        [report.claim_table(found, title)],
        degradations=sum(each["degradations"] for each in found.values()),
    )
    return 0


def extract(setting: Setting) -> int:
    """The question alone is given; whose side an extracted perspective takes is said in a file."""
    bench, k, seed = setting.pool_bench(), setting.options.k, setting.options.seed
    pools = bench.pools
    path = setting.options.sides or Path(setting.options.cache) / f"{pools.name}-sides.jsonl"
    [plain] = [row for row in rows() if row.name == PLAIN]
    with setting.counting("asking", 2 * len(pools.questions)) as step:
        extracted = ask_alone(bench, k, read_sides(path), step)
        base = answers(plain, bench, k, step).outcomes
    waiting = write_open(extracted, path)
    outcomes: dict[str, Sequence[Outcome]] = {
        PLAIN: base,
        "guarded, question alone": [each.outcome for each in extracted],
    }
    found: dict[str, Any] = {
        "questions": len(pools.questions),
        "k": [k],
        "rows": {
            name: {"at": {str(k): figures(each, pools.questions, base, seed=seed)}}
            for name, each in outcomes.items()
        },
        "extraction": extraction_figures(extracted),
    }
    title = f"{pools.name}, {len(pools.questions)} questions alone, 95% intervals"
    read = ", ".join(f"{name} {n}" for name, n in found["extraction"]["questions"].items())
    setting.publish(
        "sides_extract",
        bench,
        _data(pools),
        {"k": k},
        found,
        [
            report.both_table(found, f"{title}: the choice"),
            report.listed_table(found, f"{title}: what is listed, k = {k}", k),
        ],
        f"Read as: {read}. Supports listed under neither side are not counted above: "
        f"{found['rows']['guarded, question alone']['at'][str(k)]['listed']['other']}.",
    )
    if waiting:
        setting.console.print(
            f"{waiting} extracted perspectives wait for a side (statement, opposite or neither) "
            f"in {path}; until then they count as neither.",
            highlight=False,
        )
    return 0


def _seconds(setting: Setting, chosen: Sequence[Row]) -> dict[str, float]:
    """The seconds of each row, where --time asks for them; those of perfect choice mean nothing."""
    count = setting.options.time
    if not count:
        return {}
    bench = setting.pool_bench(timed=count)
    timed = [row for row in chosen if row.name != PERFECT]
    with setting.counting("timing", len(timed) * len(bench.pools.questions)) as step:
        return {row.name: seconds_of(row, bench, CUTS[0], step) for row in timed}


def _judge_figures(
    setting: Setting, bench: PoolBench, guarded: Mapping[int, Sequence[Outcome]]
) -> dict[str, Any]:
    questions = bench.pools.questions
    with setting.counting("judging whole pools", len(questions)) as step:
        pairs: dict[str, list[Pair]] = {"whole pools": judged_pairs(bench, step)}
    for k, outcomes in guarded.items():
        pairs[f"the {k} returned"] = shown_pairs(outcomes, questions)
    return {
        name: {**calibration_figures(each), "order": order_figures(each)}
        for name, each in pairs.items()
        if each
    }


def _chosen(every: Sequence[Row], only: Sequence[str] | None) -> list[Row]:
    """The rows asked for; the baseline is always there."""
    for name in only or ():
        if not any(name in row.name for row in every):
            known = ", ".join(row.name for row in every)
            raise ConfigError(f"no row has {name!r} in its name: {known}")
    return [
        row
        for row in every
        if row.name == PLAIN or not only or any(name in row.name for name in only)
    ]


def _data(pools: Pools) -> dict[str, Any]:
    return {
        "name": pools.name,
        "fingerprint": pools.fingerprint,
        "passages": len(pools.passages),
        "questions": len(pools.questions),
    }
