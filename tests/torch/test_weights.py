"""The shipped int8 model as float weights: what it says stays what it said."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("transformers")

from perspective_rag.errors import ConfigError
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL
from perspective_rag.judge.models import OnnxClassifier, TransformersClassifier
from perspective_rag_train.weights import base_from_onnx, weights_from_onnx

DOCUMENTS = [
    "Zoos keep animals in cages far too small for them, and many fall ill.",
    "The zoo in the old town was opened in 1874 and has two cafes.",
    "Zoos have saved several species that had died out in the wild.",
]
STATEMENTS = ["Zoos should be closed.", "Zoos protect animals."]


def test_the_float_weights_give_the_logits_of_the_int8_model(tmp_path):
    base = base_from_onnx(DEFAULT_MODEL, tmp_path / "base")
    documents = [each for each in DOCUMENTS for _ in STATEMENTS]
    statements = STATEMENTS * len(DOCUMENTS)
    shipped = OnnxClassifier(DEFAULT_MODEL, max_tokens=192).logits(documents, statements)
    floats = TransformersClassifier(str(base), max_tokens=192).logits(documents, statements)
    # The int8 model rounds its activations too, so equal they cannot be.
    assert np.abs(shipped - floats).mean() < 0.15
    assert np.corrcoef(shipped.ravel(), floats.ravel())[0, 1] > 0.98


def test_a_quantised_matrix_is_scaled_back_by_column():
    weights = weights_from_onnx(DEFAULT_MODEL / "model.onnx")
    assert weights["bert.encoder.layer.0.intermediate.dense.weight"].shape == (1536, 384)
    assert weights["classifier.weight"].shape == (3, 384)
    assert all(values.dtype == np.float32 for values in weights.values())


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"model\.onnx does not exist"):
        weights_from_onnx(tmp_path / "model.onnx")
