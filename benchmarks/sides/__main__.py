"""What is shown as support, on pools whose every passage is labelled.

python -m benchmarks.sides --data judge_retrieved/pools_dev.jsonl.gz
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import Benchmark, Run
from benchmarks.core.judges import JUDGES, named_judge
from benchmarks.sides import commands, reading_commands
from benchmarks.sides.commands import Setting
from perspective_rag import (
    CascadeJudge,
    ConfigError,
    CrossEncoderJudge,
    LLMJudge,
    OnnxMiniLM,
    OpenAICompatibleLLM,
)
from perspective_rag.addons import PACKAGED_JUDGE


def _run(run: Run) -> int:
    """The status is 0; with --strict a degradation ends the run."""
    options, console = run.options, run.console
    embedder = run.embedder or OnnxMiniLM()
    judge, folder = run.judge, None
    if judge is None and options.judge == "default":
        folder = PACKAGED_JUDGE
    elif judge is None:
        named, folder = named_judge(options.judge)
        judge = CascadeJudge(named, embedder=embedder)
    if options.llm is not None:
        llm = OpenAICompatibleLLM(options.llm, base_url=options.base_url)
        first = CrossEncoderJudge() if judge is None else judge
        judge = CascadeJudge(first, embedder=embedder, llm_judge=LLMJudge(llm))
    setting = Setting(options, run.given, console, embedder, judge, folder)
    if options.labels is not None:
        if options.take is not None:
            return reading_commands.take(setting)
        return reading_commands.labelled(setting)
    if options.long is not None:
        return reading_commands.long_chunks(setting)
    if options.data is None:
        raise ConfigError("--data is needed: the pools, pools_dev.jsonl.gz")
    if options.read_audit is not None:
        return reading_commands.read_audit(setting)
    if options.audit_sample is not None or options.errors is not None:
        return reading_commands.write_listed(setting)
    if options.stages:
        return commands.stages(setting)
    if options.lacking is not None:
        return commands.lacking(setting)
    if options.extract:
        return commands.extract(setting)
    return commands.compare(setting)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.sides",
        description="Scores what is shown as support by labels of every passage.",
    )
    parser.add_argument("--data", type=Path, help="the pools: pools_dev.jsonl.gz")
    parser.add_argument("--limit", type=whole, help="ask the first N questions only")
    parser.add_argument("--only", action="append", help="only rows with this in their name")
    parser.add_argument("--judge", default="default", help=JUDGES)
    parser.add_argument(
        "--llm", metavar="MODEL", help="a language model asked where that is unsure"
    )
    parser.add_argument("--base-url", metavar="URL", help="its OpenAI-compatible server")
    parser.add_argument("--k", type=whole, default=5, help="passages, beside the comparison")
    parser.add_argument("--out", type=Path, help="results file (.json; a table goes beside it)")
    parser.add_argument(
        "--cache", type=Path, default=results.CACHE / "sides", help="default: %(default)s"
    )
    parser.add_argument(
        "--time", type=whole, help="report seconds too: of the first N questions, nothing kept"
    )
    parser.add_argument("--seed", type=int, default=13, help="of the resampling and the sample")
    parser.add_argument("--strict", action="store_true", help="any degradation is an error")
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--stages", action="store_true", help="where sides are lost")
    modes.add_argument("--extract", action="store_true", help="give the question alone")
    modes.add_argument("--lacking", type=Path, help="a corpus that says nothing of the questions")
    modes.add_argument("--long", type=Path, help="debates whose passages are set in long chunks")
    modes.add_argument("--audit-sample", type=whole, help="write N listed supports to be marked")
    modes.add_argument("--read-audit", type=Path, help="read the marks of a file back")
    modes.add_argument("--errors", type=Path, help="write the wrongly listed supports to be read")
    modes.add_argument(
        "--labels",
        type=Path,
        action="append",
        help="labels by reading, for --questions over --corpus",
    )
    parser.add_argument("--sides", type=Path, help="--extract: sides of extracted perspectives")
    parser.add_argument("--audit-file", type=Path, help="--audit-sample: the file to write")
    parser.add_argument("--questions", type=Path, help="--labels: questions, a file or a folder")
    parser.add_argument("--per-set", type=whole, help="--labels: the first N of each set only")
    parser.add_argument("--corpus", type=Path, help="--labels: the passages")
    parser.add_argument("--given", action="store_true", help="--labels: give gold perspectives")
    parser.add_argument(
        "--polar",
        action="store_true",
        help="--labels: of two gold perspectives each is the opposite of the other",
    )
    parser.add_argument("--work", type=Path, help="--labels: write what lacks a label to this file")
    parser.add_argument("--take", type=Path, help="--labels: add the labels of a work file")
    return parser


main = Benchmark(_parser, _run)


if __name__ == "__main__":
    sys.exit(main())
