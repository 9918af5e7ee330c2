"""Training a judge: learns, resumes where it stopped, exports what it learned."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import shutil
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")
transformers = pytest.importorskip("transformers")

from perspective_rag.cli import main
from perspective_rag.errors import ConfigError, CorpusError
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL, CrossEncoderJudge
from perspective_rag.judge.models import OnnxClassifier, TransformersClassifier
from perspective_rag_train.batches import epoch_batches
from perspective_rag_train.command import (
    DataFile,
    evaluate_judge,
    split_by_document,
    train_judge,
    train_recipe,
)
from perspective_rag_train.data import Augmentation, LabelledPair, read_pairs
from perspective_rag_train.export import export
from perspective_rag_train.fit import fingerprint_of, fit
from perspective_rag_train.loop import TrainingConfig, train
from perspective_rag_train.recipe import Recipe

NOTHING_CHANGED = Augmentation(negation=0.0, padding=0.0)


TINY = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "vocab_size": 30522,
    "initializer_range": 0.1,
}
DEBERTA = {
    "relative_attention": True,
    "position_buckets": 16,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "type_vocab_size": 0,
    "position_biased_input": False,
}


def saved(folder, config):
    """A tiny encoder with random weights and the package's own tokenizer."""
    transformers.set_seed(0)
    transformers.AutoModel.from_config(config).save_pretrained(folder)
    shutil.copy(DEFAULT_MODEL / "tokenizer.json", folder)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 512,
        "pad_token": "[PAD]",
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return str(folder)


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("base"), transformers.BertConfig(**TINY))


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
    figures = train_judge(
        [DataFile(data, licence="CC0")],
        [],
        config(base, epochs=10.0),
        out,
        base_licence="MIT",
    )
    assert figures["accuracy"] > 0.95
    assert (
        CrossEncoderJudge(out).threshold
        == json.loads((out / "judge.json").read_text())["threshold"]
    )
    assert evaluate_judge(str(out), [DataFile(data)])["all"]["accuracy"] > 0.95
    provenance = json.loads((out / "judge.json").read_text())["provenance"]
    assert provenance["data"] == [
        {
            "files": [
                {
                    "file": "pairs.jsonl.gz",
                    "sha256": hashlib.sha256(data.read_bytes()).hexdigest(),
                }
            ],
            "rows": 240,
            "licence": "CC0",
        }
    ]
    assert provenance["training"]["seed"] == 13
    assert provenance["base"]["licence"] == "MIT"
    assert str(tmp_path) not in json.dumps(provenance)
    assert base not in json.dumps(provenance)
    card = (out / "README.md").read_text()
    assert "| pairs.jsonl.gz | 240 | CC0 |" in card
    assert "| weighted to the shares of retrieved passages |" in card
    assert f"P(support) >= {CrossEncoderJudge(out).threshold} counts" in card


def test_the_card_has_the_figures_within_longer_text_where_it_was_calibrated_on_it(base, tmp_path):
    data, settings = [DataFile(write(tmp_path, pairs()))], config(base, epochs=10.0)
    train_judge(data, [], settings, tmp_path / "judge")
    plain = (tmp_path / "judge" / "README.md").read_text()
    # The run is finished: it is exported again, with other settings.
    figures = train_judge(data, [], settings, tmp_path / "judge", calibration_words=20)
    card = (tmp_path / "judge" / "README.md").read_text()
    assert ("in text of 20 words" in plain, "in text of 20 words" in card) == (False, True)
    assert figures["auc_support_rest"] > 0.99


def test_transformers_and_onnx_agree(base, tmp_path):
    train_judge([DataFile(write(tmp_path, pairs()))], [], config(base), tmp_path / "judge")
    slow = TransformersClassifier(str(tmp_path / "judge" / "model"), max_tokens=32)
    fast = CrossEncoderJudge(tmp_path / "judge", temperature=1.0)
    documents = [pair.document for pair in pairs(30)]
    logits = slow.logits(documents, ["zoos should close"] * len(documents))
    probability = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    statements = ["zoos should close"] * len(documents)
    ours = fast.pair_probabilities(documents, statements)["support"]
    assert np.abs(probability[:, 0] - ours).max() < 0.1  # int8 against float32
    assert CrossEncoderJudge(tmp_path / "judge" / "model").pair_probabilities(["indeed"], ["x"])


