"""The exported int8 file as float weights again: a training goes on from it."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import numpy_helper

from perspective_rag import ConfigError
from perspective_rag_train.two_sided.network import TwoSided

ZERO = 128
"""What stands for 0 in a matrix stored by blocks."""
ROWS, SCALES = "rows:", "scales:"
"""Before the name of a table stored by row, and of its scales."""
_ROOT = "network."
_PRODUCT = re.compile(r"^/network/(?P<layer>.*)/MatMul$")


def weights_from_onnx(path: Path) -> dict[str, NDArray[np.float32]]:
    """The parameters of an exported ``model.onnx`` by their names in the network.

    What is stored as int8 is scaled back: each weight is within half a step of what it was. Raises
    ConfigError where there is no file.
    """
    if not path.is_file():
        raise ConfigError(f"{path} does not exist; expected the model.onnx of an exported judge")
    graph = onnx.load(str(path)).graph
    stored = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    found = {}
    for name, values in stored.items():
        own = name.removeprefix(ROWS).removeprefix(_ROOT)
        if name.startswith(ROWS):
            found[own] = values * stored[SCALES + name.removeprefix(ROWS)]
        elif name.startswith(_ROOT):
            found[own] = values
    for node in graph.node:
        product = _PRODUCT.match(node.name)
        if node.op_type == "MatMulNBits" and product:
            blocks, scales = (stored[name] for name in node.input[1:3])
            values = (blocks.astype(np.float32) - ZERO) * scales[..., None]
            found[product["layer"].replace("/", ".") + ".weight"] = values.reshape(len(values), -1)
    return found


def load_onnx(network: TwoSided, path: Path) -> None:
    """Puts the weights of an exported ``model.onnx`` into a network of the same shape.

    Raises ConfigError where a parameter is missing or has another shape.
    """
    found = weights_from_onnx(path)
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if name not in found:
                if ".pooler." in name:  # nothing reads it, so it is not exported
                    continue
                raise ConfigError(f"{path} lacks {name}")
            if found[name].shape != tuple(parameter.shape):
                raise ConfigError(
                    f"{path}: {name} has shape {found[name].shape}, "
                    f"expected {tuple(parameter.shape)}"
                )
            parameter.copy_(torch.from_numpy(found[name]))
