"""What a judge knows about the passages that a search brings, question by question.

python -m benchmarks judge_pools --data data/judge_retrieved/pools_dev.jsonl.gz
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core import results
from benchmarks.core.command import Benchmark, Run, publish
from benchmarks.judge_pools.measuring import RELEVANT, TWO, Cosines, measure
from benchmarks.judge_pools.report import tables
from perspective_rag import CrossEncoderJudge
from perspective_rag.addons import PACKAGED_JUDGE, JudgeSettings, file_sha256
from perspective_rag.judge.models import OnnxClassifier
from perspective_rag_train.pools import Readings, calibrated_alone, read_pools


def _run(run: Run) -> int:
    """The status is 0."""
    options = run.options
    started = time.perf_counter()
    folder = options.judge or PACKAGED_JUDGE
    settings = JudgeSettings.of(folder)
    pools = read_pools(options.data)
    classifier = OnnxClassifier(folder, max_tokens=settings.max_tokens, threads=options.threads)
    readings = Readings.of(
        pools,
        lambda documents, statements: np.asarray(classifier.logits(documents, statements)),
        None if options.without_relevance else Cosines(options.data, options.threads),
    )
    measured = measure(readings, settings)
    if options.store:
        _store(folder, readings, measured, options.data)
    shown = tables(measured)
    partial = options.judge is not None or options.without_relevance
    document = results.document(
        "judge_pools",
        arguments=run.given,
        config={"max_tokens": settings.max_tokens},
        seed=0,
        data={
            "file": options.data.name,
            "sha256": file_sha256(options.data),
        },
        embedder="none" if options.without_relevance else "all-minilm-l6-v2",
        judge=results.judge_identity(CrossEncoderJudge(options.judge), folder),
        seconds=time.perf_counter() - started,
        degradations=0,
        results=measured,
    )
    publish(
        document,
        options.out or results.place("judge_pools", partial=partial),
        run.console,
        markdown="\n".join(table.markdown() for table in shown),
        shown=shown,
    )
    return 0


def _store(folder: Path, readings: Readings, measured: Mapping[str, Any], data: Path) -> None:
    """Puts settings and figures into the folder's ``judge.json``."""
    path = folder / "judge.json"
    stored = json.loads(path.read_text(encoding="utf-8"))
    temperature, bias, threshold = calibrated_alone(readings)
    stored.update(
        temperature=round(temperature, 4),
        neutral_bias=round(bias, 4),
        threshold=round(threshold, 4),
    )
    stored["two_sides"] = {
        name: {
            "weights": measured["two_sides"][view],
            "listing": _rounded(measured["views"][view]["listing"]["threshold"]),
            "searching": _rounded(measured["views"][view]["searching"]["threshold"]),
        }
        for name, view in (("alone", TWO), ("relevant", RELEVANT))
        if view in measured["two_sides"]
    }
    provenance = stored.pop("provenance", {})
    provenance["pools"] = {
        "file": data.name,
        "sha256": file_sha256(data),
        "questions": measured["questions"],
        "what": "temperature, neutral_bias, threshold and two_sides are set on all folds; the "
        "figures are of each fold by what was set on the others",
        "auc": {
            name: {which: round(value, 4) for which, value in view["auc"].items()}
            for name, view in measured["views"].items()
        },
        "listing": {
            name: {which: round(value, 4) for which, value in view["listing"].items()}
            for name, view in measured["views"].items()
        },
    }
    stored["provenance"] = provenance
    path.write_text(json.dumps(stored, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _rounded(threshold: float) -> float:
    """A threshold no passage reaches is 1."""
    return round(min(1.0, threshold), 4)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks judge_pools",
        description="Measures what a judge knows about the passages that a search brings.",
    )
    parser.add_argument("--data", type=Path, required=True, help="labelled pools")
    parser.add_argument("--judge", type=Path, help="a judge's folder (the packaged one)")
    parser.add_argument("--threads", type=int, help="pairs read side by side (one a core)")
    parser.add_argument(
        "--without-relevance", action="store_true", help="no embeddings: two ways instead of three"
    )
    parser.add_argument(
        "--store", action="store_true", help="set thresholds and weights in the judge's judge.json"
    )
    parser.add_argument("--out", type=Path, help="where to write the results")
    return parser


main = Benchmark(_parser, _run)
