"""The command line of ``python -m benchmarks berds``."""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks.berds.approaches import APPROACHES
from benchmarks.berds.deciding import ALONE, RULES
from benchmarks.berds.loading import NAMES, UAE
from benchmarks.berds.questions import HUB, SPLITS
from benchmarks.berds.schema import PRICES, THRESHOLDS
from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.data import data_note
from perspective_rag_train.engine_options import engine_options

TUNING_SHARE = 0.25
"""Of the questions of BERDS, those spared for development (Table 1)."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="python -m benchmarks berds",
        description="The tables of BERDS, with any retriever, corpus and judge.",
        epilog=data_note("berds", "Without --questions those of the hub are asked."),
    )
    add = made.add_argument
    add("--config", type=Path, help="a TOML file with these options; flags come after it")
    add("--verdict", choices=APPROACHES[1:], help="validate it against the retriever's own top k")
    add(
        "--option",
        action="append",
        metavar="NAME=VALUE",
        help="an option of the pipeline that is validated; may be repeated",
    )
    limits = ", ".join(THRESHOLDS)
    add("--threshold", action="append", metavar="NAME=VALUE", help=f"status 1 beyond it: {limits}")
    add(
        "--price",
        action="append",
        metavar="NAME=VALUE",
        help=f"for the estimate: {', '.join(PRICES)}",
    )
    add("--questions", type=Path, help="folder or file of .jsonl; without it, the hub")
    add("--dataset", action="append", help=f"only these sets; on the hub: {', '.join(HUB)}")
    add("--split", choices=SPLITS, default="test", help="on the hub (default: %(default)s)")
    add("--limit", type=whole, help="ask N questions only, drawn from the sets in turn")
    add("--corpus", help="dpr:FILE, jsonl:PATH, files:PATH or a path")
    add("--streamed", action="store_true", help="never take the corpus into memory")
    add(
        "--retriever",
        action="append",
        help=f"{', '.join(NAMES)}, FIRST+SECOND, module:factory or "
        "a .jsonl file of retrieval output (default: bm25); may be repeated",
    )
    add("--approach", action="append", choices=APPROACHES, help="may be repeated (default: all)")
    judges = "default, scorer, probe, a preset[@URL], llm:MODEL[@URL], module:factory, folder or id"
    add("--judge", default="default", help=f"scores: {judges} (default: %(default)s)")
    add(
        "--decision",
        choices=RULES,
        default=ALONE,
        help="a passage supports what its P reaches a threshold for; or of two opposing "
        "perspectives the one with the higher P (default: %(default)s)",
    )
    add(
        "--selector",
        default="probe",
        help="chooses in the pipeline: the same, or none (default: %(default)s)",
    )
    engine_options(made)
    add("--force-same-judge", action="store_true", help="let one model select and score")
    add("--llm", help="llm:MODEL[@URL]: expands queries and tells the two sides apart")
    add("--mmr-embedder", default=UAE, help="Sim2 of MMR (default: %(default)s); minilm runs here")
    add("--mmr-weight", type=float, help="lambda; without it, tuned on other questions")
    add(
        "--tuning-share",
        type=float,
        help="of your own questions, kept for tuning and never evaluated "
        f"(default: {TUNING_SHARE}, and 0 where nothing is tuned)",
    )
    add("--tuning-limit", type=whole, help="tune on N of them (default: a third of --limit)")
    add("--depth", type=whole, default=10, help="judge the retrievers' top N; 100 for all tables")
    add("--no-sycophancy", action="store_true")
    add("--as-published", action="store_true", help="the variants of the authors' code")
    add("--search-url", help="a search endpoint that answers ?q= with JSON, for the retriever web")
    add("--serper-key-file", type=Path, help="a file with the key of serper.dev")
    add("--pages", type=whole, default=100, help="web pages a question (default: %(default)s)")
    add("--out", type=Path, help="results file (.json; tables in .md and figures beside it)")
    add("--figures", type=Path, help="folder of the figures (default: beside the results)")
    add("--no-figures", action="store_true")
    add("--cache", type=Path, default=results.CACHE, help="default: %(default)s")
    add("--seed", type=int, default=13, help="of the resampling")
    add("--strict", action="store_true", help="any degradation is an error")
    return made
