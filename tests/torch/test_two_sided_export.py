"""A two-sided network as int8 ONNX and back, with a network of two narrow layers."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
transformers = pytest.importorskip("transformers")

from perspective_rag.errors import ConfigError
from perspective_rag.judge.settings import LargerSettings
from perspective_rag.judge.two_sided import OnnxSides
from perspective_rag_train.two_sided import train
from perspective_rag_train.two_sided.data import Source
from perspective_rag_train.two_sided.export import averaged_network, export, provenance_of
from perspective_rag_train.two_sided.network import Encoding, from_base, from_config, probabilities
from perspective_rag_train.two_sided.recipe import CURVE, Recipe
from perspective_rag_train.two_sided.train import Run
from perspective_rag_train.two_sided.weights import load_onnx
from tests.larger_model import WORDS, write_small_judge

TEXTS = [("zoos teach", "zoos suffer", "children learn there"), ("trams run", "not true", "here")]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A transformers folder of a narrow MPNet with the small judge's tokenizer."""
    folder = write_small_judge(tmp_path_factory.mktemp("base"))
    torch.manual_seed(0)
    config = transformers.MPNetConfig(
        vocab_size=4 + len(WORDS), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=48, max_position_embeddings=80, initializer_range=0.2,
    )  # fmt: skip
    encoder = transformers.MPNetModel(config)
    with torch.no_grad():
        for values in encoder.parameters():  # the exporter stores equal ones once
            values.add_(torch.randn_like(values) * 0.05)
    encoder.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def exported(base, tmp_path_factory):
    network = from_base(base, attention="eager").eval()
    with torch.no_grad():
        for values in network.parameters():
            values.add_(torch.randn_like(values) * 0.05)
    folder = tmp_path_factory.mktemp("exported")
    settings = LargerSettings(max_tokens=64, statement_tokens=12, version="7")
    export(network, base / "tokenizer.json", folder, settings=settings, provenance={"rows": 3})
    return network, folder


def test_the_int8_model_says_what_the_network_says(base, exported):
    network, folder = exported
    found = OnnxSides(folder, threads=1).logits(TEXTS)
    raised = np.exp(found) / np.exp(found).sum(axis=1, keepdims=True)
    wanted = probabilities(network, Encoding(base / "tokenizer.json", 64), TEXTS)
    assert np.abs(raised - wanted).max() < 0.05
    assert np.ptp(wanted, axis=0).max() > 1e-4  # it does tell the texts apart
    assert (folder / "model.onnx").stat().st_size < 200_000


def test_the_folder_holds_settings_and_where_they_come_from(exported):
    _, folder = exported
    assert LargerSettings.of(folder).version == "7"
    stored = json.loads((folder / "judge.json").read_text(encoding="utf-8"))
    assert stored["provenance"]["rows"] == 3


def test_the_weights_come_back_within_half_a_step(base, exported):
    network, folder = exported
    again = from_config(base)
    load_onnx(again, folder / "model.onnx")
    for (name, one), (_, two) in zip(
        network.named_parameters(), again.named_parameters(), strict=True
    ):
        if ".pooler." not in name:
            assert (one - two).abs().max() <= one.abs().max() / 127 + 1e-7, name


def test_another_shape_is_refused(exported, base, tmp_path):
    _, folder = exported
    config = transformers.AutoConfig.from_pretrained(base)
    config.intermediate_size = 32
    config.save_pretrained(tmp_path)
    with pytest.raises(ConfigError, match="shape"):
        load_onnx(from_config(tmp_path), folder / "model.onnx")


def test_a_training_begins_from_the_exported_weights_and_goes_on_from_its_checkpoint(
    base, exported, tmp_path
):
    _, folder = exported
    recipe = Recipe(frozen_layers=1, max_tokens=64)
    run = Run(tmp_path, tmp_path, base, recipe, folder)
    loaded = from_config(base)
    load_onnx(loaded, folder / "model.onnx")
    for (name, one), (_, two) in zip(
        run.network.named_parameters(), loaded.named_parameters(), strict=True
    ):
        assert ".pooler." in name or torch.equal(one, two), name
    run.seconds, run.steps, run.rows = 36.0, 2, 9
    for values in run.average.values():
        values.add_(0.5)
    run._save()
    averaged, trained = averaged_network([tmp_path], base)
    assert trained == {"hours": 0.01, "steps": 2, "rows": 9}
    named = dict(averaged.named_parameters())
    assert all(torch.equal(named[name], values) for name, values in run.average.items())
    (tmp_path / CURVE).write_text('{"hours": 0.01}\n', encoding="utf-8")
    assert provenance_of(tmp_path, trained)["recipe"]["frozen_layers"] == 1
    again = Run(tmp_path, tmp_path, base, recipe, folder)
    assert again.steps == 2
    again.folder = tmp_path / "second"
    again.folder.mkdir()
    for values in again.average.values():
        values.add_(1.0)
    again._save()
    both, _ = averaged_network([tmp_path, again.folder], base)
    for name, values in both.named_parameters():
        if name in run.average:
            assert torch.allclose(values, run.average[name] + 0.5, atol=1e-5), name


def test_a_training_ends_with_its_last_row_and_goes_on_where_more_are_planned(
    base, exported, tmp_path, monkeypatch
):
    rows = [
        {"statement": "zoos teach", "opposite": "zoos suffer", "document": "here", "label": "S"},
        {"statement": "zoos teach", "opposite": "zoos suffer", "document": "there", "label": "O"},
    ]
    monkeypatch.setattr(train, "sources", lambda _: [Source("natural", 1.0, 1.0, rows)])
    monkeypatch.setattr(train, "assess", lambda read, *_, **__: {"natural": figures(read(TEXTS))})
    recipe = Recipe(rows=60, frozen_layers=0, max_tokens=64, tokens_per_step=192)
    first = Run(tmp_path, tmp_path, base, recipe, exported[1])
    before = {name: values.clone() for name, values in first.network.named_parameters()}
    first.train()
    assert recipe.rows <= first.rows < recipe.rows + 32
    assert first.progress == 1.0
    learned = [n for n, p in first.network.named_parameters() if not torch.equal(p, before[n])]
    assert any(".layer.0." in name for name in learned)
    assert not any("embeddings" in name for name in learned)
    curve = [json.loads(line) for line in (tmp_path / CURVE).read_text().splitlines()]
    assert [line["rows"] for line in curve] == [first.rows]
    again = Run(tmp_path, tmp_path, base, replace(recipe, rows=120), exported[1])
    assert again.rows == first.rows
    assert again.progress == pytest.approx(first.rows / 120)


def figures(found):
    assert found.shape == (2, 4)
    return {"auc": math.nan, "right": math.nan}


def test_data_that_cannot_be_read_end_the_training(base, exported, tmp_path, monkeypatch):
    rows = [{"statement": "zoos teach", "document": "here", "label": "unheard of"}]
    monkeypatch.setattr(train, "sources", lambda _: [Source("natural", 1.0, 1.0, rows)])
    with pytest.raises(KeyError, match="unheard of"):
        Run(tmp_path, tmp_path, base, Recipe(rows=60, max_tokens=64), exported[1]).train()
