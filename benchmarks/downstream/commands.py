"""The command line that both experiments share, and the reader it names."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.core import local_server, results
from benchmarks.core.arguments import whole
from benchmarks.core.bootstrap import RESAMPLES
from benchmarks.core.command import progress
from benchmarks.downstream.asking import Request, ask, unanswered
from benchmarks.downstream.cost import Prices, agreed, estimate, is_paid
from benchmarks.downstream.retrieving import CONDITIONS
from benchmarks.pir.retrievers import RETRIEVERS, Choices, Retriever, load_retriever
from perspective_rag import CachedLLM, OpenAICompatibleLLM, PerspectiveRAGError
from perspective_rag.extend import LLM
from perspective_rag_train.append_log import AppendLog, slug

LOCAL = "local"


class Refused(PerspectiveRAGError):
    """A run that may cost money and was not agreed to."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A language model, its name without a server's address, and whether asking may cost money."""

    llm: LLM
    name: str
    paid: bool


def add_arguments(parser: argparse.ArgumentParser, *, examples: int, max_tokens: int) -> None:
    """The options of both experiments."""
    add = parser.add_argument
    add(
        "--llm",
        default=LOCAL,
        help=f"a model's name on the server; {LOCAL!r}: {local_server.MODEL} on this machine, "
        "whose server is started where none answers (default: %(default)s)",
    )
    add("--base-url", help="the OpenAI-compatible server (default: OpenAI, or OPENAI_BASE_URL)")
    add("--local-python", help="an interpreter with torch for the local model's server")
    add("--port", type=whole, default=local_server.PORT, help="of that server")
    add(
        "--retriever",
        default="all-minilm-l6-v2-int8",
        help=f"{', '.join(RETRIEVERS)}, st:MODEL or openai:MODEL (default: %(default)s)",
    )
    add("--embedding-url", help="the server of openai:MODEL")
    add("--condition", action="append", choices=CONDITIONS, help="only these rows (default: all)")
    add("--examples", type=whole, default=examples, help="sampled (default: %(default)s)")
    add("--max-tokens", type=whole, default=max_tokens, help="of a reply (default: %(default)s)")
    add("--concurrency", type=whole, default=8, help="requests under way (default: %(default)s)")
    add("--price-in", type=float, help="US dollars for a million tokens of prompts")
    add("--price-out", type=float, help="US dollars for a million tokens of replies")
    add(
        "--tokens-per-second",
        type=float,
        default=50.0,
        help="of one reply, for the estimate of the time (default: %(default)s)",
    )
    add("--yes", action="store_true", help="start a run that may cost money without asking")
    add("--seed", type=int, default=13, help="of the sample and the resampling")
    add("--resamples", type=whole, default=RESAMPLES, help="default: %(default)s")
    add("--out", type=Path, help="results file (default: in benchmarks/results)")
    add("--cache", type=Path, default=results.CACHE, help="default: %(default)s")


def retriever_of(options: argparse.Namespace) -> Retriever:
    """The retriever that the options name."""
    return load_retriever(options.retriever, Choices(base_url=options.embedding_url))


@contextmanager
def reader_of(options: argparse.Namespace) -> Iterator[Reader]:
    """The model that the options name, its replies kept in the cache."""
    if options.llm == LOCAL and options.base_url is None:
        python = {"python": options.local_python} if options.local_python else {}
        with local_server.started(port=options.port, **python) as url:
            yield _reader(options, local_server.MODEL, url)
    else:
        yield _reader(options, options.llm, options.base_url)


def _reader(options: argparse.Namespace, model: str, url: str | None) -> Reader:
    llm = OpenAICompatibleLLM(
        model, base_url=url, timeout=600.0, max_concurrency=options.concurrency
    )
    cached = CachedLLM(llm, options.cache / "downstream" / "replies.sqlite")
    return Reader(cached, model, is_paid(url))


def replies(
    requests: list[Request],
    reader: Reader,
    options: argparse.Namespace,
    *,
    benchmark: str,
    key: dict[str, Any],
    console: Console,
) -> list[Any]:
    """The rows of all requests, asked where they are not known; the cost is shown before.

    Raises Refused, ConfigError for another run at work, and LLMError.
    """
    folder = options.cache / "downstream"
    with AppendLog(folder, f"{benchmark}-{slug(reader.name)}", key) as ledger:
        missing = unanswered(requests, ledger)
        expected = estimate(
            [request.prompt for request in missing],
            _prices(options, paid=reader.paid),
            tokens_per_second=options.tokens_per_second,
            concurrency=options.concurrency,
        )
        if len(missing) < len(requests):
            console.print(f"{len(requests) - len(missing)} of {len(requests)} replies are known")
        if not agreed(expected, paid=reader.paid, yes=options.yes, console=console):
            raise Refused("nothing was asked")
        with progress(console) as bars:
            bar = bars.add_task("asking", total=len(missing))
            return ask(
                reader.llm,
                requests,
                ledger,
                concurrency=options.concurrency,
                told=lambda: bars.advance(bar),
            )


def _prices(options: argparse.Namespace, *, paid: bool) -> Prices:
    """Those of the options; a server on this machine is free where they name none."""
    if not paid and options.price_in is None and options.price_out is None:
        return Prices(0.0, 0.0)
    return Prices(options.price_in, options.price_out)


def conditions_of(options: argparse.Namespace) -> list[str]:
    """The rows asked for, in the table's order."""
    return [each for each in CONDITIONS if not options.condition or each in options.condition]
