"""``perspective-rag serve``: a page, a JSON API, and what other products speak, on one port."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perspective_rag import ConfigError, CorpusError, MissingDependency
from perspective_rag.commands import (
    calibration_option,
    corpus_options,
    judge_options,
    llm_options,
    whole,
)

if TYPE_CHECKING:
    from perspective_rag_serve.settings import ServeSettings

TOKEN = "PERSPECTIVE_RAG_TOKEN"  # noqa: S105, the name of a variable
CONNECTIONS = 1000
"""Open at a time, where the system lets a process open so many."""


def add_command(commands: Any) -> None:
    """Adds ``serve`` to the subparsers."""
    parser = commands.add_parser(
        "serve", help="a page, a JSON API, rerank, chat and MCP over a corpus, on one port"
    )
    source_options(parser)
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="address to listen at (default: this machine alone)")
    add("--port", type=whole, default=8000, help="(default: 8000; 0: any that is free)")
    add(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="a name, besides localhost, under which clients reach the server; repeat for each",
    )
    add(
        "--token-file",
        type=Path,
        metavar="FILE",
        help=f"holds the token that clients must show (default: ${TOKEN}, or none)",
    )
    add("--review", type=Path, metavar="FILE", help='where "wrong side?" is written (default: off)')
    add("--question", action="append", metavar="TEXT", help="a question that the page offers")
    add("--running", type=whole, default=4, help="answers worked on at a time (default: 4)")
    add("--waiting", type=whole, default=100, help="further ones that may wait (default: 100)")
    add(
        "--per-minute",
        type=whole,
        default=600,
        help="requests of one address a minute (default: 600; 0: any number)",
    )
    add(
        "--per-address",
        type=whole,
        default=250,
        help="connections of one address at a time (default: 250; 0: any number)",
    )
    parser.set_defaults(run=_run)


def source_options(parser: argparse.ArgumentParser) -> None:
    """Adds what is searched and how it is answered, for ``serve`` and ``mcp``."""
    parser.add_argument(
        "--retriever",
        metavar="MODULE:FACTORY",
        help="a chain or store of your own, of LangChain, LlamaIndex or plain Python",
    )
    corpus_options(parser, index=True)
    parser.add_argument("-k", type=int, default=6, help="passages of an answer (default: 6)")
    parser.add_argument(
        "--discover",
        type=whole,
        default=2,
        metavar="N",
        help="where the question names no sides, take this many from the passages (default: 2)",
    )
    calibration_option(parser)
    llm_options(parser, "for perspectives, verdicts and answer")
    judge_options(parser)
    parser.set_defaults(strict=False)


def _run(options: argparse.Namespace) -> None:
    check_source(options)
    try:
        from perspective_rag_serve.app import create_app
        from perspective_rag_serve.commands.serve_source import loader_of
        from perspective_rag_serve.connections import Connections
        from perspective_rag_serve.listening import server_of
        from perspective_rag_serve.logs import log_to_stderr
    except ImportError as error:
        raise MissingDependency("serve", "perspective-rag serve") from error
    settings = settings_of(options)
    log_to_stderr()
    app = create_app(loader_of(options), settings)
    if options.host not in ("127.0.0.1", "::1", "localhost") and settings.token is None:
        sys.stderr.write(
            f"perspective-rag: anybody who reaches {options.host} may ask: a token keeps others "
            f"out (--token-file FILE, or {TOKEN})\n"
        )
    connections = Connections(_most_connections(), options.per_address)
    try:
        server_of(app, connections, options.host, options.port).run()
    except SystemExit as error:  # its status is that of a missed limit here
        if error.code:
            said = f"the server could not listen at {options.host}:{options.port}"
            raise ConfigError(f"{said}: the line above says why") from error


def _most_connections() -> int:
    """So many that files can still be opened beside them."""
    try:
        import resource
    except ImportError:
        return CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return CONNECTIONS if files < 0 else max(16, min(CONNECTIONS, files - 200))


def check_source(options: argparse.Namespace) -> None:
    """Raises ConfigError where nothing is given to be searched, or nothing can be chosen of it."""
    if not (options.retriever or options.corpus or options.index):
        raise ConfigError(
            "nothing to search: give --corpus PATH, --example, --index or --retriever"
        )
    if options.retriever and options.index:
        raise ConfigError("give --index or --retriever, not both")
    if options.corpus and not options.corpus.exists():
        raise CorpusError(f"{options.corpus} does not exist")
    if options.k < 1:
        raise ConfigError(f"-k must be a whole number of at least 1, got {options.k}")


def settings_of(options: argparse.Namespace) -> ServeSettings:
    """The server's settings; raises ConfigError for a token that cannot be read or is short."""
    from perspective_rag_serve.commands.serve_source import corpus_name, examples_of
    from perspective_rag_serve.settings import ServeSettings

    token = os.environ.get(TOKEN) or None
    if options.token_file is not None:
        try:
            token = options.token_file.read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise ConfigError(f"--token-file cannot be read: {error}") from error
    return ServeSettings(
        k=options.k,
        running=options.running,
        waiting=options.waiting,
        per_minute=options.per_minute,
        token=token,
        hosts=tuple(options.allow_host),
        review=options.review,
        examples=examples_of(options),
        corpus=corpus_name(options),
    )
