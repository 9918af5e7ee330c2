"""Embedding and judging with small encoders in half precision, in batches of similar length."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import perspective_rag
from benchmarks.gpu.device import HALVES, Device, Limits, not_measured, row
from perspective_rag import MissingDependency
from perspective_rag.addons import PACKAGED_JUDGE, PairEncoder, json_lines
from perspective_rag.judge.models import batches_by_length

GOAL = 3_800
"""Pairs a second that the judge is to reach on one GPU."""

SHAPES = {"MiniLM-L6 (384)": (6, 384, 12, 1536), "MPNet-base (768)": (12, 768, 12, 3072)}
TOKENS = 128
WORDS = 100


def embedding(device: Device, limits: Limits) -> list[dict[str, Any]]:
    """Encoders of two common shapes, random weights, texts of 128 tokens, the mean of the tokens.

    Weights do not matter for speed; tokenising, which other cores do, is not part of it.
    """
    try:
        from transformers import BertConfig, BertModel
    except ImportError as error:
        raise MissingDependency("judge", "measuring encoders") from error
    torch, rows = device.torch, []
    tokens = TOKENS if device.is_gpu else 16
    batch = 512 if device.is_gpu else 16
    ids = torch.randint(1000, 20_000, (device.sizes.texts, tokens), device=device.kind)
    for name, (layers, width, heads, inner) in SHAPES.items():
        config = BertConfig(
            num_hidden_layers=layers,
            hidden_size=width,
            num_attention_heads=heads,
            intermediate_size=inner,
        )
        network = BertModel(config, add_pooling_layer=False).eval()
        flops = _flops(network, layers, width, tokens)
        for dtype in HALVES:
            there = network.to(device.kind, getattr(torch, dtype))

            def embed(model: Any = there) -> None:
                with torch.inference_mode():
                    for start in range(0, len(ids), batch):
                        model(ids[start : start + batch]).last_hidden_state.mean(dim=1).float()

            seconds = device.seconds_of(embed, repeats=3)
            least = limits.seconds(flops=flops * len(ids), dtype=dtype)
            setting = f"{tokens} tokens, batches of {batch}, {dtype}"
            rows.append(row(f"embed, {name}", setting, len(ids), "texts/s", seconds, least))
        device.free()
    return rows


def judging(device: Device, limits: Limits) -> list[dict[str, Any]]:
    """The packaged judge's float weights, on pairs of 100 words, batches of similar length."""
    try:
        from transformers import AutoModelForSequenceClassification
        from transformers import PreTrainedTokenizerFast as Tokenizer

        from perspective_rag_train.weights import base_from_onnx
    except ImportError as error:
        raise MissingDependency("judge", "measuring the judge") from error
    torch = device.torch
    documents, statements = _pairs(device.sizes.pairs)
    raw = Tokenizer(tokenizer_file=str(PACKAGED_JUDGE / "tokenizer.json")).backend_tokenizer
    started = time.perf_counter()
    encoded = PairEncoder(raw, 256).pairs(documents, statements)
    tokenised = time.perf_counter() - started
    lengths = [len(each.ids) for each in encoded]
    setting = f"{WORDS} words, {np.mean(lengths):.0f} tokens a pair"
    rows = [row("judge, tokenising alone", setting, len(encoded), "pairs/s", tokenised, None)]
    shipped = _shipped(documents, statements)
    with tempfile.TemporaryDirectory() as folder:
        base = base_from_onnx(PACKAGED_JUDGE, Path(folder) / "base")
        network = AutoModelForSequenceClassification.from_pretrained(base).eval()
    flops = sum(_flops(network, 6, network.config.hidden_size, length) for length in lengths)
    for dtype in HALVES:
        there = network.to(device.kind, getattr(torch, dtype))

        def judge(model: Any = there) -> Any:
            return _logits(device, model, encoded, lengths)

        seconds = device.seconds_of(judge, repeats=3)
        difference = np.abs(_softmax(judge()[: len(shipped)]) - _softmax(shipped)).max()
        rows.append(
            row(
                "judge, network alone",
                f"{setting}, {dtype}",
                len(encoded),
                "pairs/s",
                seconds,
                limits.seconds(flops=flops, dtype=dtype),
                largest_difference=float(difference),
                goal=GOAL,
            )
        )
    rows.append(_onnx(device, encoded, lengths, setting))
    device.free()
    return rows