def steps_into(steps):
    return lambda state: steps.append(state["step"]) if "loss" in state else None


def test_an_interrupted_run_continues_and_sees_nothing_twice(base, tmp_path):
    settings = config(base, epochs=2.0, checkpoint_every=0.0)
    whole: list[int] = []
    train(pairs(), pairs(30), settings, tmp_path / "whole", steps_into(whole))
    steps: list[int] = []

    def stop(state):
        steps.append(state["step"])
        if len(steps) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(pairs(), pairs(30), settings, tmp_path / "cut", stop)
    train(pairs(), pairs(30), settings, tmp_path / "cut", steps_into(steps))
    # The step that was interrupted after its report was not saved yet: it alone is repeated.
    assert steps == [1, 2, 3, 4, 5, *range(5, whole[-1] + 1)]
    again: list[int] = []
    train(pairs(), pairs(30), settings, tmp_path / "cut", steps_into(again))
    assert again == []


KILLED = """
import json, sys, time
sys.path.insert(0, {tests!r})
from test_training import config, pairs, train
from pathlib import Path
def report(state):
    print(state["step"], flush=True)
    time.sleep(0.02)
train(pairs(), pairs(30), config({base!r}, **json.loads({changes!r})), Path({out!r}), report)
"""


@pytest.mark.parametrize("averaging", [0.0, 0.9])
def test_a_run_that_was_killed_ends_with_the_weights_of_one_that_was_not(base, averaging, tmp_path):
    from safetensors.torch import load_file

    changes = {"epochs": 3.0, "checkpoint_every": 0.0, "evaluate_every": 4, "averaging": averaging}
    settings = config(base, **changes, augmentation=Augmentation(padding=0.5))
    whole = train(pairs(), pairs(30), settings, tmp_path / "whole")
    script = KILLED.format(
        tests=str(Path(__file__).parent),
        base=base,
        out=str(tmp_path / "cut"),
        changes=json.dumps(changes),
    ).replace("**json.loads", "augmentation=Augmentation(padding=0.5), **json.loads")
    script = script.replace("import config", "import Augmentation, config")
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if int(line) >= 7:
            process.kill()
            break
    process.wait()
    steps: list[int] = []
    cut = train(pairs(), pairs(30), settings, tmp_path / "cut", steps_into(steps))
    assert steps[0] >= 6
    assert cut == pytest.approx(whole, abs=1e-6)
    one, other = (load_file(tmp_path / n / "model" / "model.safetensors") for n in ("whole", "cut"))
    assert one.keys() == other.keys()
    for name, value in one.items():
        assert np.allclose(value.numpy(), other[name].numpy(), atol=1e-6), name


class OneWeight:
    """A single weight that every step pulls down; what it was after each step is written down."""

    def __init__(self):
        import torch

        self.model = torch.nn.Linear(1, 1, bias=False)
        self.after_steps, self.assessed, self.kept = [], [], []

    def weight(self):
        return self.model.weight.item()

    def batches(self, epoch):
        return iter(range(8))

    def losses(self, batch):
        if batch:
            self.after_steps.append(self.weight())
        yield self.model.weight.sum()

    def assess(self):
        self.assessed.append(self.weight())
        return {"merit": float(len(self.assessed))}

    def merit(self, figures):
        return figures["merit"]

    def keep(self):
        self.kept.append(self.weight())


@pytest.mark.parametrize("averaging", [0.0, 0.7, 0.99])
def test_what_is_assessed_and_kept_is_the_average_of_the_steps(averaging, tmp_path):
    task = OneWeight()
    start = task.weight()
    settings = TrainingConfig(
        "none", learning_rate=0.1, averaging=averaging, evaluate_every=0, label_smoothing=0.0
    )
    fit(
        task.model,
        task,
        settings,
        total=8,
        fingerprint="toy",
        out=tmp_path,
        report=lambda state: None,
    )
    steps = [*task.after_steps, task.weight()]  # the last: the run goes on from its own weight
    average = start
    for number, step in enumerate(steps, start=1):
        share = min(averaging, number / (number + 1)) if averaging else 0.0
        average = share * average + (1 - share) * step
    assert task.kept == task.assessed == [pytest.approx(average, abs=1e-6)]
    assert (abs(average - steps[-1]) < 1e-6) == (averaging == 0.0)


