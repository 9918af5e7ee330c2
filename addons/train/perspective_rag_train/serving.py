"""A judge's folder as model servers load it: Text Embeddings Inference, vLLM, ONNX Runtime."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any, Literal

import numpy as np

from perspective_rag import ConfigError, MissingDependency
from perspective_rag.addons import (
    JUDGE_FILE,
    SECOND_TEXT_OFFSET,
    class_columns,
    folder_in_work,
    from_json,
    stored_in,
)
from perspective_rag_train.weights import Weights, weights_from_onnx

Target = Literal["tei", "vllm", "onnx"]

_WORDS = "embeddings.word_embeddings.weight"
_TYPES = "embeddings.token_type_embeddings.weight"
_BESIDE = (
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
    "merges.txt",
    "vocab.json",
    "sentencepiece.bpe.model",
    "spm.model",
)
# Of BERT; other families bring their own tokenizer_config.json.
_TOKENIZER = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "model_input_names": ["input_ids", "token_type_ids", "attention_mask"],
    "pad_token": "[PAD]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
    "unk_token": "[UNK]",
}


def export_for(target: Target, folder: Path, out: Path, *, float32: bool = False) -> dict[str, Any]:
    """Writes the judge of ``folder`` to ``out``, whole or not at all, and says what it wrote.

    "tei" and "vllm": ``config.json`` with the labels and the architecture, ``model.safetensors``,
    the tokenizer and ``judge.json``. A judge that exists as int8 ONNX alone is scaled back to
    floats: w = (q - zero point) * scale. The int8 model rounds its activations as well, so the
    floats say nearly the same, not exactly. For "vllm" the matrix of word embeddings of a model
    with token types becomes twice as long: row i + n is row i plus the embedding of the second
    type less that of the first. A pair's second text is then sent as ids from n on, as the server
    takes token ids and no token types; for the first n rows the model is the same.

    "onnx": ``model.onnx`` as it is in the folder; with ``float32``, or from a folder of
    transformers, in 32-bit floats, and ``model_int8.onnx`` beside it.

    Raises ConfigError where ``out`` exists or ``folder`` holds no judge, MissingDependency without
    ``onnx`` and ``safetensors`` (the extra ``export``) or, to make an ONNX file, ``torch``
    (the extra ``judge``).
    """
    if out.exists():
        raise ConfigError(f"{out} exists already: name a new folder")
    config = _config(folder)
    out.parent.mkdir(parents=True, exist_ok=True)
    with folder_in_work(out) as new:
        shutil.copy(folder / "tokenizer.json", new)
        for name in (*_BESIDE, JUDGE_FILE):
            if (folder / name).is_file():
                shutil.copy(folder / name, new)
        if target == "onnx":
            _onnx(folder, config, new, float32)
        else:
            _safetensors(folder, config, new, doubled=target == "vllm")
        _write(new / "config.json", config)
    return {
        "folder": str(out),
        "labels": list(config["id2label"].values()),
        "files": sorted(each.name for each in out.iterdir()),
    }


def _config(folder: Path) -> dict[str, Any]:
    """The configuration with the labels both ways; raises ConfigError for no judge's."""
    for name in ("config.json", "tokenizer.json"):
        if not (folder / name).is_file():
            raise ConfigError(f"{folder / name} is missing: expected the folder of a judge")
    try:
        config = from_json((folder / "config.json").read_text(encoding="utf-8"))
        names = {str(key): str(config["id2label"][key]) for key in config["id2label"]}
        config["id2label"] = {key: names[key] for key in sorted(names, key=int)}
        config["label2id"] = {label: int(key) for key, label in config["id2label"].items()}
        architectures = list(config.get("architectures") or [])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{folder / 'config.json'} cannot be read: {error!r}") from error
    class_columns(list(names.values()))
    if not any(str(each).endswith("ForSequenceClassification") for each in architectures):
        raise ConfigError(
            f"{folder / 'config.json'}: architectures is {architectures}; expected one that ends "
            "in ForSequenceClassification"
        )
    made: dict[str, Any] = config
    return made


def _safetensors(folder: Path, config: dict[str, Any], new: Path, *, doubled: bool) -> None:
    try:
        from safetensors.numpy import load_file, save_file
    except ImportError as error:
        raise MissingDependency("export", "writing model.safetensors") from error
    stored = folder / "model.safetensors"
    if stored.is_file():
        weights: Weights = load_file(str(stored))
    elif (folder / "model.onnx").is_file():
        try:
            import onnx  # noqa: F401
        except ImportError as error:
            raise MissingDependency("export", "reading the weights of an ONNX model") from error
        weights = weights_from_onnx(folder / "model.onnx")
    else:
        raise ConfigError(f"{folder} holds neither model.safetensors nor model.onnx")
    if doubled and int(config.get("type_vocab_size") or 0) > 1:
        _double(weights, config, new, folder)
    save_file(weights, str(new / "model.safetensors"), metadata={"format": "pt"})
    # It is written for its owner alone; a server mostly runs as somebody else.
    (new / "model.safetensors").chmod((new / "tokenizer.json").stat().st_mode)
    if not (new / "tokenizer_config.json").is_file():
        longest = config.get("max_position_embeddings", 512)
        _write(new / "tokenizer_config.json", {**_TOKENIZER, "model_max_length": longest})


def _double(weights: Weights, config: dict[str, Any], new: Path, folder: Path) -> None:
    try:
        (words,) = (name for name in weights if name.endswith(_WORDS))
        (types,) = (name for name in weights if name.endswith(_TYPES))
    except ValueError:
        raise ConfigError(f"{folder} lacks one of {_WORDS} and {_TYPES}") from None
    first, second = weights[types][:2]
    size = len(weights[words])
    weights[words] = np.concatenate([weights[words], weights[words] + (second - first)])
    config["vocab_size"] = 2 * size
    _write(new / JUDGE_FILE, {**stored_in(folder), SECOND_TEXT_OFFSET: size})


def _onnx(folder: Path, config: dict[str, Any], new: Path, float32: bool) -> None:
    given = folder / "model.onnx"
    if given.is_file() and not float32:
        shutil.copy(given, new)
        return
    from perspective_rag_train.export import quantised, to_onnx
    from perspective_rag_train.weights import base_from_onnx

    with tempfile.TemporaryDirectory() as scratch:
        floats = folder
        if not (folder / "model.safetensors").is_file():
            floats = base_from_onnx(folder, Path(scratch))
        to_onnx(floats, new / "model.onnx")
        quantised(new / "model.onnx", new / "model_int8.onnx")


def _write(path: Path, values: dict[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
