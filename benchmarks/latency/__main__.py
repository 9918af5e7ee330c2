"""Milliseconds of a question: pure steps, MMR beside LangChain's, whole questions, the judge.

python -m benchmarks.latency --corpus debate_corpus/passages.jsonl.gz
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import exit_status, publish
from benchmarks.core.table import Table, wide_console
from benchmarks.latency import ONE_BLAS_THREAD, end_to_end, mmr, pure
from perspective_rag import Corpus, CrossEncoderJudge, OnnxMiniLM
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL
from perspective_rag.protocols import Embedder, Judge


def main(
    arguments: Sequence[str] | None = None,
    *,
    embedder: Embedder | None = None,
    judge: Judge | None = None,
    console: Console | None = None,
) -> int:
    """Runs the benchmark; ``embedder`` and ``judge`` replace those of the command line.

    The exit status is 0, or 2 for what could not be done; a target that was missed is a result.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(given)
    console = console or wide_console()
    return exit_status(lambda: _run(options, given, embedder, judge, console), console)


def _run(
    options: argparse.Namespace,
    given: list[str],
    embedder: Embedder | None,
    judge: Judge | None,
    console: Console,
) -> int:
    started = time.perf_counter()
    corpus, data = None, {}
    if options.corpus is not None:
        corpus = end_to_end.thinned(Corpus.load(options.corpus), options.limit_corpus)
        data = {
            "name": options.corpus.name,
            "fingerprint": corpus.fingerprint,
            "passages": len(corpus),
        }
    folder = None
    if judge is None:
        folder = Path(options.judge) if options.judge else DEFAULT_MODEL
        judge = CrossEncoderJudge(options.judge)
    identity, embedder_name, degradations = None, "none", 0
    with console.status("pure steps") as status:
        found = {"pure": pure.measure(options.seed, seconds=options.seconds)}
        status.update("MMR beside LangChain's")
        found["mmr"] = mmr.measure(options.seed, seconds=options.seconds)
        if corpus is not None:
            identity = results.judge_identity(judge, folder)
            embedder = embedder or OnnxMiniLM()
            embedder_name = str(getattr(embedder, "name", type(embedder).__name__))
            status.update("judge")
            found["judge"] = end_to_end.judge_speed(corpus, judge)
            status.update("whole questions")
            questions = end_to_end.QUESTIONS[: options.questions]
            found["end_to_end"] = end_to_end.measure(
                corpus, questions, embedder, judge, strict=options.strict
            )
            rounds = (found["end_to_end"]["cold"], found["end_to_end"]["warm"])
            degradations = sum(each["degradations"] for each in rounds)
    document = results.document(
        "latency",
        arguments=given,
        config={
            "seconds": options.seconds,
            "questions": options.questions,
            "limit_corpus": options.limit_corpus,
            "one_blas_thread": ONE_BLAS_THREAD,
        },
        seed=options.seed,
        data=data,
        embedder=embedder_name,
        judge=identity,
        seconds=time.perf_counter() - started,
        degradations=degradations,
        results=found,
    )
    shown = tables(found)
    markdown = "\n".join(table.markdown() for table in shown)
    publish(document, options.out or _default_out(options), console, markdown=markdown, shown=shown)
    return 0


def tables(found: Mapping[str, Any]) -> list[Table]:
    """The results as tables, those of the parts that were run."""
    shown = [_pure_table(found["pure"]), _mmr_table(found["mmr"])]
    if "end_to_end" in found:
        shown += [_whole_table(found["end_to_end"]), _judge_table(found["judge"])]
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


def _whole_table(part: Mapping[str, Any]) -> Table:
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


def _default_out(options: argparse.Namespace) -> Path:
    """The committed results for a full run; a partial one must not replace them."""
    partial = options.corpus is None or options.limit_corpus or options.questions or options.judge
    name = "latency-partial.json" if partial else "latency.json"
    return (results.CACHE if partial else results.RESULTS) / name


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.latency",
        description="Times the pure steps, MMR beside LangChain's, whole questions, and the judge.",
    )
    parser.add_argument("--corpus", type=Path, help="passages to ask over; else no questions")
    parser.add_argument("--limit-corpus", type=whole, help="N passages, evenly from the corpus")
    parser.add_argument("--questions", type=whole, help="ask the first N questions only")
    parser.add_argument("--judge", help="folder or model id (default: ours)")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each thing repeated")
    parser.add_argument("--out", type=Path, help="results file (.json; tables go beside it)")
    parser.add_argument("--seed", type=int, default=13, help="of the random vectors")
    parser.add_argument("--strict", action="store_true", help="any degradation is an error")
    return parser


if __name__ == "__main__":
    sys.exit(main())
