"""The averaged network as a folder that runs without torch: int8 ONNX, tokenizer, settings."""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from torch import nn

from perspective_rag.addons import LargerSettings
from perspective_rag.judge.two_sided import OnnxSides
from perspective_rag_train.two_sided.assess import Reader, development
from perspective_rag_train.two_sided.network import (
    Encoding,
    TwoSided,
    from_base,
    padded,
)
from perspective_rag_train.two_sided.recipe import CHECKPOINT
from perspective_rag_train.two_sided.weights import ROWS, SCALES, ZERO

BASE = {"model": "sentence-transformers/all-mpnet-base-v2", "licence": "Apache-2.0"}
BLOCKS = (256, 128, 64, 32, 16)
"""Weights that share a scale: the largest of these that divides a row."""
CHECKED = 50
"""Texts on which the int8 model is compared with the network that it was made of."""


class _Named(nn.Module):  # type: ignore[misc]
    """The network under the name by which ``weights`` finds its parameters in the ONNX file."""

    def __init__(self, network: TwoSided) -> None:
        super().__init__()
        self.network = network

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """ids (n, tokens) and mask (n, tokens) -> logits (n, 4)."""
        logits: torch.Tensor = self.network(ids, mask)
        return logits


def averaged_network(folders: Sequence[Path], base: Path) -> tuple[TwoSided, dict[str, Any]]:
    """The averaged network of a run's last checkpoint, and the hours, steps and rows it has seen.

    Of several runs it is the mean of their weights (Wortsman et al. 2022, "uniform soup"): they
    must have begun alike. Layers that were not trained are those of ``base``.
    """
    network = from_base(base, attention="eager")
    states = [torch.load(each / CHECKPOINT, weights_only=True, mmap=True) for each in folders]
    state, *others = states
    named = dict(network.named_parameters())
    with torch.no_grad():
        for name, values in state["average"].items():
            total = sum((each["average"][name] for each in others), values)
            named[name].copy_(total / len(states))
    hours = round(state["seconds"] / 3600, 3)
    return network.eval(), {"hours": hours, "steps": state["steps"], "rows": state["rows"]}


def export(
    network: TwoSided,
    tokenizer: Path,
    out: Path,
    *,
    settings: LargerSettings,
    provenance: Mapping[str, Any],
    data: Path | None = None,
) -> dict[str, float]:
    """Writes ``model.onnx`` (int8), ``tokenizer.json`` and ``judge.json`` to ``out``.

    Args:
        network: The network to export, in evaluation mode.
        tokenizer: Its ``tokenizer.json``.
        out: The folder, made if missing.
        settings: What goes with the weights.
        provenance: What they were made of, kept in ``judge.json``.
        data: Where the development sets are; with it the int8 model is compared with the network.

    Returns:
        The mean and largest difference of a probability from the network's, and how often both
        name the same class. Empty without ``data``.
    """
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        full = Path(folder) / "full.onnx"
        to_onnx(network, full)
        quantised(full, out / "model.onnx")
    shutil.copy(tokenizer, out / "tokenizer.json")
    dated = {"date": datetime.now(timezone.utc).date().isoformat(), **provenance}
    (out / "judge.json").write_text(settings.document(dated), encoding="utf-8")
    if data is None:
        return {}
    checked = compared(network, tokenizer, out, data, settings)
    dated["int8 beside floats"] = checked
    (out / "judge.json").write_text(settings.document(dated), encoding="utf-8")
    return checked


def to_onnx(network: TwoSided, path: Path) -> None:
    """Writes the network in 32-bit floats: inputs "ids" and "mask", output "logits"."""
    torch.onnx.export(
        _Named(network).eval(),
        (torch.full((2, 16), 5), torch.ones((2, 16), dtype=torch.long)),
        str(path),
        input_names=["ids", "mask"],
        output_names=["logits"],
        dynamic_axes={
            **{name: {0: "batch", 1: "tokens"} for name in ("ids", "mask")},
            "logits": {0: "batch"},
        },
        opset_version=17,
        dynamo=False,
    )


def quantised(full: Path, path: Path) -> None:
    """Writes the model ``full`` with int8 weights: matrices by blocks, embeddings by row.

    The inputs of a product are rounded by row and block as well (``MatMulNBits``): rounded by the
    largest of the whole input, as ``MatMulInteger`` has them, they cost a twentieth of the margin's
    correlation with the network's. Heads and the bias of relative positions stay floats.
    """
    model = onnx.load(str(full))
    stored = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    replaced, fresh, nodes = set(), [], []
    for node in model.graph.node:
        made = [node]
        if node.op_type == "MatMul" and "/encoder/" in node.name and node.input[1] in stored:
            replaced.add(node.input[1])
            fresh += _in_blocks(node, stored[node.input[1]])
        elif node.op_type == "Gather" and "embeddings.weight" in node.input[0]:
            replaced.add(node.input[0])
            made, kept = _by_row(node, stored[node.input[0]])
            fresh += kept
        nodes += made
    fresh += [each for each in model.graph.initializer if each.name not in replaced]
    del model.graph.initializer[:], model.graph.node[:]
    model.graph.initializer.extend(fresh)
    model.graph.node.extend(nodes)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, str(path))


