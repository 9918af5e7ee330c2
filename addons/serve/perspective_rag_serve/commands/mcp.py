"""``perspective-rag mcp``: the tools of ``serve`` for one program, over its standard streams."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from perspective_rag import MissingDependency
from perspective_rag_serve.commands.serve import check_source, source_options
from perspective_rag_serve.logs import log_to_stderr

PATIENCE = 600.0
"""Seconds that the first question waits for the corpus to be loaded."""


def add_command(commands: Any) -> None:
    """Adds ``mcp`` to the subparsers."""
    parser = commands.add_parser(
        "mcp", help="search_perspectives, judge_support and audit_retrieval as MCP tools (stdio)"
    )
    source_options(parser)
    parser.set_defaults(run=_run, question=None)


def _run(options: argparse.Namespace) -> None:
    check_source(options)
    try:
        from perspective_rag_serve.commands.serve_source import loader_of
        from perspective_rag_serve.context import Context
        from perspective_rag_serve.loading import Loading
        from perspective_rag_serve.settings import ServeSettings
        from perspective_rag_serve.tools import mcp_server
    except ImportError as error:
        raise MissingDependency("serve", "perspective-rag mcp") from error
    log_to_stderr()
    loading = Loading(loader_of(options))
    loading.start()  # the program may already ask which tools there are
    context = Context(ServeSettings(k=options.k), loading, patience=PATIENCE)
    asyncio.run(mcp_server(context).run_stdio_async())
