"""A trained cross-encoder as a folder that runs without torch: int8 ONNX, tokenizer, settings,
provenance.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag.errors import MissingDependency
from perspective_rag.judge.cross_encoder import JudgeSettings, settings_document
from perspective_rag.judge.models import OnnxClassifier
from perspective_rag.judge.training.data import LABELS, LabelledPair
from perspective_rag.judge.training.metrics import (
    best_temperature,
    best_threshold,
    evaluate,
    softmax,
)


def export(
    model: Path,
    development: Sequence[LabelledPair],
    out: Path,
    *,
    provenance: Mapping[str, Any],
    max_tokens: int = 192,
    quantize: bool = True,
) -> dict[str, float]:
    """Writes ``model`` (a transformers folder) to ``out`` and returns the exported model's
    development figures.

    Temperature and threshold (best F0.5) are set on the development pairs with the
    exported, quantised model itself, so that they fit what will run.
    """
    try:
        import torch
        from onnxruntime.quantization import QuantType, quantize_dynamic
        from transformers import AutoModelForSequenceClassification
    except ImportError as error:
        raise MissingDependency("judge", "exporting a judge to ONNX") from error
    out.mkdir(parents=True, exist_ok=True)
    network = AutoModelForSequenceClassification.from_pretrained(
        model, attn_implementation="eager"
    ).eval()
    network.config.return_dict = False
    names = ["input_ids", "attention_mask", "token_type_ids"]
    sample = tuple(torch.ones((2, 16), dtype=torch.long) for _ in names)
    full = out / "model.fp32.onnx"
    torch.onnx.export(
        network,
        sample,
        str(full),
        input_names=names,
        output_names=["logits"],
        dynamic_axes={
            **{name: {0: "batch", 1: "tokens"} for name in names},
            "logits": {0: "batch"},
        },
        opset_version=17,
        dynamo=False,
    )
    if quantize:
        quantize_dynamic(
            str(full), str(out / "model.onnx"), weight_type=QuantType.QInt8, per_channel=True
        )
        full.unlink()
    else:
        full.replace(out / "model.onnx")
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(model / name, out / name)

    classifier = OnnxClassifier(out, max_tokens=max_tokens)
    logits = np.asarray(
        classifier.logits([p.document for p in development], [p.statement for p in development]),
        dtype=np.float64,
    )
    truth = np.array([LABELS.index(pair.label) for pair in development])
    temperature = best_temperature(logits, truth)
    threshold = best_threshold(softmax(logits / temperature)[:, 0], truth == 0)
    figures = evaluate(logits / temperature, [pair.label for pair in development])
    settings = JudgeSettings(
        threshold=round(threshold, 4), temperature=round(temperature, 4), max_tokens=max_tokens
    )
    dated = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "development": figures,
        **provenance,
    }
    (out / "judge.json").write_text(settings_document(settings, dated), encoding="utf-8")
    return figures
