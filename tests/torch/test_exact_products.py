"""Int8 products are exact on every processor: with AVX2 alone they would overflow."""

from __future__ import annotations

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from onnx import TensorProto, helper, numpy_helper

from perspective_rag.judge.models import onnx_session


def test_the_largest_bytes_do_not_overflow(tmp_path):
    weights = np.full((64, 8), 127, dtype=np.int8)
    weights[1::2, ::2] = -127
    graph = helper.make_graph(
        [helper.make_node("MatMulInteger", ["x", "w"], ["y"])],
        "product",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 64])],
        [helper.make_tensor_value_info("y", TensorProto.INT32, [1, 8])],
        [numpy_helper.from_array(weights, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(tmp_path / "model.onnx"))
    x = np.full((1, 64), 255, dtype=np.uint8)
    found = onnx_session(onnxruntime, tmp_path / "model.onnx").run(None, {"x": x})[0]
    assert found.tolist() == (x.astype(int) @ weights.astype(int)).tolist()
