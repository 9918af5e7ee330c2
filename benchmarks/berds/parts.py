"""What the command line names, made: the questions, the models, the web."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.berds.arguments import TUNING_SHARE
from benchmarks.berds.expanding import expansions_by
from benchmarks.berds.judges import load_judge, load_llm, same_model
from benchmarks.berds.loading import MINILM, Loader
from benchmarks.berds.questions import (
    HUB,
    Question,
    held_out,
    hub_questions,
    limited,
    read_questions,
)
from benchmarks.berds.retrievers import PerQuestion
from benchmarks.berds.run import BerdsConfig, Models
from benchmarks.berds.stances import Stances
from benchmarks.berds.web import web_retriever
from benchmarks.core.data import needed
from perspective_rag import ConfigError


def asked_questions(
    options: argparse.Namespace, config: BerdsConfig
) -> tuple[list[Question], list[Question]]:
    """The questions to ask, and others to tune on where something is tuned."""
    tunes = config.mmr_weight is None and any("mmr" in name for name in config.approaches)
    share = options.tuning_share
    if share is None:
        share = TUNING_SHARE if tunes else 0.0
    elif not 0.0 < share < 1.0:
        raise ConfigError(f"--tuning-share must be between 0 and 1, got {share:g}")
    count = options.tuning_limit or (options.limit and max(3, options.limit // 3))
    if options.questions is None:
        names = options.dataset or list(HUB)
        chosen = hub_questions(names, options.split)
        if options.split == "test" and tunes:  # the published development questions
            tuning = hub_questions(names, "dev")
            return _drawn(chosen, options.limit, config), _drawn(tuning, count, config)
    else:
        chosen = read_questions(needed(options.questions, "berds"))
        if options.dataset:
            chosen = [each for each in chosen if each.dataset in options.dataset]
    tuning, kept = held_out(chosen, share)
    return (
        _drawn(kept, options.limit, config),
        _drawn(tuning, count, config) if tunes else [],
    )


def _drawn(questions: Sequence[Question], limit: int | None, config: BerdsConfig) -> list[Question]:
    return limited(questions, limit, seed=config.seed)


def models_of(
    options: argparse.Namespace,
    config: BerdsConfig,
    loader: Loader,
    questions: Sequence[Question],
    folder: Path,
) -> tuple[Models, dict[str, Any]]:
    """The models of a run, and what names those that are not in ``Models``.

    Raises ConfigError where one model would select and score, and for what is not installed.
    """
    minilm = loader.embedder(MINILM)
    judge, identity = load_judge(options.judge, minilm, cache=folder)
    selector, chosen = None, None
    if options.selector != "none" and config.judging:
        selector, chosen = load_judge(options.selector, minilm, cache=folder)
        if same_model(identity, chosen) and not config.allow_same_judge:
            raise ConfigError(
                f"--judge {options.judge} and --selector {options.selector} are the same model: "
                "what selects must not score; give another, or --force-same-judge"
            )
    llm = load_llm(options.llm, cache=folder) if options.llm else None
    needs_embedder = any("mmr" in name for name in config.approaches)
    if needs_embedder and not loader.available(options.mmr_embedder):
        raise ConfigError(
            f"MMR compares passages with {options.mmr_embedder}, which needs "
            "pip install 'perspective-rag[sentence-transformers]'; --mmr-embedder minilm runs "
            "without, or leave MMR out with --approach"
        )
    expands = llm is not None and any("expansion" in name for name in config.approaches[1:])
    models = Models(
        judge=judge,
        judge_identity=identity,
        selector=selector,
        selector_identity=chosen,
        mmr_embedder=loader.embedder(options.mmr_embedder) if needs_embedder else None,
        expansions=expansions_by(llm, questions) if expands and llm is not None else None,
        stances=Stances(llm),
    )
    return models, {
        "selector": dict(chosen) if chosen else None,
        "mmr_embedder": options.mmr_embedder if needs_embedder else None,
        "llm": llm.name if llm else None,
    }


def web_of(options: argparse.Namespace, folder: Path) -> PerQuestion | None:
    """The web as a corpus, where a search engine was named."""
    if options.search_url is None and options.serper_key_file is None:
        return None
    return web_retriever(
        url=options.search_url,
        key_file=options.serper_key_file,
        cache=folder / "web",
        pages=options.pages,
    )
