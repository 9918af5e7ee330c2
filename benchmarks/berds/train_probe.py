"""Trains the embedding probe: python -m benchmarks berds.train_probe --train FOLDER --dev FILE."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.berds.probe import CLASSES, WEIGHTS, features, probabilities
from benchmarks.core import results
from benchmarks.core.arguments import whole
from perspective_rag import CachedEmbedder, OnnxMiniLM
from perspective_rag.addons import json_lines
from perspective_rag.extend import Embedder, Matrix, Vector

Rows = list[tuple[str, str, str]]


def read_pairs(paths: Sequence[Path], *, rows: int, seed: int) -> Rows:
    """``rows`` of (document, statement, label) from JSON lines files, classes in equal parts."""
    by_class: dict[str, Rows] = {name: [] for name in CLASSES}
    for path in paths:
        for _, row in json_lines(path):
            by_class[row["label"]].append((row["document"], row["statement"], row["label"]))
    generator = np.random.default_rng(seed)
    chosen: Rows = []
    for found in by_class.values():
        count = min(len(found), rows // len(CLASSES))
        chosen += [found[i] for i in generator.choice(len(found), count, replace=False)]
    return [chosen[i] for i in generator.permutation(len(chosen))]


def embedded(rows: Rows, embedder: Embedder) -> tuple[Matrix, Vector]:
    """Features and class numbers of the pairs."""
    inputs = features(
        embedder.embed_passages([row[0] for row in rows]),
        embedder.embed_queries([row[1] for row in rows]),
    )
    return inputs, np.array([CLASSES.index(row[2]) for row in rows])


def trained(inputs: Matrix, labels: Vector, *, hidden: int, epochs: int, seed: int) -> list[Matrix]:
    """The weights after ``epochs`` of Adam on cross-entropy, with dropout 0.3 on the features."""
    generator = np.random.default_rng(seed)
    size = inputs.shape[1]
    layers: list[Matrix] = [
        generator.normal(0.0, np.sqrt(2.0 / size), (size, hidden)) * 4,
        np.zeros(hidden),
        generator.normal(0.0, np.sqrt(1.0 / hidden), (hidden, len(CLASSES))),
        np.zeros(len(CLASSES)),
    ]
    first = [np.zeros_like(layer) for layer in layers]
    second = [np.zeros_like(layer) for layer in layers]
    step = 0
    for _ in range(epochs):
        for batch in np.array_split(generator.permutation(len(inputs)), len(inputs) // 64):
            kept = (generator.random((len(batch), size)) > 0.3) / 0.7
            x = inputs[batch] * kept
            inner = np.maximum(x @ layers[0] + layers[1], 0.0)
            error = probabilities(layers, x)
            error[np.arange(len(batch)), labels[batch]] -= 1.0
            error /= len(batch)
            back = (error @ layers[2].T) * (inner > 0)
            slopes = [x.T @ back, back.sum(axis=0), inner.T @ error, error.sum(axis=0)]
            step += 1
            for i, slope in enumerate(slopes):
                first[i] = 0.9 * first[i] + 0.1 * slope
                second[i] = 0.999 * second[i] + 0.001 * slope**2
                rate = 1e-3 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
                layers[i] = layers[i] - rate * first[i] / (np.sqrt(second[i]) + 1e-8)
                layers[i] = layers[i] * (1 - 1e-4 * (layers[i].ndim > 1))
    return layers


def measured(support: Vector, labels: Vector) -> dict[str, float]:
    """The threshold of the best balanced accuracy for support, that, and the ROC area."""
    wanted = labels == CLASSES.index("support")
    order = np.argsort(-support, kind="stable")
    hits = np.cumsum(wanted[order])
    misses = np.arange(1, len(order) + 1) - hits
    balanced = 0.5 * (hits / wanted.sum() + 1 - misses / (~wanted).sum())
    best = int(np.argmax(balanced))
    ranks = np.empty(len(order))
    ranks[np.argsort(support, kind="stable")] = np.arange(1, len(order) + 1)
    positive, negative = int(wanted.sum()), int((~wanted).sum())
    area = (ranks[wanted].sum() - positive * (positive + 1) / 2) / (positive * negative)
    return {
        "threshold": round(float(support[order[best]]), 4),
        "balanced_accuracy": round(float(balanced[best]), 4),
        "auc": round(float(area), 4),
    }


def main(arguments: Sequence[str] | None = None, *, embedder: Embedder | None = None) -> int:
    """Trains, measures on the development pairs, and writes weights with their provenance."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks berds.train_probe", description=__doc__
    )
    parser.add_argument("--train", type=Path, required=True, help="folder of .jsonl.gz files")
    parser.add_argument("--dev", type=Path, required=True, help=".jsonl.gz file")
    parser.add_argument("--rows", type=whole, default=12_000)
    parser.add_argument("--hidden", type=whole, default=32)
    parser.add_argument("--epochs", type=whole, default=30)
    parser.add_argument("--seed", type=int, default=13)
    parser.add_argument("--cache", type=Path, default=results.CACHE)
    parser.add_argument("--out", type=Path, default=WEIGHTS)
    options = parser.parse_args(arguments)
    model = embedder or OnnxMiniLM()
    name = results.embedder_name(model)
    kept = CachedEmbedder(model, options.cache / f"probe-{name}.sqlite", model_name=name)
    files = sorted(options.train.glob("*.jsonl.gz"))
    train = read_pairs(files, rows=options.rows, seed=options.seed)
    dev = read_pairs([options.dev], rows=options.rows, seed=options.seed)
    inputs, labels = embedded(train, kept)
    layers = trained(
        inputs, labels, hidden=options.hidden, epochs=options.epochs, seed=options.seed
    )
    stored = [layer.astype(np.float16) for layer in layers]
    dev_inputs, dev_labels = embedded(dev, kept)
    support = probabilities([layer.astype(np.float32) for layer in stored], dev_inputs)
    figures = measured(support[:, CLASSES.index("support")], dev_labels)
    about: dict[str, Any] = {
        "embedder": name,
        "rows": len(train),
        "development_rows": len(dev),
        "hidden": options.hidden,
        "epochs": options.epochs,
        "seed": options.seed,
        **figures,
        "hash": hashlib.sha256(b"".join(layer.tobytes() for layer in stored)).hexdigest()[:12],
    }
    w1, b1, w2, b2 = stored
    written = np.array(json.dumps(about))
    np.savez_compressed(options.out, about=written, w1=w1, b1=b1, w2=w2, b2=b2)
    print(json.dumps(about, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