@pytest.mark.parametrize("averaging", [1.0, -0.1, float("nan")])
def test_an_average_that_never_moves_is_refused(base, averaging, tmp_path):
    with pytest.raises(ConfigError, match="averaging is 0"):
        train(pairs(), pairs(30), config(base, averaging=averaging), tmp_path)


def test_other_settings_or_pairs_do_not_continue_an_old_run_nor_lose_it(base, tmp_path):
    settings = config(base, epochs=1.0, checkpoint_every=0.0)
    train(pairs(), pairs(30), settings, tmp_path)
    for changed, data in ((replace(settings, seed=14), pairs()), (settings, pairs(210))):
        steps: list[int] = []
        train(data, pairs(30), changed, tmp_path, steps_into(steps))
        assert steps[0] == 1
    again: list[int] = []
    train(pairs(), pairs(30), settings, tmp_path, steps_into(again))
    assert again == []  # the first run's checkpoint came back
    assert len(list(tmp_path.glob("checkpoint-*.pt"))) == 2


def test_how_often_a_checkpoint_is_written_makes_no_other_run(base):
    one = {k: v for k, v in asdict(config(base)).items() if k != "checkpoint_every"}
    assert fingerprint_of(one, pairs()) == fingerprint_of(one, pairs())
    assert fingerprint_of(one, pairs()) != fingerprint_of(one, pairs()[::-1])


def test_training_ends_early_when_it_gets_no_better(base, tmp_path):
    steps: list[int] = []
    settings = config(base, epochs=50.0, learning_rate=0.0, evaluate_every=2, patience=2)
    train(pairs(), pairs(30), settings, tmp_path, steps_into(steps))
    assert steps[-1] == 6  # the first assessment is the best, two more are not better


def test_a_teachers_probabilities_are_learned(base, tmp_path):
    """Two documents with the label support: the teacher is sure of one, and not of the other."""
    soft = {"indeed": (0.98, 0.01, 0.01), "perhaps": (0.5, 0.1, 0.4), "never": (0.02, 0.9, 0.08)}
    rows = [
        {"document": f"{word} number {i}", "statement": "zoos should close", "probabilities": p}
        for i in range(40)
        for word, p in soft.items()
    ]
    path = tmp_path / "soft.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    data = read_pairs([path])
    assert [pair.label for pair in data[:3]] == ["support", "support", "oppose"]
    train(data, pairs(30), config(base, epochs=40.0), tmp_path)
    model = TransformersClassifier(str(tmp_path / "model"), max_tokens=32)
    logits = model.logits([f"{word} number 7" for word in soft], ["zoos should close"] * 3)
    learned = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert np.abs(learned - np.array(list(soft.values()))).max() < 0.1


def test_the_target_of_a_pair():
    pair = LabelledPair("d", "s", "oppose")
    assert pair.target(0.3) == pytest.approx((0.1, 0.8, 0.1))
    assert replace(pair, smoothing=0.0).target(0.3) == (0.0, 1.0, 0.0)
    soft = replace(pair, probabilities=(0.2, 0.7, 0.1))
    assert soft.target(0.3) == (0.2, 0.7, 0.1)
    assert soft.negated().probabilities == (0.7, 0.2, 0.1)
    assert soft.negated().label == "support"


def test_a_pair_without_weight_teaches_nothing(base, tmp_path):
    """The same documents with both labels: what weighs more is learned."""
    right = pairs(120)
    turned = [replace(pair.negated(), statement=pair.statement, weight=1e-4) for pair in right]
    train(right + turned, pairs(30), config(base, epochs=10.0), tmp_path)
    model = TransformersClassifier(str(tmp_path / "model"), max_tokens=32)
    logits = model.logits([p.document for p in right], [p.statement for p in right])
    found = [("support", "oppose", "neutral")[i] for i in logits.argmax(axis=1)]
    assert np.mean([f == p.label for f, p in zip(found, right, strict=True)]) > 0.95


