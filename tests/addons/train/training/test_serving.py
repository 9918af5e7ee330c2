"""A judge's folder for ONNX Runtime, and what is no judge's; the rest needs onnx (tests/torch)."""

from __future__ import annotations

import importlib.util
import json
import shutil

import numpy as np
import pytest

from perspective_rag import ConfigError, CrossEncoderJudge, MissingDependency, cli
from perspective_rag.flow.driver import run
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL
from perspective_rag.types import Passage, Perspective
from perspective_rag_train.serving import export_for

SIDES = [Perspective("a", "Zoos should be closed."), Perspective("b", "Zoos save species.")]
PASSAGES = [Passage("1", "Zoos keep animals in cages."), Passage("2", "Zoos have saved the bison.")]


def test_the_exported_judge_is_the_judge(tmp_path, capsys):
    out = tmp_path / "new" / "judge"
    assert cli.main(["judge", "export", str(out), "--to", "onnx"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["labels"] == ["support", "oppose", "neutral"]
    assert said["files"] == ["config.json", "judge.json", "model.onnx", "tokenizer.json"]
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    assert config["label2id"] == {"support": 0, "oppose": 1, "neutral": 2}
    assert config["architectures"] == ["BertForSequenceClassification"]
    mine, own = CrossEncoderJudge(out), CrossEncoderJudge()
    np.testing.assert_array_equal(run(mine.judge(SIDES, PASSAGES)), run(own.judge(SIDES, PASSAGES)))
    assert (mine.threshold, mine.sides_listing) == (own.threshold, own.sides_listing)


def test_a_folder_that_exists_is_not_written_to(tmp_path, capsys):
    assert cli.main(["judge", "export", str(tmp_path), "--to", "onnx"]) == 2
    assert "exists already: name a new folder" in capsys.readouterr().err
    assert cli.main(["judge", "export", str(tmp_path / "x"), "--to", "tei", "--float32"]) == 2
    assert "--float32 is of --to onnx" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id2label": {"0": "LABEL_0", "1": "LABEL_1"}}, "no label of the model means support"),
        ({"architectures": ["BertModel"]}, "expected one that ends in ForSequenceClassification"),
        ({"id2label": None}, "cannot be read"),
    ],
)
def test_what_is_no_judge_is_refused_and_nothing_is_written(change, message, tmp_path):
    folder = tmp_path / "judge"
    folder.mkdir()
    config = json.loads((DEFAULT_MODEL / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | change), encoding="utf-8")
    with pytest.raises(ConfigError, match=r"tokenizer\.json is missing"):
        export_for("tei", folder, tmp_path / "out")
    shutil.copy(DEFAULT_MODEL / "tokenizer.json", folder)
    with pytest.raises(ConfigError, match=message):
        export_for("tei", folder, tmp_path / "out")
    assert [each.name for each in tmp_path.iterdir()] == ["judge"]


@pytest.mark.skipif(
    bool(importlib.util.find_spec("onnx") and importlib.util.find_spec("safetensors")),
    reason="both are installed",
)
def test_without_onnx_the_extra_is_named_and_nothing_is_left(tmp_path):
    with pytest.raises(MissingDependency, match=r"perspective-rag\[export\]"):
        export_for("vllm", DEFAULT_MODEL, tmp_path / "out")
    assert not list(tmp_path.iterdir())
