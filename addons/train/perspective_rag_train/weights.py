"""An exported judge's weights as floats again: an int8 model is a base for further training."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perspective_rag import ConfigError, MissingDependency

Weights = dict[str, NDArray[np.float32]]

_ROOT = "network."
_QUANTISED = "_quantized"
_OF_QUANTISED = re.compile(r"_(scale|zero_point|quantized)$")
# A matrix that the exporter named by number belongs to the layer that its product is named after.
_PRODUCT = re.compile(r"^/network/(?P<layer>.*)/MatMul(_quant)?$")


def weights_from_onnx(path: Path) -> Weights:
    """The parameters of a model that ``export`` wrote, by their names in transformers.

    What was quantised to int8 is scaled back: w = (q - zero point) * scale, so each weight is
    within half a step of its scale of what it was. Linear layers are given as torch keeps them,
    (out, in). Raises ConfigError for a file that holds no such model.
    """
    try:
        import onnx
        from onnx import numpy_helper
    except ImportError as error:
        raise MissingDependency("judge", "reading the weights of an ONNX model") from error
    if not path.is_file():
        raise ConfigError(f"{path} does not exist; expected a judge's model.onnx")
    graph = onnx.load(str(path)).graph
    stored = {each.name: numpy_helper.to_array(each) for each in graph.initializer}

    def floats(name: str) -> NDArray[np.float32]:
        whole = stored[name + _QUANTISED].astype(np.float32)
        zero = stored[name + "_zero_point"].astype(np.float32)
        return np.asarray((whole - zero) * stored[name + "_scale"], dtype=np.float32)

    found: Weights = {}
    for name, values in stored.items():
        if not name.startswith(_ROOT):
            continue
        if name.endswith(_QUANTISED):
            own = name.removesuffix(_QUANTISED)
            weights = floats(own)
            # A product with the transposed matrix was turned round for the quantised operator.
            # The exporter may say so in the name.
            key = own.removeprefix(_ROOT).removesuffix("_Transposed")
            found[key] = weights if "embeddings" in own else weights.T
        elif not _OF_QUANTISED.search(name):
            found[name.removeprefix(_ROOT)] = values.astype(np.float32)
    for node in graph.node:
        product = _PRODUCT.match(node.name)
        if product and node.op_type == "MatMulInteger" and node.input[1].endswith(_QUANTISED):
            own = node.input[1].removesuffix(_QUANTISED)
            if not own.startswith(_ROOT):
                found[product["layer"].replace("/", ".") + ".weight"] = floats(own).T
    if not any(name.endswith("word_embeddings.weight") for name in found):
        raise ConfigError(f"{path} is not an int8 model that the export of a judge wrote")
    return {name: np.ascontiguousarray(values) for name, values in found.items()}


def base_from_onnx(folder: Path, out: Path) -> Path:
    """Writes ``folder``'s exported judge to ``out`` as a transformers folder, to train it further.

    ``out`` holds the float weights, configuration and tokenizer; it is returned. Raises ConfigError
    where a parameter of the configured model is not in the file.
    """
    try:
        import torch
        from transformers import AutoConfig, AutoModelForSequenceClassification
    except ImportError as error:
        raise MissingDependency("judge", "training a judge") from error
    config = AutoConfig.from_pretrained(folder)
    network: Any = AutoModelForSequenceClassification.from_config(config)
    weights = weights_from_onnx(folder / "model.onnx")
    missing = sorted(name for name, _ in network.named_parameters() if name not in weights)
    if missing:
        raise ConfigError(f"{folder / 'model.onnx'} lacks {', '.join(missing[:3])}")
    state = {name: torch.from_numpy(values) for name, values in weights.items()}
    network.load_state_dict(state, strict=False)
    out.mkdir(parents=True, exist_ok=True)
    network.save_pretrained(out)
    shutil.copy(folder / "tokenizer.json", out)
    names = ["input_ids", "token_type_ids", "attention_mask"]
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": names,
        "model_max_length": config.max_position_embeddings,
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
        "mask_token": "[MASK]",
        "unk_token": "[UNK]",
    }
    (out / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
    return out
