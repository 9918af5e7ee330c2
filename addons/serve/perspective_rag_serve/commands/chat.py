"""``perspective-rag chat``: questions and follow-ups in the terminal, every side of them."""

from __future__ import annotations

import argparse
from typing import Any

from rich.console import Console

from perspective_rag import PerspectivePipeline
from perspective_rag.commands import (
    answer_options,
    chosen_options,
    console,
    corpus_options,
    opened_pipeline,
)
from perspective_rag_serve.commands.conversation import COMMANDS, Conversation
from perspective_rag_serve.commands.line_editor import line_reader

HISTORY = "chat-history"


def add_command(commands: Any) -> None:
    """Adds ``chat`` to the subparsers."""
    parser = commands.add_parser("chat", help="ask one question after the other, with follow-ups")
    corpus_options(parser, required=True, index=True)
    answer_options(parser, once=False)
    chat_options(parser)
    parser.set_defaults(run=_run)


def chat_options(parser: argparse.ArgumentParser) -> None:
    """Adds ``--web`` and ``--no-history``."""
    parser.add_argument("--web", action="store_true", help="open the page instead of the terminal")
    parser.add_argument(
        "--no-history", action="store_true", help="keep no file of what was typed in the cache"
    )


def chat(pipeline: PerspectivePipeline, screen: Console, options: argparse.Namespace) -> None:
    """A conversation until /quit or the end of the input."""
    history = None if options.no_history else options.cache / HISTORY
    lines = line_reader(COMMANDS, history)
    Conversation(pipeline, screen, lines, sides=options.perspective, full=options.full).run()


def serve_page(options: argparse.Namespace) -> None:
    """The page of ``perspective-rag serve`` over the same corpus, until it is ended."""
    from perspective_rag_serve.commands import serve

    parser = argparse.ArgumentParser()
    serve.add_command(parser.add_subparsers())
    defaults = parser.parse_args(["serve"])
    defaults.run(argparse.Namespace(**{**vars(defaults), **vars(options)}))


def _run(options: argparse.Namespace) -> None:
    if options.web:
        serve_page(options)
        return
    screen = console()
    pipeline = opened_pipeline(options, screen, **chosen_options(options))
    chat(pipeline, screen, options)
