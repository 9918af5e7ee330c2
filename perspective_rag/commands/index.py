"""``perspective-rag index``: builds the index of a corpus ahead of the first question."""

from __future__ import annotations

import argparse
from typing import Any

from perspective_rag.commands.parts import build_pipeline, console, corpus_options, read_corpus
from perspective_rag.errors import CorpusError


def add_command(commands: Any) -> None:
    """Adds ``index`` to the subparsers."""
    parser = commands.add_parser(
        "index", help="build a corpus's index now; ask and audit then start at once"
    )
    corpus_options(parser, required=True)
    parser.set_defaults(run=_run, llm=None, base_url=None)


def _run(options: argparse.Namespace) -> None:
    screen = console()
    corpus = read_corpus(options, screen)
    build_pipeline(options, corpus, screen)
    kind = "vectors" if options.dense else "BM25"
    folder = options.cache / corpus.fingerprint[:16]
    if not (folder.is_dir() and any(folder.iterdir())):  # asking goes on without, this does not
        raise CorpusError(f"the index could not be written to {folder}: the warnings say why")
    screen.print(
        f"{len(corpus):,} passages, {len(corpus.problems)} problems; {kind} in {folder}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
