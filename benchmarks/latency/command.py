"""Milliseconds of a question: pure steps, MMR beside LangChain's, whole questions, the judge.

python -m benchmarks latency                      # the steps alone, on random vectors
python -m benchmarks download perspectrum
python -m benchmarks latency --corpus data/perspectrum/evidence.jsonl
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import Benchmark, Run, publish
from benchmarks.core.data import data_note, needed
from benchmarks.core.judges import JUDGES, named_judge
from benchmarks.latency import ONE_BLAS_THREAD, end_to_end
from benchmarks.latency.experiment import measure_questions, measure_steps
from benchmarks.latency.report import tables
from perspective_rag import Corpus, OnnxMiniLM

MEASURED = "passages.jsonl.gz"
"""The corpus of the committed results; its licences do not let it be handed on."""


def _run(run: Run) -> int:
    """The status is 0; a target that was missed is a result."""
    options, console = run.options, run.console
    started = time.perf_counter()
    corpus, data = None, {}
    if options.corpus is not None:
        corpus = end_to_end.thinned(
            Corpus.load(needed(options.corpus, "latency")), options.limit_corpus
        )
        data = {
            "name": options.corpus.name,
            "fingerprint": corpus.fingerprint,
            "passages": len(corpus),
        }
    judge, folder = run.judge, None
    if judge is None:
        judge, folder = named_judge(options.judge)
    identity, embedder_name, degradations = None, "none", 0
    with console.status("starting") as status:
        found = measure_steps(seed=options.seed, seconds=options.seconds, told=status.update)
        if corpus is not None:
            identity = results.judge_identity(judge, folder)
            embedder = run.embedder or OnnxMiniLM()
            embedder_name = results.embedder_name(embedder)
            found |= measure_questions(
                corpus,
                embedder,
                judge,
                questions=options.questions,
                strict=options.strict,
                told=status.update,
            )
            rounds = (found["end_to_end"]["cold"], found["end_to_end"]["warm"])
            degradations = sum(each["degradations"] for each in rounds)
    document = results.document(
        "latency",
        arguments=run.given,
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
    """Whether the run is other than the committed one."""
    whole = options.corpus is not None and options.corpus.name == MEASURED
    own = options.judge != "default"
    return bool(not whole or options.limit_corpus or options.questions or own)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks latency",
        description="Times the pure steps, MMR beside LangChain's, whole questions, and the judge.",
        epilog=data_note("latency", "Any corpus will do; the published figures have another."),
    )
    parser.add_argument("--corpus", type=Path, help="passages to ask over; else no questions")
    parser.add_argument("--limit-corpus", type=whole, help="N passages, evenly from the corpus")
    parser.add_argument("--questions", type=whole, help="ask the first N questions only")
    parser.add_argument("--judge", default="default", help=JUDGES)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each thing repeated")
    parser.add_argument("--out", type=Path, help="results file (.json; tables go beside it)")
    parser.add_argument("--seed", type=int, default=13, help="of the random vectors")
    parser.add_argument("--strict", action="store_true", help="any degradation is an error")
    return parser


main = Benchmark(_parser, _run)
