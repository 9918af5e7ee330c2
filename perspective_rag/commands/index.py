"""``perspective-rag index``: builds the index of a corpus ahead of the first question, or fills a
vector store with it.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, get_args

from perspective_rag.backends.faiss_kinds import Kind
from perspective_rag.backends.sinks.targets import FORMS
from perspective_rag.commands.parts import build_pipeline, console, corpus_options, read_corpus
from perspective_rag.errors import ConfigError, CorpusError


def add_command(commands: Any) -> None:
    """Adds ``index`` to the subparsers."""
    parser = commands.add_parser(
        "index", help="build a corpus's index now, or fill a vector store with it"
    )
    parser.add_argument(
        "path", nargs="?", type=Path, metavar="CORPUS", help="the same as --corpus PATH"
    )
    corpus_options(parser)
    add = parser.add_argument
    add(
        "--to",
        metavar="TARGET",
        help=f"what to fill: {', '.join(FORMS.values())} (default: the cache)",
    )
    add(
        "--kind",
        choices=("auto", *get_args(Kind)),
        default="auto",
        help="of the index in faiss:FOLDER (default: auto, by size and free memory)",
    )
    add("--append", action="store_true", help="add to a store that holds other passages")
    add("--restart", action="store_true", help="write all again, whatever was written before")
    parser.set_defaults(run=_run, llm=None, base_url=None)


def _run(options: argparse.Namespace) -> None:
    if options.path and options.corpus:
        raise ConfigError("the corpus is given twice: give CORPUS, --corpus or --example")
    options.corpus = options.corpus or options.path
    if options.corpus is None:
        raise ConfigError("no corpus to index: give CORPUS, --corpus PATH or --example")
    if options.to:
        from perspective_rag.commands.filling import fill_target

        fill_target(options)
        return
    if options.kind != "auto" or options.append or options.restart:
        raise ConfigError("--kind, --append and --restart go with --to TARGET")
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
