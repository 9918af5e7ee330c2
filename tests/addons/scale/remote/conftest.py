"""A tiny judge's folder, and the packaged model for the stand-in servers."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytest.importorskip("httpx")
pytest.importorskip("tenacity")
tokenizers = pytest.importorskip("tokenizers")

from perspective_rag.judge.cross_encoder import DEFAULT_MODEL
from perspective_rag.judge.models import onnx_session
from tests.addons.scale.remote.servers import Model

LABELS = ("support", "oppose", "neutral")
WORDS = [
    *"[PAD] [UNK] [CLS] [SEP] yes no maybe zoos should close parks".split(),
    *(f"w{number}" for number in range(40)),
]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A judge's folder without weights, whose tokenizer knows a few words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    where = tmp_path_factory.mktemp("tiny")
    raw = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="[UNK]"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]"])
    raw.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    raw.save(str(where / "tokenizer.json"))
    config = {
        "architectures": ["BertForSequenceClassification"],
        "id2label": dict(enumerate(LABELS)),
        "type_vocab_size": 2,
        "vocab_size": len(WORDS),
    }
    (where / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (where / "judge.json").write_text(json.dumps({"max_tokens": 32}), encoding="utf-8")
    return where


@pytest.fixture(scope="session")
def tiny(folder):
    """Sure of support where the document holds "yes", of opposition where it holds "no"."""
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))

    def logits(ids, kinds):
        first = [i for i, kind in zip(ids, kinds, strict=True) if not kind]
        best = 0 if WORDS.index("yes") in first else 1 if WORDS.index("no") in first else 2
        row = np.full(3, -2.0)
        row[best] = 3.0
        return row.tolist()

    return Model(LABELS, tokenizer, logits)


@pytest.fixture(scope="session")
def packaged():
    """The model that comes with the package, as a server would run it."""
    import onnxruntime

    session = onnx_session(onnxruntime, DEFAULT_MODEL / "model.onnx")

    def logits(ids, kinds):
        feed = {"input_ids": ids, "attention_mask": [1] * len(ids), "token_type_ids": kinds}
        row = session.run(None, {n: np.array([v], dtype=np.int64) for n, v in feed.items()})[0][0]
        return row.tolist()

    tokenizer = tokenizers.Tokenizer.from_file(str(DEFAULT_MODEL / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return Model(LABELS, tokenizer, logits)
