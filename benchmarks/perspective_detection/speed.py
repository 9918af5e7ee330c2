"""Pairs a second: the judge as it ships, and the same network in PyTorch, in one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from perspective_rag import CrossEncoderJudge

PAIRS = 192
WORDS = 100
REPEATS = 3


def speed(folder: Path, texts: Sequence[str], statements: Sequence[str]) -> dict[str, Any]:
    """Median pairs a second over three rounds in turn, on passages of 100 words each.

    The network in PyTorch is built from the folder's ``config.json`` in float32 with weights drawn
    at random, which do not matter for speed; both sides tokenise. ``pytorch`` is None without
    torch.
    """
    documents = [" ".join((text.split() * WORDS)[:WORDS]) for text in texts]
    pairs = [(documents[i % len(documents)], statements[i % len(statements)]) for i in range(PAIRS)]
    judge = CrossEncoderJudge(folder)
    runs: dict[str, Callable[[], object]] = {
        "onnx": lambda: judge.pair_probabilities([d for d, _ in pairs], [s for _, s in pairs])
    }
    pytorch = _pytorch(folder, pairs)
    if pytorch is not None:
        runs["pytorch"] = pytorch
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for go in runs.values():
        go()
    for _ in range(REPEATS):
        for name, go in runs.items():
            started = time.perf_counter()
            go()
            seconds[name].append(time.perf_counter() - started)
    rates = {name: round(PAIRS / statistics.median(each), 1) for name, each in seconds.items()}
    return {"pairs": PAIRS, "words": WORDS, "onnx": rates["onnx"], "pytorch": rates.get("pytorch")}


def _pytorch(folder: Path, pairs: Sequence[tuple[str, str]]) -> Callable[[], object] | None:
    try:
        import torch
        from transformers import AutoConfig, AutoModelForSequenceClassification
        from transformers import PreTrainedTokenizerFast as Tokenizer
    except ImportError:
        return None
    model = AutoModelForSequenceClassification.from_config(AutoConfig.from_pretrained(folder))
    model.eval()
    tokenizer = Tokenizer(tokenizer_file=str(folder / "tokenizer.json"), pad_token="[PAD]")  # noqa: S106 - a token of text

    def go() -> None:
        for start in range(0, len(pairs), 16):
            batch = pairs[start : start + 16]
            inputs = tokenizer(
                [d for d, _ in batch], [s for _, s in batch], padding=True, return_tensors="pt"
            )
            with torch.inference_mode():
                model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])

    return go
