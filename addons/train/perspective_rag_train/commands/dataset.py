"""``perspective-rag build-dataset``: questions with perspectives from one's own material."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from perspective_rag import ConfigError
from perspective_rag.addons import replace_file
from perspective_rag.commands import console, language_model, llm_options, progress_bars
from perspective_rag_train.dataset import (
    Built,
    build_dataset,
    calls_needed,
    read_decisions,
    read_sources,
    review_page,
)


def add_command(commands: Any) -> None:
    """Adds ``build-dataset`` to the subparsers."""
    parser = commands.add_parser(
        "build-dataset",
        help="make questions with perspectives from opposing documents, surveys and debates",
    )
    add = parser.add_argument
    add(
        "sources",
        type=Path,
        metavar="SOURCES",
        help="JSON lines (.gz) of documents, surveys or debates",
    )
    add("--out", type=Path, required=True, help="the data set (.jsonl); call again to resume")
    llm_options(parser, "that writes questions and perspectives", required=True)
    add(
        "--prompt",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="a wording of your own for one of the prompts; may be repeated",
    )
    add("--limit", type=int, metavar="N", help="the first N sources only")
    add("--concurrency", type=int, default=8, help="sources at a time (default: %(default)s)")
    add("--strict", action="store_true", help="stop at the first reply that cannot be used")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    screen = console()
    if options.out.suffix != ".jsonl":
        raise ConfigError(f"--out names the data set, a .jsonl file; got {options.out}")
    if options.limit is not None and options.limit < 1:
        raise ConfigError(f"--limit must be a whole number, at least 1; got {options.limit}")
    sources = read_sources(options.sources)[: options.limit]
    review = options.out.with_suffix(".review.md")
    llm = language_model(options)
    assert llm is not None
    kinds = Counter(each.kind for each in sources)
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    screen.print(
        f"{len(sources)} sources ({listed}): at most {calls_needed(sources)} calls of {llm.name}",
        markup=False,
        highlight=False,
    )
    with progress_bars(screen) as bars:
        task = bars.add_task("writing", total=len(sources))
        built = build_dataset(
            sources,
            llm,
            options.out.with_suffix(".work"),
            decisions=read_decisions(review),
            prompts=_prompts(options.prompt),
            concurrency=options.concurrency,
            strict=options.strict,
            on_progress=lambda done, total: bars.update(task, completed=done),
        )
    lines = [json.dumps(each.to_dict(), ensure_ascii=False) + "\n" for each in built.kept]
    replace_file(options.out, "".join(lines))
    replace_file(review, review_page(built, options.out.name))
    screen.print(_said(built), markup=False, highlight=False)
    screen.print(f"Written: {options.out}, {review}", markup=False, highlight=False, soft_wrap=True)
    if not built.kept:
        raise ConfigError(f"no question was made; {review} says why")


def _prompts(given: list[str]) -> dict[str, Path]:
    pairs = [each.partition("=") for each in given]
    for name, found, path in pairs:
        if not found or not path:
            raise ConfigError(f"--prompt takes NAME=FILE, got {name!r}")
    return {name: Path(path) for name, _, path in pairs}


def _said(built: Built) -> str:
    counts = Counter(each.status for each in built.entries)
    listed = ", ".join(f"{count} {status}" for status, count in counts.items())
    return (
        f"{listed}; {built.resumed} were there already; {built.calls} calls, "
        f"{built.prompt_tokens:,} + {built.completion_tokens:,} tokens"
    )
