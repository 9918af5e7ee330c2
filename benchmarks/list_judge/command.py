"""Verdicts of a language model on whole lists: prompts to answer, replies to keep, figures.

python -m benchmarks list_judge prompts --data DATA --out FOLDER
python -m benchmarks list_judge record --data DATA --replies FOLDER --model NAME
python -m benchmarks list_judge report --data DATA
With --pairs: the same with one call a pair, on a sample.
"""

from __future__ import annotations

import argparse
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.core import results
from benchmarks.core.command import Benchmark, Run, publish
from benchmarks.list_judge import pairs, recording
from benchmarks.list_judge.report import figures, replay, tables
from benchmarks.list_judge.tasks import read_tasks
from perspective_rag import ConfigError

RECORD = Path(__file__).with_name("verdicts.json.gz")
PAIR_RECORD = RECORD.with_name("pair_verdicts.json.gz")


def _run(run: Run) -> int:
    """The status is 1 where a reply is lacking or could not be read."""
    return {"prompts": _prompts, "record": _record, "report": _report}[run.options.do](run)


def _prompts(run: Run) -> int:
    way = pairs if run.options.pairs else recording
    requests = way.requests_of(read_tasks(run.options.data))
    paths = recording.write_prompts(requests, _needed(run, "out"), way.REPLY)
    passages = sum(len(each.passages) for each in requests)
    run.console.print(
        f"{len(requests)} prompts about {passages} passages in {len(paths)} files: {paths[0]} ..."
    )
    return 0


def _record(run: Run) -> int:
    options = run.options
    way, path = (pairs, options.pair_record) if options.pairs else (recording, options.record)
    requests = way.requests_of(read_tasks(options.data))
    replies = recording.read_replies(_needed(run, "replies"))
    date = options.date or f"{datetime.now(timezone.utc):%Y-%m-%d}"
    document, problems = way.record(requests, replies, model=_needed(run, "model"), date=date)
    recording.save(document, path)
    for each in problems:
        run.console.print(each, highlight=False, markup=False)
    kept = document["prompts"]
    size = path.stat().st_size
    run.console.print(f"{len(kept)} of {len(requests)} prompts: {path}, {size} bytes")
    return int(bool(problems))


def _report(run: Run) -> int:
    options = run.options
    started = time.perf_counter()
    kept = recording.load(options.record)
    tasks = [each for each in read_tasks(options.data) if _is_recorded(each.key, kept)]
    found = replay(tasks, kept)
    measured = {"model": kept["model"], "recorded": kept["date"], "sets": figures(found)}
    shown = tables(measured["sets"], kept["model"])
    if options.pairs:
        measured["pairs"] = pairs.figures(tasks, found, recording.load(options.pair_record))
        shown.append(pairs.table(measured["pairs"]))
    judge = recording.the_judge(recording.RecordedLLM(kept, []))
    document = results.document(
        "list_judge",
        arguments=run.given,
        config={"batch_size": recording.POOL},
        seed=recording.SEED,
        data={"sets": sorted(measured["sets"])},
        embedder="none",
        judge=results.judge_identity(judge, None),
        seconds=time.perf_counter() - started,
        degradations=sum(len(each.result.trace.degradations) for each in found),
        results=measured,
    )
    publish(
        document,
        options.out or results.place("list_judge", partial=options.record != RECORD),
        run.console,
        markdown="\n".join(table.markdown() for table in shown),
        shown=shown,
    )
    return 0


def _is_recorded(key: str, kept: dict[str, Any]) -> bool:
    return any(each["task"] == key for each in kept["prompts"].values())


def _needed(run: Run, name: str) -> Any:
    value = getattr(run.options, name)
    if value is None:
        raise ConfigError(f"{run.options.do} needs --{name}")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks list_judge",
        description="One call of a language model a question: recorded verdicts, what they list.",
    )
    add = parser.add_argument
    add("do", choices=("prompts", "record", "report"), help="what to do")
    add("--data", type=Path, required=True, help="the data folder")
    add("--out", type=Path, help="prompts: a folder for them; report: a file for the results")
    add("--replies", type=Path, help="record: a folder of *.jsonl, a line a prompt: id and reply")
    add("--model", help="record: the name of the model that replied")
    add("--date", help="record: when it replied (today)")
    add("--record", type=Path, default=RECORD, help="the file of the verdicts")
    add("--pairs", action="store_true", help="one call a pair, on a sample of the pairs")
    add("--pair-record", type=Path, default=PAIR_RECORD, help="the file of their verdicts")
    return parser


main = Benchmark(_parser, _run)
