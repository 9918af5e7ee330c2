"""A judge's folder as servers load it, read by transformers and ONNX Runtime."""

from __future__ import annotations

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("safetensors")
transformers = pytest.importorskip("transformers")

from perspective_rag.judge.cross_encoder import DEFAULT_MODEL, CrossEncoderJudge
from perspective_rag.judge.models import OnnxClassifier, TransformersClassifier
from perspective_rag_train.serving import export_for

DOCUMENTS = [
    "Zoos keep animals in cages far too small for them, and many fall ill.",
    "The zoo in the old town was opened in 1874 and has two cafes.",
    "Zoos have saved several species that had died out in the wild.",
]
STATEMENTS = ["Zoos should be closed."] * 3


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    where = tmp_path_factory.mktemp("exported")
    for target in ("tei", "vllm"):
        export_for(target, DEFAULT_MODEL, where / target)
    return where


@pytest.fixture(scope="module")
def floats(folders):
    return TransformersClassifier(str(folders / "tei"), max_tokens=224)


def test_the_floats_say_nearly_what_the_int8_model_says(folders, floats):
    assert floats.labels == ("support", "oppose", "neutral")
    shipped = CrossEncoderJudge().pair_probabilities(DOCUMENTS, STATEMENTS)
    exported = CrossEncoderJudge(folders / "tei").pair_probabilities(DOCUMENTS, STATEMENTS)
    for stance in ("support", "oppose"):
        # The int8 model rounds its activations too, so equal they cannot be.
        assert np.abs(shipped[stance] - exported[stance]).max() < 0.1


def test_the_second_vocabulary_says_which_text_a_token_belongs_to(folders, floats):
    network = transformers.AutoModelForSequenceClassification.from_pretrained(folders / "vllm")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folders / "vllm")
    step = json.loads((folders / "vllm" / "judge.json").read_text())["second_text_offset"]
    assert network.config.vocab_size == 2 * step
    for document, statement in zip(DOCUMENTS, STATEMENTS, strict=True):
        encoded = tokenizer(document, statement)
        ids = [
            i + step * kind
            for i, kind in zip(encoded.input_ids, encoded.token_type_ids, strict=True)
        ]
        with torch.no_grad():  # without token types, as vLLM's /classify reads them
            found = network(torch.tensor([ids])).logits.numpy()
        np.testing.assert_allclose(found, floats.logits([document], [statement]), atol=1e-4)


def test_an_exported_folder_can_be_exported_again(folders, tmp_path):
    export_for("vllm", folders / "tei", tmp_path / "again")
    assert (tmp_path / "again" / "model.safetensors").read_bytes() == (
        folders / "vllm" / "model.safetensors"
    ).read_bytes()


def test_onnx_in_floats_with_int8_beside_it(folders, floats, tmp_path):
    said = export_for("onnx", DEFAULT_MODEL, tmp_path / "onnx", float32=True)
    assert {"model.onnx", "model_int8.onnx"} <= set(said["files"])
    found = OnnxClassifier(tmp_path / "onnx", max_tokens=224).logits(DOCUMENTS, STATEMENTS)
    np.testing.assert_allclose(found, floats.logits(DOCUMENTS, STATEMENTS), atol=1e-4)