def _logits(device: Device, model: Any, encoded: Sequence[Any], lengths: Sequence[int]) -> Any:
    """Shape (pairs, classes), in the order of the pairs."""
    torch = device.torch
    found: list[tuple[Sequence[int], Any]] = []
    with torch.inference_mode():
        for rows in batches_by_length(lengths, 1024 if device.is_gpu else 16):
            ids, mask, types = _padded([encoded[i] for i in rows])
            inputs = (torch.from_numpy(each).to(device.kind) for each in (ids, mask, types))
            ids, mask, types = inputs
            logits = model(input_ids=ids, attention_mask=mask, token_type_ids=types).logits
            found.append((rows, logits.float()))  # left there: fetched once, at the end
    result = np.zeros((len(encoded), found[0][1].shape[1]))
    for places, logits in found:
        result[places] = logits.cpu().numpy()
    return result


def _padded(batch: Sequence[Any]) -> tuple[Any, Any, Any]:
    longest = max(len(each.ids) for each in batch)
    fields = [np.zeros((len(batch), longest), dtype=np.int64) for _ in range(3)]
    for i, each in enumerate(batch):
        for field, values in zip(
            fields, (each.ids, each.attention_mask, each.type_ids), strict=True
        ):
            field[i, : len(values)] = values
    return fields[0], fields[1], fields[2]


def _onnx(
    device: Device, encoded: Sequence[Any], lengths: Sequence[int], setting: str
) -> dict[str, Any]:
    """The packaged file in onnxruntime-gpu; it is quantised for CPUs, and may be slow there."""
    what = "judge, onnxruntime-gpu"
    try:
        import onnxruntime
    except ImportError:
        return not_measured(what, setting, "onnxruntime is not installed")
    if not device.is_gpu or "CUDAExecutionProvider" not in onnxruntime.get_available_providers():
        why = "no GPU" if not device.is_gpu else "this onnxruntime has no CUDA"
        return not_measured(what, setting, why)
    session = onnxruntime.InferenceSession(
        str(PACKAGED_JUDGE / "model.onnx"), providers=["CUDAExecutionProvider"]
    )
    names = [each.name for each in session.get_inputs()]
    some = list(range(min(len(encoded), 4096)))

    def judge() -> None:
        for rows in batches_by_length([lengths[i] for i in some], 256):
            given = _padded([encoded[i] for i in rows])
            known = dict(zip(("input_ids", "attention_mask", "token_type_ids"), given, strict=True))
            session.run(None, {name: known[name] for name in names})

    return row(what, setting, len(some), "pairs/s", device.seconds_of(judge, repeats=1), None)


def _shipped(documents: Sequence[str], statements: Sequence[str]) -> Any:
    """The logits of the packaged int8 file for the first pairs, from onnxruntime on the CPU."""
    from perspective_rag.judge.models import OnnxClassifier

    few = min(len(documents), 64)
    model = OnnxClassifier(PACKAGED_JUDGE, max_tokens=256)
    return np.asarray(model.logits(documents[:few], statements[:few]))


def _pairs(count: int) -> tuple[list[str], list[str]]:
    folder = Path(perspective_rag.__file__).parent / "corpus" / "example_data" / "debates"
    texts = [row["text"] for _, row in json_lines(folder / "passages.jsonl")]
    sides = [
        each["text"]
        for _, row in json_lines(folder / "questions.jsonl")
        for each in row["perspectives"]
    ]
    words = [text.split() for text in texts]
    # Two passages after one another, cut to 100 words: lengths still differ in tokens.
    documents = [
        " ".join((words[i % len(words)] + words[(i * 7 + 1) % len(words)])[:WORDS])
        for i in range(count)
    ]
    return documents, [sides[i % len(sides)] for i in range(count)]


def _flops(network: Any, layers: int, width: int, tokens: int) -> float:
    """Operations of one text: two for each weight that is multiplied and token, and attention."""
    matrices = sum(
        values.numel()
        for name, values in network.named_parameters()
        if values.dim() == 2 and "embeddings" not in name
    )
    return 2.0 * float(matrices) * tokens + 4.0 * layers * width * tokens**2


def _softmax(logits: Any) -> Any:
    exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponents / exponents.sum(axis=1, keepdims=True)


Part = Callable[[Device, Limits], list[dict[str, Any]]]
