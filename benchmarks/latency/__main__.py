"""Milliseconds of a question: pure steps, MMR beside LangChain's, whole questions, the judge.

python -m benchmarks.latency --corpus debate_corpus/passages.jsonl.gz
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import publish, run_command
from benchmarks.latency import ONE_BLAS_THREAD, end_to_end, mmr, pure
from benchmarks.latency.report import tables
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
    run = partial(_run, embedder=embedder, judge=judge)
    return run_command(arguments, _parser(), run, console)


def _run(
    options: argparse.Namespace,
    given: list[str],
    console: Console,
    *,
    embedder: Embedder | None,
    judge: Judge | None,
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
    out = options.out or results.place("latency", partial=_partial(options))
    publish(document, out, console, markdown=markdown, shown=shown)
    return 0


def _partial(options: argparse.Namespace) -> bool:
    return bool(
        options.corpus is None or options.limit_corpus or options.questions or options.judge
    )


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