def _by_row(node: Any, table: NDArray[np.float32]) -> tuple[list[Any], list[Any]]:
    """The nodes that look a row up in an int8 table, and what they read."""
    own, rows = node.input
    scales = np.maximum(np.abs(table).max(axis=1, keepdims=True) / 127, 1e-12).astype(np.float32)
    kept = [
        numpy_helper.from_array(np.round(table / scales).astype(np.int8), f"{ROWS}{own}"),
        numpy_helper.from_array(scales, f"{SCALES}{own}"),
    ]
    name = node.name
    made = [
        helper.make_node("Gather", [f"{ROWS}{own}", rows], [f"{name}/whole"], f"{name}/whole"),
        helper.make_node("Gather", [f"{SCALES}{own}", rows], [f"{name}/scale"], f"{name}/scale"),
        helper.make_node("Cast", [f"{name}/whole"], [f"{name}/floats"], f"{name}/floats", to=1),
        helper.make_node("Mul", [f"{name}/floats", f"{name}/scale"], list(node.output), name),
    ]
    return made, kept


def _in_blocks(node: Any, matrix: NDArray[np.float32]) -> list[Any]:
    """Makes a product one whose matrix is int8, scaled by block; returns what it reads instead."""
    weights = np.ascontiguousarray(matrix.T)  # (out, in)
    rows, columns = weights.shape
    size = next(each for each in BLOCKS if columns % each == 0)
    blocks = weights.reshape(rows, columns // size, size)
    scales = np.maximum(np.abs(blocks).max(axis=-1) / 127, 1e-12).astype(np.float32)
    whole = (np.round(blocks / scales[..., None]) + ZERO).astype(np.uint8)
    names = [f"blocks{node.name}", f"scales{node.name}"]
    product = helper.make_node(
        "MatMulNBits", [node.input[0], *names], list(node.output), name=node.name,
        domain="com.microsoft", K=columns, N=rows, bits=8, block_size=size, accuracy_level=4,
    )  # fmt: skip
    node.CopyFrom(product)
    values = zip(names, (whole, scales), strict=True)
    return [numpy_helper.from_array(array, name) for name, array in values]


def compared(
    network: TwoSided, tokenizer: Path, folder: Path, data: Path, settings: LargerSettings
) -> dict[str, float]:
    """How far the exported model's probabilities are from the network's, on ``CHECKED`` texts."""
    cases = [case for each in development(data).values() for case in each]
    chosen = random.Random(3).sample(cases, CHECKED)
    encoding = Encoding(tokenizer, settings.max_tokens)
    rows = [encoding.ids(case.first, case.second, case.document) for case in chosen]
    exported = OnnxSides(folder, threads=1)
    found = exported.logits([(case.first, case.second, case.document) for case in chosen])
    wanted = []
    with torch.no_grad():
        for row in rows:
            ids, mask = map(torch.from_numpy, padded([row]))
            wanted.append(network(ids, mask)[0].double().numpy())
    one, two = _softmax(found), _softmax(np.array(wanted))
    return {
        "texts": CHECKED,
        "mean difference": round(float(np.abs(one - two).mean()), 4),
        "largest difference": round(float(np.abs(one - two).max()), 4),
        "same class": round(float((one.argmax(axis=1) == two.argmax(axis=1)).mean()), 4),
    }


def read_exported(folder: Path) -> Reader:
    """The exported model as ``assess`` reads: probabilities (n, 4), both orders averaged."""
    model = OnnxSides(folder)

    def read(texts: Sequence[tuple[str, str, str]]) -> NDArray[np.float64]:
        one = _softmax(model.logits(texts))
        two = _softmax(model.logits([(b, a, text) for a, b, text in texts]))
        return (one + two[:, [1, 0, 2, 3]]) / 2

    return read


def _softmax(logits: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
    raised = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def provenance_of(folder: Path, trained: Mapping[str, Any]) -> dict[str, Any]:
    """Base, licence, recipe and last line of the curve of a run's folder."""
    found: dict[str, Any] = {"base": BASE, "licence of the weights": "Apache-2.0", **trained}
    recipe, curve = folder / "recipe.json", folder / "curve.jsonl"
    if recipe.is_file():
        found["recipe"] = json.loads(recipe.read_text(encoding="utf-8"))
    if curve.is_file():
        last = curve.read_text(encoding="utf-8").splitlines()[-1]
        found["development while training"] = json.loads(last)
    return found
