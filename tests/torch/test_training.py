"""Training a judge: learns, resumes where it stopped, exports what it learned."""

from __future__ import annotations

import gzip
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")
transformers = pytest.importorskip("transformers")

from perspective_rag.cli import main
from perspective_rag.errors import ConfigError
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL, CrossEncoderJudge
from perspective_rag.judge.models import TransformersClassifier
from perspective_rag.judge.training.command import (
    DataFile,
    evaluate_judge,
    split_by_document,
    train_judge,
)
from perspective_rag.judge.training.data import (
    Augmentation,
    LabelledPair,
    epoch_batches,
    read_pairs,
)
from perspective_rag.judge.training.loop import TrainingConfig, train

NOTHING_CHANGED = Augmentation(negation=0.0, padding=0.0)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A tiny BERT with random weights and the package's own tokenizer."""
    folder = tmp_path_factory.mktemp("base")
    config = transformers.BertConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64
    )
    transformers.BertModel(config).save_pretrained(folder)
    shutil.copy(DEFAULT_MODEL / "tokenizer.json", folder)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 512,
        "pad_token": "[PAD]",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return str(folder)


def pairs(n=240):
    """The first word of the document decides."""
    words = {"support": "indeed", "oppose": "never", "neutral": "weather"}
    return [
        LabelledPair(f"{word} number {i}", "zoos should close", label, "toy")
        for i in range(n // 3)
        for label, word in words.items()
    ]


def config(base, **changes):
    settings = {
        "base": base,
        "epochs": 6.0,
        "learning_rate": 3e-3,
        "tokens_per_batch": 512,
        "max_tokens": 32,
        "augmentation": NOTHING_CHANGED,
    }
    return TrainingConfig(**{**settings, **changes})


def test_it_learns_and_the_exported_model_knows_it_too(base, tmp_path):
    data = tmp_path / "pairs.jsonl.gz"
    with gzip.open(data, "wt", encoding="utf-8") as file:
        for pair in pairs():
            row = {"document": pair.document, "statement": pair.statement, "label": pair.label}
            file.write(json.dumps(row) + "\n")
    out = tmp_path / "judge"
    figures = train_judge([DataFile(data)], [], config(base, epochs=40.0), out)
    assert figures["accuracy"] > 0.95
    assert (
        CrossEncoderJudge(out).threshold
        == json.loads((out / "judge.json").read_text())["threshold"]
    )
    assert evaluate_judge(str(out), [DataFile(data)])["all"]["accuracy"] > 0.95
    provenance = json.loads((out / "judge.json").read_text())["provenance"]
    assert provenance["data"][0]["file"] == "pairs.jsonl.gz"
    assert provenance["training"]["seed"] == 13
    assert "int8" in (out / "README.md").read_text()


def test_transformers_and_onnx_agree(base, tmp_path):
    train_judge([DataFile(write(tmp_path, pairs()))], [], config(base), tmp_path / "judge")
    slow = TransformersClassifier(str(tmp_path / "judge" / "model"), max_tokens=32)
    fast = CrossEncoderJudge(tmp_path / "judge", temperature=1.0)
    documents = [pair.document for pair in pairs(30)]
    logits = slow.logits(documents, ["zoos should close"] * len(documents))
    probability = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    ours = fast.probabilities(documents, ["zoos should close"])["support"][:, 0]
    assert np.abs(probability[:, 0] - ours).max() < 0.1  # int8 against float32
    assert CrossEncoderJudge(tmp_path / "judge" / "model").probabilities(["indeed"], ["x"])


def test_an_interrupted_run_continues_and_sees_nothing_twice(base, tmp_path):
    settings = config(base, epochs=2.0, checkpoint_every=0.0)
    whole: list[int] = []
    train(pairs(), pairs(30), settings, tmp_path / "whole", lambda s: whole.append(s["step"]))
    steps: list[int] = []

    def stop(state):
        steps.append(state["step"])
        if len(steps) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(pairs(), pairs(30), settings, tmp_path / "cut", stop)
    train(pairs(), pairs(30), settings, tmp_path / "cut", lambda s: steps.append(s["step"]))
    # The step that was interrupted after its report was not saved yet: it alone is repeated.
    assert steps == [1, 2, 3, 4, 5, *range(5, whole[-1] + 1)]


def test_other_settings_do_not_continue_an_old_run(base, tmp_path):
    settings = config(base, epochs=1.0, checkpoint_every=0.0)
    train(pairs(), pairs(30), settings, tmp_path, lambda s: None)
    steps: list[int] = []
    train(
        pairs(), pairs(30), replace(settings, seed=14), tmp_path, lambda s: steps.append(s["step"])
    )
    assert steps[0] == 1


def test_the_order_of_an_epoch_depends_on_seed_and_epoch_alone():
    def order(seed, epoch):
        batches = epoch_batches(
            pairs(), seed=seed, epoch=epoch, tokens_per_batch=256, augmentation=Augmentation()
        )
        return [pair for batch in batches for pair in batch]

    assert order(1, 0) == order(1, 0)
    assert order(1, 0) != order(1, 1)
    assert order(1, 0) != order(2, 0)


def test_negation_turns_the_label_round():
    rng = __import__("random").Random(0)
    pair = LabelledPair("d", "Zoos should close", "support")
    changed = Augmentation(negation=1.0, padding=0.0).apply(pair, [pair], rng)
    assert (changed.statement, changed.label) == ("Zoos should not close", "oppose")


def test_splits_share_no_document():
    train_pairs, held_out = split_by_document(pairs() + pairs(), seed=1)
    assert held_out
    assert not {p.document for p in train_pairs} & {p.document for p in held_out}


def write(folder: Path, rows) -> Path:
    path = folder / "rows.jsonl"
    path.write_text(
        "\n".join(
            json.dumps({"document": p.document, "statement": p.statement, "label": p.label})
            for p in rows
        )
    )
    return path


@pytest.mark.parametrize(
    "line",
    ["not json", '{"document": "a"}', '{"document":"a","statement":"b","label":"maybe"}', "[1]"],
)
def test_a_bad_row_is_named_with_its_line(tmp_path, line):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"document":"a","statement":"b","label":"support"}\n' + line + "\n")
    with pytest.raises(ConfigError, match=r"bad\.jsonl:2"):
        read_pairs([path])


def test_the_command_line_trains_and_evaluates(base, tmp_path, capsys):
    data = write(tmp_path, pairs(60))
    out = tmp_path / "judge"
    command = ["judge", "train", f"{data}:45", "--base", base, "--out", str(out), "--epochs", "1"]
    assert main(command) == 0
    assert main(["judge", "eval", str(data), "--model", str(out)]) == 0
    assert '"accuracy"' in capsys.readouterr().out
    assert main(["judge", "eval", str(tmp_path / "missing.jsonl")]) == 1
    assert "does not exist" in capsys.readouterr().err
