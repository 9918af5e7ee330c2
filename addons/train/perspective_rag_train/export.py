"""A trained cross-encoder as a folder that runs without torch: int8 ONNX, tokenizer, settings,
provenance.
"""

from __future__ import annotations

import math
import random
import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag import MissingDependency
from perspective_rag.addons import JudgeSettings, windows
from perspective_rag.judge.models import OnnxClassifier
from perspective_rag_train.card import settings_document
from perspective_rag_train.data import LABELS, LabelledPair, lengthened
from perspective_rag_train.loop import accepted_inputs
from perspective_rag_train.metrics import (
    best_calibration,
    best_threshold,
    evaluate,
    softmax,
    strongest_windows,
)

RETRIEVED_SHARES = (0.2, 0.2, 0.6)
"""About the shares of retrieved passages that support a perspective (17 to 23% in BERDS, Table 7),
that oppose it (as many, for its opposite is a perspective too), and that do neither.
"""
AS_RETRIEVED = "development weighted to the shares of retrieved passages"
RETRIEVED = f"best F1 where {RETRIEVED_SHARES[0]:.0%} support"


def export(
    model: Path,
    development: Sequence[LabelledPair],
    out: Path,
    *,
    provenance: Mapping[str, Any],
    max_tokens: int = 192,
    max_words: int = 140,
    calibration_words: int = 0,
    quantize: bool = True,
) -> dict[str, float]:
    """Writes ``model`` (a transformers folder) to ``out`` and returns the exported model's
    development figures.

    Temperature, neutral bias and threshold are set on the development pairs with the exported,
    quantised model itself, reading long documents in windows of ``max_words`` words as the judge
    will, so that they fit what will run. The pairs are weighted to ``RETRIEVED_SHARES``: most of
    what a retriever finds supports nothing. The threshold is that of the best F1.

    With ``calibration_words`` each pair counts twice for them, as it is and within text of other
    documents, so many words in all: a judge is less sure of an argument within other text, and the
    threshold comes out lower, for more recall and less precision. The figures returned are those
    of the pairs as they are.
    """
    out.mkdir(parents=True, exist_ok=True)
    full = out / "model.fp32.onnx"
    parameters = to_onnx(model, full)
    if quantize:
        quantised(full, out / "model.onnx")
        full.unlink()
    else:
        full.replace(out / "model.onnx")
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(model / name, out / name)
    settings, measured = calibrated(
        out,
        development,
        max_tokens=max_tokens,
        max_words=max_words,
        calibration_words=calibration_words,
    )
    dated = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "parameters": parameters,
        **measured,
        **provenance,
    }
    text = settings_document(settings, dated)
    (out / "judge.json").write_text(text, encoding="utf-8")
    return dict(measured["development"])


def calibrated(
    folder: Path,
    development: Sequence[LabelledPair],
    *,
    max_tokens: int,
    max_words: int,
    calibration_words: int = 0,
) -> tuple[JudgeSettings, dict[str, Any]]:
    """Settings for an exported model, and its development figures with every threshold tried.

    Nothing but the development pairs decides them.
    """
    classifier = OnnxClassifier(folder, max_tokens=max_tokens)
    pairs = list(development)
    if calibration_words:
        rng = random.Random(13)
        pairs += [lengthened(pair, development, calibration_words, rng) for pair in development]
    pieces = [
        (row, piece)
        for row, pair in enumerate(pairs)
        for window in windows(pair.document, max_words)
        for piece in classifier.pieces(window, [pair.statement])
    ]
    owners = np.array([row for row, _ in pieces])
    documents = [piece for _, piece in pieces]
    statements = [pairs[row].statement for row, _ in pieces]
    logits = np.asarray(classifier.logits(documents, statements), dtype=np.float64)
    truth = np.array([LABELS.index(pair.label) for pair in pairs])
    temperature, bias = best_calibration(logits, truth, RETRIEVED_SHARES, owners)
    probability = softmax(logits / temperature + (0.0, 0.0, bias))
    # Against the threshold stands what the judge returns, the strongest window as it is.
    support = np.zeros(len(pairs))
    np.maximum.at(support, owners, probability[:, 0])
    thresholds = {
        name: _rounded_down(best_threshold(support, truth == 0, 1.0, positive_share=share))
        for name, share in (("best F1", None), (RETRIEVED, RETRIEVED_SHARES[0]))
    }
    logs = np.log(strongest_windows(probability, owners))
    settings = JudgeSettings(
        threshold=thresholds[RETRIEVED],
        temperature=round(temperature, 4),
        neutral_bias=round(bias, 4),
        max_tokens=max_tokens,
        max_words=max_words,
    )
    labels, plain = [pair.label for pair in development], len(development)
    figures = {
        "development": evaluate(logs[:plain], labels),
        AS_RETRIEVED: evaluate(logs[:plain], labels, shares=RETRIEVED_SHARES),
    }
    if calibration_words:
        name = f"development in text of {calibration_words} words"
        figures[name] = evaluate(logs[plain:], labels)
    return settings, {**figures, "thresholds": thresholds}


def to_onnx(model: Path, path: Path) -> int:
    """Writes the model of a transformers folder to ``path``, in 32-bit floats, and returns how many
    parameters it has.
    """
    try:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError as error:
        raise MissingDependency("judge", "exporting a judge to ONNX") from error

    network = AutoModelForSequenceClassification.from_pretrained(
        model, attn_implementation="eager", dtype=torch.float32
    ).eval()
    # Models differ in the order of their arguments, so they are passed by name.
    names = accepted_inputs(network, AutoTokenizer.from_pretrained(model))

    class Logits(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.network = network

        def forward(self, *inputs: Any) -> Any:
            named = dict(zip(names, inputs, strict=True))
            return self.network(**named, return_dict=False)[0]

    torch.onnx.export(
        Logits().eval(),
        tuple(torch.ones((2, 16), dtype=torch.long) for _ in names),
        str(path),
        input_names=names,
        output_names=["logits"],
        dynamic_axes={
            **{name: {0: "batch", 1: "tokens"} for name in names},
            "logits": {0: "batch"},
        },
        opset_version=17,
        dynamo=False,
    )
    return sum(parameter.numel() for parameter in network.parameters())


def quantised(full: Path, path: Path) -> None:
    """Writes the ONNX model ``full`` to ``path`` with int8 weights, scaled by column."""
    try:
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ImportError as error:
        raise MissingDependency("judge", "quantising an ONNX model") from error
    quantize_dynamic(str(full), str(path), weight_type=QuantType.QInt8, per_channel=True)


def _rounded_down(value: float) -> float:
    """To four places, never above the value: what reached it still does."""
    return math.floor(value * 1e4) / 1e4
