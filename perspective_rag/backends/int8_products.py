"""An ONNX graph whose int8 weights are multiplied as int8 instead of being made floats first.

    W = Q s                 weights (k, n), kept as int8 with a scale for each column, s (n,)
    x_t = max|x| / 127      scale of each row of the input x (m, k), a row being a token
    x W ~ (round(x / x_t) Q) x_t s

The products of a token depend on no other token, so a text has the same embedding in any batch.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from perspective_rag.errors import ConfigError, MissingDependency

_ZERO, _ONE, _UNIT, _LEAST = "int8_zero", "int8_one", "int8_unit", "int8_least"
_FIRST, _LAST = "int8_first", "int8_last"
_CONTRIB = "com.microsoft"  # operators of ONNX Runtime


def with_int8_products(path: str | os.PathLike[str]) -> bytes:
    """The model at ``path`` with every ``MatMul(x, Mul(Cast(Q), s))`` as a product of int8.

    The weights stay as they are; the inputs are rounded to 255 steps between -max|x| and max|x| of
    their row. Raises MissingDependency without onnx, and ConfigError for a file that is no model or
    holds no such product.
    """
    try:
        import onnx
    except ImportError as error:
        raise MissingDependency("int8", "arithmetic in int8") from error
    try:
        model = onnx.load(os.fspath(path))
    except Exception as error:  # protobuf has an error class of its own
        raise ConfigError(f"{path} is not a usable ONNX model: {error}") from error
    if _rewrite(onnx, model.graph) == 0:
        raise ConfigError(
            f"{path} holds no weights that are int8 with a scale for each column, MatMul(x, "
            "Mul(Cast(Q), s)): use arithmetic='float32'"
        )
    model.opset_import.append(onnx.helper.make_opsetid(_CONTRIB, 1))
    changed: bytes = model.SerializeToString()
    return changed


def _rewrite(onnx: Any, graph: Any) -> int:
    """Replaces the products, and gives their number."""
    made_by = {output: node for node in graph.node for output in node.output}
    stored = {each.name: each for each in graph.initializer}
    quantised: set[str] = set()
    nodes = []
    count = 0
    for node in graph.node:
        found = _int8_weights(node, made_by, stored)
        if found is None:
            nodes.append(node)
            continue
        weights, scales = found
        count += 1
        if node.input[0] not in quantised:  # queries, keys and values have the same input
            quantised.add(node.input[0])
            nodes += _quantised(onnx, graph, node.input[0], stored[weights].dims[0])
        nodes += _product(onnx, graph, node, weights, scales)
    _keep_used(graph, nodes)
    _add_constants(onnx, graph)
    return count


def _int8_weights(node: Any, made_by: Any, stored: Any) -> tuple[str, str] | None:
    """The names of Q and s where a node is the product by them."""
    if node.op_type != "MatMul":
        return None
    scaled = made_by.get(node.input[1])
    if scaled is None or scaled.op_type != "Mul":
        return None
    cast = made_by.get(scaled.input[0])
    if cast is None or cast.op_type != "Cast" or cast.input[0] not in stored:
        return None
    weights, scales = cast.input[0], scaled.input[1]
    int8 = stored[weights].data_type == 3  # onnx.TensorProto.INT8
    if not int8 or scales not in stored or len(stored[weights].dims) != 2:
        return None
    columns = stored[weights].dims[1]
    return (weights, scales) if list(stored[scales].dims) == [1, columns] else None


def _quantised(onnx: Any, graph: Any, x: str, columns: int) -> list[Any]:
    """x as rows of uint8 around 128, ``x_int8``, and the scale of each row, ``x_scale`` (m, 1)."""
    node = onnx.helper.make_node
    shape = _constant(onnx, graph, f"{x}_rows_shape", [-1, columns], "int64")
    return [
        node("Shape", [x], [f"{x}_shape"]),
        node("Slice", [f"{x}_shape", _FIRST, _LAST], [f"{x}_leading"]),
        node("Reshape", [x, shape], [f"{x}_rows"]),
        node("Abs", [f"{x}_rows"], [f"{x}_abs"]),
        node("ReduceMax", [f"{x}_abs"], [f"{x}_max"], axes=[1], keepdims=1),
        node("Mul", [f"{x}_max", _UNIT], [f"{x}_step"]),
        node("Max", [f"{x}_step", _LEAST], [f"{x}_scale"]),
        node("Div", [f"{x}_rows", f"{x}_scale"], [f"{x}_steps"]),
        node("QuantizeLinear", [f"{x}_steps", _ONE, _ZERO], [f"{x}_int8"]),
    ]


def _product(onnx: Any, graph: Any, node: Any, weights: str, scales: str) -> list[Any]:
    """Nodes whose last one has the output of ``node``, in its shape."""
    make = onnx.helper.make_node
    x, out = node.input[0], node.output[0]
    held = {each.name: each for each in graph.initializer}
    columns = _constant(onnx, graph, f"{out}_columns", [held[weights].dims[1]], "int64")
    flat = onnx.numpy_helper.to_array(held[scales]).reshape(-1)
    of_columns = _constant(onnx, graph, f"{out}_scales", flat, "float32")
    factors = [f"{x}_int8", weights, _ONE, of_columns, _ZERO]
    return [
        make("MatMulIntegerToFloat", factors, [f"{out}_product"], domain=_CONTRIB),
        make("Mul", [f"{out}_product", f"{x}_scale"], [f"{out}_rows"]),
        make("Concat", [f"{x}_leading", columns], [f"{out}_shape"], axis=0),
        make("Reshape", [f"{out}_rows", f"{out}_shape"], [out]),
    ]


def _constant(onnx: Any, graph: Any, name: str, values: Any, kind: str) -> str:
    array = np.array(values, dtype=kind)
    graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    return name


def _add_constants(onnx: Any, graph: Any) -> None:
    _constant(onnx, graph, _ZERO, 128, "uint8")
    _constant(onnx, graph, _ONE, 1.0, "float32")
    _constant(onnx, graph, _UNIT, 1.0 / 127.0, "float32")
    _constant(onnx, graph, _LEAST, 1e-12, "float32")  # a row of zeros
    _constant(onnx, graph, _FIRST, [0], "int64")
    _constant(onnx, graph, _LAST, [-1], "int64")


def _keep_used(graph: Any, nodes: list[Any]) -> None:
    """Makes ``nodes`` the graph's own, without those whose result nobody reads any more."""
    wanted = {each.name for each in graph.output}
    kept = []
    for node in reversed(nodes):  # a graph is sorted: who reads comes after who makes
        if wanted.intersection(node.output):
            wanted.update(node.input)
            kept.append(node)
    del graph.node[:]
    graph.node.extend(reversed(kept))
    stored = [each for each in graph.initializer if each.name in wanted]
    del graph.initializer[:]
    graph.initializer.extend(stored)