@pytest.mark.parametrize(
    "encoder",
    [
        transformers.MPNetConfig(**TINY),
        transformers.DebertaV2Config(**TINY, **DEBERTA),
        transformers.RobertaConfig(**TINY, type_vocab_size=1, pad_token_id=0),
    ],
    ids=lambda config: config.model_type,
)
def test_encoders_of_every_kind_train_and_export(encoder, tmp_path):
    """With and without token types, with one lowest layer frozen; ONNX gives what torch gives."""
    from safetensors.torch import load_file

    other = saved(tmp_path / "base", encoder)
    settings = config(other, epochs=2.0, frozen_layers=1)
    out = tmp_path / "judge"
    train(pairs(60), pairs(30), settings, out)
    export(out / "model", pairs(30), out, provenance={}, max_tokens=32, quantize=False)
    documents = ["indeed number 1", "never", "weather " * 12]
    statements = ["zoos should close", "zoos", "zoos should close and soon"]
    slow = TransformersClassifier(str(out / "model"), max_tokens=32).logits(documents, statements)
    fast = OnnxClassifier(out, max_tokens=32).logits(documents, statements)
    assert np.abs(slow - fast).max() < 1e-4
    before, after = (
        load_file(Path(other) / "model.safetensors"),
        load_file(out / "model/model.safetensors"),
    )
    tail = next(n for n in before if ".layer.0." in n and n.endswith("output.dense.weight"))
    name = next(n for n in after if n.endswith(tail))
    assert np.array_equal(before[tail].numpy(), after[name].numpy())
    moved = name.replace(".layer.0.", ".layer.1.")
    assert not np.array_equal(
        before[tail.replace(".layer.0.", ".layer.1.")].numpy(), after[moved].numpy()
    )


RECIPE = """
name = "toy"
base = "{base}"
base_licence = "MIT"
max_words = 50
[[development]]
file = "rows.jsonl"
[[stage]]
name = "first"
epochs = 1
tokens_per_batch = 512
[[stage.data]]
file = "rows.jsonl"
licence = "CC0"
[[stage]]
name = "second"
epochs = 1
tokens_per_batch = 512
[[stage.data]]
file = "rows.jsonl"
rows = 30
[[stage.neutral]]
kind = "random"
rows = 20
"""


def test_a_recipe_trains_stage_after_stage_and_resumes_in_the_stage_it_was_in(base, tmp_path):
    write(tmp_path, pairs(60))
    (tmp_path / "toy.toml").write_text(RECIPE.format(base=base))
    recipe, out, seen = Recipe.read(tmp_path / "toy.toml"), tmp_path / "judge", []

    def stop(state):
        seen.append(state["stage"])
        if state["stage"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_recipe(recipe, tmp_path, out, stop)
    assert set(seen) == {1, 2}
    again: list[int] = []
    train_recipe(recipe, tmp_path, out, lambda state: again.append(state["stage"]))
    assert set(again) == {2}
    stored = json.loads((out / "judge.json").read_text())
    first, second = stored["provenance"]["stages"]
    assert (first["name"], first["data"][0]["licence"]) == ("first", "CC0")
    assert second["data"][1]["neutral by rule"] == "random"
    assert stored["provenance"]["base"]["licence"] == "MIT"
    assert stored["max_words"] == 50
    assert str(tmp_path) not in json.dumps(stored)
    assert "| first | rows.jsonl" in (out / "README.md").read_text()


def test_a_base_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match="no-such-folder"):
        train(pairs(), pairs(30), config(str(tmp_path / "no-such-folder")), tmp_path / "out")


def test_the_threshold_is_that_of_windows(base, tmp_path):
    """A long document is read in windows; what is stored fits what the judge then says."""
    train(pairs(), pairs(30), config(base, epochs=10.0), tmp_path)
    long = [replace(p, document="weather today. " * 30 + p.document + ".") for p in pairs(60)]
    figures = export(tmp_path / "model", long, tmp_path, provenance={}, max_tokens=32, max_words=12)
    judge = CrossEncoderJudge(tmp_path)
    support = judge.pair_probabilities([p.document for p in long], [long[0].statement] * len(long))[
        "support"
    ]
    truth = np.array([p.label == "support" for p in long])
    assert ((support >= judge.threshold) == truth).mean() > 0.9
    assert figures["auc_support_rest"] > 0.95


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
    rng = random.Random(0)
    pair = LabelledPair("d", "Zoos should close", "support")
    changed = Augmentation(negation=1.0, padding=0.0).apply(pair, [pair], rng)
    assert (changed.statement, changed.label) == ("Zoos should not close", "oppose")


