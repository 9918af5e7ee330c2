"""Answers with citations, by several ways with the same model.

python -m benchmarks answers                                     # without a model
python -m benchmarks answers --llm local --local-python .venv-torch/bin/python
python -m benchmarks answers --llm qwen3 --base-url http://127.0.0.1:11434/v1 --hostile
python -m benchmarks answers --format debateqa --data test.jsonl
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.answers.data import FORMATS, Case, read_data
from benchmarks.answers.hostile import Attack, measure, read_attacks
from benchmarks.answers.methods import Method, methods
from benchmarks.answers.report import tables
from benchmarks.answers.scoring import figures, row
from benchmarks.core import local_server, results
from benchmarks.core.arguments import whole
from benchmarks.core.command import Benchmark, Run, progress, publish
from benchmarks.core.judges import JUDGES, named_judge
from perspective_rag import (
    CachedLLM,
    Corpus,
    OnnxMiniLM,
    OpenAICompatibleLLM,
    Passage,
    local_pipeline,
)
from perspective_rag.extend import LLM, Embedder, Judge
from perspective_rag_train.append_log import slug

LOCAL = "local"


def _run(run: Run) -> int:
    options, console = run.options, run.console
    started = time.perf_counter()
    judge, folder = run.judge, None
    if judge is None:
        judge, folder = named_judge(options.judge)
    embedder = run.embedder or OnnxMiniLM()
    data = read_data(options.format, options.data)
    cases = _sampled(data.cases, options.questions)
    with model_of(options) as llm, progress(console) as bars:

        def make(passages: Sequence[Passage]) -> dict[str, Method]:
            return _ways(options, passages, embedder, judge, llm)

        ways = make(data.passages)
        bar = bars.add_task("answering", total=len(cases) * len(ways))
        found: dict[str, Any] = {}
        for name, method in ways.items():
            rows = []
            for case in cases:
                rows.append(row(case, method(case.question), judge))
                bars.advance(bar)
            found[name] = {"figures": figures(rows), "rows": rows}
        attacked = None
        if options.hostile:
            attacks = _spread(read_attacks(), options.attacks)
            bar = bars.add_task("attacking", total=len(attacks))
            attacked = measure(data, attacks, make, done=lambda: bars.advance(bar))
    measured = {
        "format": options.format,
        "questions": len(cases),
        "silent": sum(not case.answerable for case in cases),
        "llm": _name(options),
        "methods": found,
        "hostile": attacked,
    }
    document = results.document(
        "answers",
        arguments=run.given,
        config={"k": options.k, "max_tokens": options.max_tokens, "llm": _name(options)},
        seed=0,
        data={"name": data.name, "fingerprint": Corpus(list(data.passages)).fingerprint},
        embedder=results.embedder_name(embedder),
        judge=results.judge_identity(judge, folder),
        seconds=time.perf_counter() - started,
        degradations=sum(each["failed"] for way in found.values() for each in way["rows"]),
        results=measured,
    )
    shown = tables(measured)
    name = f"answers-{slug(options.format)}" + (f"-{slug(_name(options))}" if options.llm else "")
    out = options.out or results.RESULTS / f"{name}.json"
    markdown = "\n".join(table.markdown() for table in shown)
    publish(document, out, console, markdown=markdown, shown=shown)
    return 0


def _ways(
    options: argparse.Namespace,
    passages: Sequence[Passage],
    embedder: Embedder,
    judge: Judge,
    llm: LLM | None,
) -> dict[str, Method]:
    # Without a time-out: a slow model is no worse model.
    pipeline = local_pipeline(
        Corpus(list(passages)),
        embedder=embedder,
        judge=judge,
        discover=2,
        timeout=None,
        cache=options.cache,
    )
    made = dict(methods(pipeline, llm, k=options.k, max_tokens=options.max_tokens))
    return {name: way for name, way in made.items() if name in (options.way or made)}


def _spread(attacks: Sequence[Attack], count: int | None) -> Sequence[Attack]:
    """So many of them, evenly spread over the kinds; all where None."""
    if count is None or count >= len(attacks):
        return attacks
    return [attacks[i * len(attacks) // count] for i in range(count)]


def _sampled(cases: Sequence[Case], count: int | None) -> list[Case]:
    """The first answerable questions and as many silent ones in proportion; all where None."""
    if count is None or count >= len(cases):
        return list(cases)
    asked = [case for case in cases if case.answerable]
    silent = [case for case in cases if not case.answerable]
    share = round(count * len(silent) / len(cases))
    return [*asked[: count - share], *silent[:share]]


@contextmanager
def model_of(options: argparse.Namespace) -> Iterator[LLM | None]:
    """The model of ``--llm``, its replies kept in the cache; None where none was named."""
    if options.llm is None:
        yield None
    elif options.llm == LOCAL and options.base_url is None:
        python = {"python": options.local_python} if options.local_python else {}
        with local_server.started(port=options.port, **python) as url:
            yield _cached(options, local_server.MODEL, url)
    else:
        yield _cached(options, options.llm, options.base_url)


def _cached(options: argparse.Namespace, model: str, url: str | None) -> LLM:
    llm = OpenAICompatibleLLM(model, base_url=url, timeout=600.0)
    return CachedLLM(llm, options.cache / "replies.sqlite")


def _name(options: argparse.Namespace) -> str:
    if options.llm is None:
        return "no model"
    known = options.llm == LOCAL and options.base_url is None
    return local_server.MODEL if known else str(options.llm)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks answers",
        description="Answers with citations: plain RAG, wrapped RAG, ours, and without a model.",
        epilog="Data: none to download for --format debates.",
    )
    add = parser.add_argument
    add("--format", choices=FORMATS, default="debates", help="of --data (default: %(default)s)")
    add("--data", type=Path, help="a file of that format (debates: a folder)")
    add("--questions", type=whole, help="only so many (default: all)")
    add("--llm", help=f"a model on the server; {LOCAL!r}: {local_server.MODEL} on this machine")
    add("--base-url", help="the OpenAI-compatible server (default: OpenAI, or OPENAI_BASE_URL)")
    add("--local-python", help="an interpreter with torch for the local model's server")
    add("--port", type=whole, default=local_server.PORT, help="of that server")
    add("--max-tokens", type=whole, default=400, help="of a reply (default: %(default)s)")
    add("--way", action="append", help="only this way to answer; repeat for each (default: all)")
    add("-k", type=whole, default=6, help="passages of an answer (default: %(default)s)")
    add("--judge", default="default", help=JUDGES)
    add("--hostile", action="store_true", help="also try every hostile passage (debates alone)")
    add("--attacks", type=whole, help="only so many hostile passages, spread over the kinds")
    add("--out", type=Path, help="results file (.json; the tables go beside it)")
    add("--cache", type=Path, default=results.CACHE / "answers", help="default: %(default)s")
    return parser


main = Benchmark(_parser, _run)
