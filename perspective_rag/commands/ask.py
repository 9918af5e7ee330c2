"""``perspective-rag ask``: one question, every side, the passages that prove it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from perspective_rag.answer.extractive import supporting_sentences
from perspective_rag.commands.parts import (
    calibration_option,
    console,
    corpus_options,
    judge_options,
    llm_options,
    opened_pipeline,
    whole,
)
from perspective_rag.judge.support import quick_judge
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.text import escaped
from perspective_rag.types import Answer, RetrievalResult


def add_command(commands: Any) -> None:
    """Adds ``ask`` to the subparsers."""
    parser = commands.add_parser("ask", help="answer a question from a corpus, every side of it")
    parser.add_argument("question", metavar="QUESTION")
    corpus_options(parser, required=True, index=True)
    answer_options(parser)
    parser.set_defaults(run=_run)


def answer_options(parser: argparse.ArgumentParser, *, once: bool = True) -> None:
    """Adds what an answer depends on; ``once``: and ``--json``, for a single answer."""
    parser.add_argument(
        "--perspective",
        action="append",
        metavar="TEXT",
        help="a side to cover; repeat for each (default: found in the question)",
    )
    parser.add_argument(
        "--discover",
        type=whole,
        default=2,
        metavar="N",
        help="where the question names no sides, take this many from the passages (default: 2)",
    )
    if once:
        parser.add_argument("--json", action="store_true", help="print the whole result as JSON")
    parser.add_argument(
        "--full", action="store_true", help="show the whole passages, not what proves their side"
    )
    parser.add_argument("-k", type=int, default=6, help="passages to show (default: 6)")
    calibration_option(parser)
    llm_options(parser, "for perspectives, verdicts and answer")
    judge_options(parser)
    parser.add_argument(
        "--strict", action="store_true", help="stop at anything that failed instead of reporting it"
    )


def chosen_options(options: argparse.Namespace) -> dict[str, Any]:
    """The pipeline's options among those of ``answer_options``."""
    return {
        "k": options.k,
        "discover": options.discover,
        "strict": options.strict,
        "calibration": options.calibration,
    }


def answered(
    pipeline: PerspectivePipeline, question: str, perspectives: Sequence[str] | None
) -> tuple[RetrievalResult, Answer]:
    """The passages for a question, and the answer that rests on them."""
    result = pipeline.retrieve(question, perspectives=perspectives)
    return result, pipeline.answer(result)


def proofs_of(
    pipeline: PerspectivePipeline, result: RetrievalResult
) -> Mapping[tuple[int, str], str]:
    """The sentence of each listed passage that supports its side best."""
    request = pipeline.request(result.question)
    return pipeline.run_step(supporting_sentences(quick_judge(pipeline.judge), result), request)


def write_json(result: RetrievalResult, answer: Answer) -> None:
    """Both as one JSON document on standard output; what is no number becomes null."""
    document = {"result": result.to_dict(), "answer": answer.to_dict()}
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    sys.stdout.write(escaped(text) + "\n")


def _run(options: argparse.Namespace) -> None:
    screen = console(stderr=options.json)
    pipeline = opened_pipeline(options, screen, **chosen_options(options))
    result, answer = answered(pipeline, options.question, options.perspective)
    if options.json:
        write_json(result, answer)
        return
    from perspective_rag.commands.showing import show

    show(result, answer, screen, proofs_of(pipeline, result), full=options.full)