def test_lengthened_documents_are_all_of_one_length_and_keep_their_own_words():
    rng = random.Random(0)
    others = [LabelledPair(f"other{i} " * (3 + i % 7), "s", "neutral") for i in range(50)]
    longer = Augmentation(negation=0.0, padding=0.0, lengthening=1.0, lengthened_words=40)
    starts = set()
    for n in (1, 12, 39):
        own = LabelledPair(" ".join(f"own{i}" for i in range(n)), "s", "support")
        for _ in range(30):
            words = longer.apply(own, others, rng).document.split()
            assert len(words) == 40
            place = words.index("own0")
            assert words[place : place + n] == own.document.split()
            starts.add(place)
    assert {0, 39} <= starts or len(starts) > 20
    long = LabelledPair("w " * 60, "s", "support")
    assert longer.apply(long, others, rng) == long


def test_distraction_quotes_or_orders_and_leaves_the_label():
    rng = random.Random(0)
    pair = LabelledPair("They need room.", "Zoos should close", "oppose")
    changed = Augmentation(negation=0.0, padding=0.0, distraction=1.0)
    seen = [changed.apply(pair, [pair], rng) for _ in range(60)]
    assert {p.label for p in seen} == {"oppose"}
    assert all("They need room." in p.document and len(p.document) > 20 for p in seen)
    assert any(p.statement in p.document for p in seen)
    assert any("Yes" in p.document for p in seen)


def test_a_share_outside_0_to_1_is_refused():
    with pytest.raises(ConfigError, match="lengthening"):
        Augmentation(lengthening=1.5)


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
    [
        "not json",
        '{"document": "a"}',
        '{"document":"a","statement":"b","probabilities":[0.5,0.5]}',
        '{"document":"a","statement":"b","probabilities":[0.9,0.5,0.1]}',
        '{"document":"a","statement":"b","label":"support","weight":-1}',
        '{"document":7,"statement":"b","label":"support"}',
        '{"document":"a","statement":"b","label":"maybe"}',
        "[1]",
    ],
)
def test_a_bad_row_is_named_with_its_line(tmp_path, line):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"document":"a","statement":"b","label":"support"}\n' + line + "\n")
    with pytest.raises(CorpusError, match=r"bad\.jsonl:2"):
        read_pairs([path])


def test_the_command_line_trains_and_evaluates(base, tmp_path, capsys):
    data = write(tmp_path, pairs(60))
    out = tmp_path / "judge"
    command = ["judge", "train", f"{data}:45", "--base", base, "--out", str(out), "--epochs", "1"]
    assert main(command) == 0
    assert main(["judge", "eval", str(data), "--model", str(out)]) == 0
    assert '"accuracy"' in capsys.readouterr().out
    assert main(["judge", "eval", str(tmp_path / "missing.jsonl")]) == 2
    assert "does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["Bert", "MPNet"])
def test_a_base_that_knows_the_classes_in_another_order_keeps_what_it_knows(tmp_path, kind):
    names = {0: "contradiction", 1: "neutral", 2: "ENTAILMENT"}
    values = getattr(transformers, f"{kind}Config")(**TINY, id2label=names)
    saved(tmp_path / "base", values)
    transformers.set_seed(1)
    model = transformers.AutoModelForSequenceClassification.from_config(values)
    model.save_pretrained(tmp_path / "base")
    train(
        pairs(9),
        pairs(9),
        config(str(tmp_path / "base"), epochs=1.0, learning_rate=0.0),
        tmp_path / "out",
    )
    documents, statements = ["indeed", "never mind"], ["zoos should close"] * 2
    before, after = (
        TransformersClassifier(str(folder), max_tokens=32)
        for folder in (tmp_path / "base", tmp_path / "out" / "model")
    )
    assert before.labels == ("contradiction", "neutral", "ENTAILMENT")
    assert after.labels == ("support", "oppose", "neutral")
    theirs = before.logits(documents, statements)[:, [2, 0, 1]]
    assert after.logits(documents, statements) == pytest.approx(theirs, abs=1e-4)
