"""LoRA fine-tuning of causal language models: the paper's settings, learning, resuming."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("peft")
transformers = pytest.importorskip("transformers")

from perspective_rag.cli import main
from perspective_rag.errors import ConfigError
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL
from perspective_rag_train.command import DataFile
from perspective_rag_train.lora import LoraConfig, train_adapter

TINY = {
    "vocab_size": 30522,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 512,
    "initializer_range": 0.2,
}


@pytest.fixture(
    scope="module",
    params=[transformers.LlamaConfig, transformers.MistralConfig],
    ids=["llama", "mistral"],
)
def base(request, tmp_path_factory):
    """A tiny causal model with random weights and the package's own tokenizer."""
    folder = tmp_path_factory.mktemp("base")
    transformers.set_seed(0)
    transformers.AutoModelForCausalLM.from_config(request.param(**TINY)).save_pretrained(folder)
    shutil.copy(DEFAULT_MODEL / "tokenizer.json", folder)
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "[SEP]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return str(folder)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Zoos speak for themselves: the document's word decides."""
    words = {"support": "indeed", "oppose": "never", "neutral": "weather"}
    path = tmp_path_factory.mktemp("data") / "pairs.jsonl"
    with path.open("w") as file:
        for i in range(6):
            for label, word in words.items():
                row = {"document": f"{word} {i}", "statement": "zoos should close", "label": label}
                file.write(json.dumps(row) + "\n")
    return path


@pytest.fixture(scope="module")
def prompt(tmp_path_factory):
    """A short one of our own."""
    path = tmp_path_factory.mktemp("prompt") / "short.txt"
    path.write_text("{{passage}} {{perspective}}")
    return str(path)


def quick(base, prompt=None, **changes):
    settings = {
        "prompt": prompt,
        "learning_rate": 1e-2,
        "epochs": 8.0,
        "accumulation": 4,
        "batch_size": 4,
    }
    return LoraConfig(base, **{**settings, **changes})


def test_the_defaults_are_the_papers():
    config = LoraConfig("mistralai/Mistral-7B-v0.1")
    assert (config.learning_rate, config.warmup, config.epochs) == (1e-4, 0.1, 2)
    assert config.weight_decay == 0.001
    assert (config.rank, config.alpha, config.dropout) == (64, 16, 0.1)
    assert set(config.modules) == {
        f"{name}_proj" for name in ("q", "k", "v", "o", "up", "down", "gate")
    }
    assert (config.batch_size, config.accumulation) == (1, 16)


def test_it_learns_and_the_adapter_can_be_loaded(base, data, prompt, tmp_path):
    import peft
    import torch

    file = DataFile(data, licence="CC0")
    figures = train_adapter([file], [file], quick(base, prompt, epochs=12.0), tmp_path)
    assert figures["f1_support"] > 0.9
    stored = json.loads((tmp_path / "judge.json").read_text())
    assert stored["threshold"] == pytest.approx(figures["threshold"], abs=1e-4)
    assert stored["provenance"]["data"][0]["licence"] == "CC0"
    assert "LoRA adapter" in (tmp_path / "README.md").read_text()
    loaded = peft.AutoPeftModelForCausalLM.from_pretrained(tmp_path)
    plain = transformers.AutoModelForCausalLM.from_pretrained(base)
    ids = torch.tensor([[101, 2000, 3000]])
    assert not torch.allclose(loaded(input_ids=ids).logits, plain(input_ids=ids).logits, atol=1e-3)


def test_an_interrupted_run_ends_like_one_that_was_not(base, data, prompt, tmp_path):
    from safetensors.torch import load_file

    file, settings = DataFile(data), quick(base, prompt, epochs=2.0, checkpoint_every=0.0)
    train_adapter([file], [file], settings, tmp_path / "whole")
    steps: list[int] = []

    def stop(state):
        steps.append(state["step"])
        if len(steps) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_adapter([file], [file], settings, tmp_path / "cut", stop)
    train_adapter([file], [file], settings, tmp_path / "cut", lambda s: steps.append(s["step"]))
    assert steps[:7] == [1, 2, 3, 4, 5, 5, 6]
    one, other = (
        load_file(tmp_path / name / "adapter_model.safetensors") for name in ("whole", "cut")
    )
    assert len(one) == 2 * 7 * 2  # layers, adapted matrices, A and B
    for name, value in one.items():
        assert np.allclose(value.numpy(), other[name].numpy(), atol=1e-6), name


def test_accumulation_is_one_large_batch(base, data, prompt, tmp_path):
    """Gradients of small batches add up to those of one: the same losses with either."""
    found = []
    for size in (1, 4):
        losses: list[float] = []
        settings = quick(base, prompt, epochs=1.0, batch_size=size, dropout=0.0)
        file = DataFile(data)
        train_adapter(
            [file],
            [file],
            settings,
            tmp_path / str(size),
            lambda state, losses=losses: losses.append(state.get("loss", 0.0)),
        )
        found.append(losses)
    assert found[0] == pytest.approx(found[1], rel=0.03)  # bfloat16


def test_a_long_document_leaves_room_for_statement_and_answer(base, data, prompt, tmp_path):
    long = tmp_path / "long.jsonl"
    row = {"document": "weather " * 900, "statement": "zoos should close", "label": "neutral"}
    long.write_text(json.dumps(row) + "\n" + data.read_text())
    settings = quick(base, prompt, epochs=1.0, max_tokens=120)
    assert (
        train_adapter([DataFile(long)], [DataFile(long)], settings, tmp_path / "out")["pairs"] == 19
    )


def test_what_does_not_fit_is_refused(base, data, prompt, tmp_path):
    with pytest.raises(ConfigError, match="multiple of batch_size"):
        LoraConfig(base, batch_size=3)
    with pytest.raises(ConfigError, match="nowhere"):
        train_adapter([DataFile(data)], [], LoraConfig(str(tmp_path / "nowhere")), tmp_path)
    with pytest.raises(ConfigError, match="has no layers"):
        train_adapter([DataFile(data)], [], quick(base, prompt, modules=("query",)), tmp_path)


def test_the_command_line_trains_an_adapter(base, tmp_path, data, capsys):
    command = ["judge", "train", str(data), "--lora", "--base", base, "--out", str(tmp_path / "a")]
    assert main([*command, "--epochs", "0.1", "--dev", str(data)]) == 0
    assert "f1_support" in capsys.readouterr().out
    assert (tmp_path / "a" / "adapter_config.json").is_file()
    assert main([*command, "--frozen-layers", "1"]) == 2
