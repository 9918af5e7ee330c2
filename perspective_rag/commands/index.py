"""``perspective-rag index``: builds the index of a corpus ahead of the first question, or fills a
vector store with it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from perspective_rag.commands.parts import build_pipeline, console, corpus_options, read_corpus
from perspective_rag.errors import ConfigError, CorpusError
from perspective_rag.extensions import has_part, part


def add_command(commands: Any) -> None:
    """Adds ``index`` to the subparsers."""
    parser = commands.add_parser(
        "index", help="build a corpus's index now, or fill a vector store with it"
    )
    parser.add_argument(
        "path", nargs="?", type=Path, metavar="CORPUS", help="the same as --corpus PATH"
    )
    corpus_options(parser)
    parser.set_defaults(run=_run, llm=None, base_url=None, to=None)
    if has_part("fill"):
        part("fill", "scale", "index --to").target_options(parser)


def _run(options: argparse.Namespace) -> None:
    if options.path and options.corpus:
        raise ConfigError("the corpus is given twice: give CORPUS, --corpus or --example")
    options.corpus = options.corpus or options.path
    if options.corpus is None:
        raise ConfigError("no corpus to index: give CORPUS, --corpus PATH or --example")
    if options.to:
        part("fill", "scale", "index --to").fill_target(options)
        return
    if has_part("fill"):
        part("fill", "scale", "index --to").check_without_target(options)
    screen = console()
    corpus = read_corpus(options, screen)
    build_pipeline(options, corpus, screen)
    kind = "vectors" if options.dense else "BM25"
    folder = options.cache if options.dense else options.cache / corpus.fingerprint[:16]
    if not (folder.is_dir() and any(folder.iterdir())):  # asking goes on without, this does not
        raise CorpusError(f"the index could not be written to {folder}: the warnings say why")
    screen.print(
        f"{len(corpus):,} passages, {corpus.problem_count} problems; {kind} in {folder}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
