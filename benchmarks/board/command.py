"""Every claim about quality in one table, on sets with labels, beside peers.

python -m benchmarks board --data DATA                # all sets: the committed board is made anew
python -m benchmarks board --data DATA --only devices # these rows alone; others keep their date
python -m benchmarks board --data DATA --sample       # a few questions, against the committed board
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.board.cost import cost_table, read_prices, tokens_a_question
from benchmarks.board.page import kind_of, page, quality_tables, read_protocol, write_looked
from benchmarks.board.recorded import recorded_rows
from benchmarks.board.scoring import LOWER, MINE, RecordedVerdicts, choices, fall, figures, readings
from benchmarks.board.sets import FILES, BoardSet, read_sets
from benchmarks.core import results
from benchmarks.core.command import Benchmark, Run, progress, publish
from benchmarks.list_judge import recording
from benchmarks.list_judge.command import RECORD
from benchmarks.list_judge.report import replay
from benchmarks.list_judge.tasks import HUMAN
from benchmarks.sides.asking import PoolBench
from benchmarks.sides.data import Pools
from perspective_rag import ConfigError, CorpusError, OnnxMiniLM
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL

SAMPLE = 4
"""Questions of each set in a sample."""
NOISE = 0.01
"""Arithmetic of another processor moves a share by less."""
BOARD = results.RESULTS / "board.json"


def _run(run: Run) -> int:
    """The status is 1 where a row of a sample fell by more than its noise."""
    options, started = run.options, time.perf_counter()
    sets = read_sets(options.data, limit=SAMPLE if options.sample else None)
    sets = [s for s in sets if not options.only or any(part in s.name for part in options.only)]
    if not sets:
        raise CorpusError(f"{options.data} holds no set of the board that was asked for")
    embedder = run.embedder or OnnxMiniLM()
    recorded, protocol = recording.load(options.record), read_protocol()
    kept = results.read(options.out)["results"] if options.out.is_file() else {"rows": []}
    today = f"{datetime.now(timezone.utc):%Y-%m-%d}"
    rows: list[dict[str, Any]] = []
    cost: dict[str, Any] = {}
    judge: Any = None
    with progress(run.console) as bars:
        bar = bars.add_task("asking", total=sum(13 * len(each.tasks) for each in sets))
        for each in sets:
            heard = _heard(each, recorded)
            judges = [run.judge] if heard is None else [run.judge, heard]

            def bench(pools: Pools, which: int, judges: Sequence[Any] = judges) -> PoolBench | None:
                if which == len(judges):
                    return None
                return PoolBench(pools, embedder, judges[which], options.cache, strict=True)

            judge = bench(each.pools, 0)
            measures = _measures(each, bench, lambda: bars.advance(bar))
            about = {"set": each.name, "date": today, "count": len(each.tasks)}
            ids = " ".join(task.id for task in each.tasks)
            rows += [
                {**about, "ids": ids, "measure": name, **figures(columns, seed=options.seed)}
                for name, columns in measures.items()
            ]
            if heard is not None and not options.sample:
                cost[each.name] = tokens_a_question(each.tasks, recorded)
    if options.sample:
        return _compared(rows, kept["rows"], run)
    scored = [each.name for each in sets]
    if options.only:
        rows += [row for row in kept["rows"] if row["set"] not in scored and "from" not in row]
        rows.sort(key=lambda row: list(FILES).index(row["set"]))
        cost = {**kept.get("cost", {}), **cost}
    live = {row["set"] for row in rows}
    rows += [row for row in recorded_rows() if row["set"] not in live]
    if options.out == BOARD:
        write_looked(scored, today)
    document = results.document(
        "board",
        arguments=_of_all_rows(run.given),
        config={"sets": scored},
        seed=options.seed,
        data={each.name: each.pools.fingerprint for each in sets},
        embedder=results.embedder_name(embedder),
        judge=results.judge_identity(judge.judge, None if run.judge else Path(DEFAULT_MODEL)),
        seconds=time.perf_counter() - started,
        degradations=0,
        results={
            "rows": [{**row, "kind": kind_of(protocol, row["set"])} for row in rows],
            "cost": cost,
            "language model": {"name": recorded["model"], "date": recorded["date"]},
        },
    )
    prices = read_prices(options.price_in, options.price_out)
    shown = [*quality_tables(document["results"]), cost_table(cost, prices)]
    publish(document, options.out, run.console, markdown=page(document, prices), shown=shown)
    return 0


def _heard(each: BoardSet, recorded: Mapping[str, Any]) -> RecordedVerdicts | None:
    """What a language model said of the set, None where it was not asked."""
    known = {prompt["task"] for prompt in recorded["prompts"].values()}
    if not all(task.key in known for task in each.tasks):
        return None
    read = replay(each.tasks, recorded)
    if any(one.result.trace.degradations for one in read):
        raise ConfigError(
            f"the prompts about {each.name} are not those that were recorded: record them anew "
            "with `python -m benchmarks list_judge`"
        )
    return RecordedVerdicts(recorded["model"], read)


def _measures(each: BoardSet, bench: Callable[..., Any], tick: Callable[[], None]) -> Any:
    """What is chosen, where there is more to choose from than pairs, and what is read."""
    own = each.own_pools
    measures = readings(each, bench(own, 0), bench(own, 1))
    if each.name == HUMAN:
        return measures
    chosen = choices(each, bench(each.pools, 0), bench(each.pools, 1), tick)
    return {f"both sides among {each.k}": chosen, **measures}


def _compared(
    rows: Sequence[Mapping[str, Any]], kept: Sequence[Mapping[str, Any]], run: Run
) -> int:
    known = {(row["set"], row["measure"]): row for row in kept}
    status = 0
    for row in rows:
        old = known.get((row["set"], row["measure"]))
        if old is None or not f"{old['ids']} ".startswith(f"{row['ids']} "):
            raise ConfigError(f"{run.options.out} holds other questions of {row['set']}")
        for name in [name for name in MINE if name in row["columns"]]:
            new, before = row["columns"][name], old["columns"][name]
            lower = row["measure"] in LOWER
            down = fall(new, before, lower=lower, seed=run.options.seed)
            status |= down > NOISE
            said = f"FELL by {100 * down:.0f} points or more" if down > NOISE else "holds"
            run.console.print(f"{row['set']}, {row['measure']}, {name}: {said}", highlight=False)
    return int(status)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks board",
        description="Every claim about quality in one table, beside peers, on sets with labels.",
        epilog="What the data folder lacks is left out. Nothing is downloaded.",
    )
    add = parser.add_argument
    add("--data", type=Path, required=True, help="the data folder")
    add("--only", action="append", help="only sets with this in their name")
    add("--sample", action="store_true", help=f"{SAMPLE} questions of each set, against --out")
    add("--record", type=Path, default=RECORD, help="the verdicts of a language model")
    add("--price-in", type=float, help="dollars a million tokens that a model reads")
    add("--price-out", type=float, help="dollars a million tokens that it writes")
    add("--out", type=Path, default=BOARD, help="the board's file (default: the committed one)")
    add("--cache", type=Path, default=results.CACHE, help="default: %(default)s")
    add("--seed", type=int, default=13, help="of the resampling")
    return parser


def _of_all_rows(given: Sequence[str]) -> list[str]:
    """The arguments without ``--only``: the page holds every row, each with its own date."""
    only = [i for i, each in enumerate(given) if each == "--only"]
    left_out = {*only, *(i + 1 for i in only)}
    return [each for i, each in enumerate(given) if i not in left_out]


main = Benchmark(_parser, _run)
