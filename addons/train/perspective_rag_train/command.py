"""From files of labelled pairs to a judge's folder: what ``perspective-rag judge train`` does."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag import ConfigError, CrossEncoderJudge
from perspective_rag.addons import PACKAGED_JUDGE, file_sha256, stored_in
from perspective_rag_train.card import model_card
from perspective_rag_train.data import LabelledPair, lengthened, read_pairs
from perspective_rag_train.export import RETRIEVED_SHARES, export
from perspective_rag_train.fit import Report
from perspective_rag_train.loop import TrainingConfig, train
from perspective_rag_train.metrics import evaluate
from perspective_rag_train.mix import (
    facts_of,
    source_pairs,
    stage_pairs,
    stage_questions,
)
from perspective_rag_train.recipe import Recipe
from perspective_rag_train.weights import base_from_onnx

PACKAGED = "packaged"
DEVELOPMENT_SHARE = 0.1
DEVELOPMENT_MOST = 5000


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of labelled pairs, how many of its rows to draw (None: all), and its licence."""

    path: Path
    rows: int | None = None
    licence: str = "not stated"

    @classmethod
    def parse(cls, text: str, licence: str = "not stated") -> DataFile:
        """``FILE`` or ``FILE:ROWS``; raises ConfigError when the file does not exist."""
        name, colon, rows = text.rpartition(":")
        counted = bool(colon) and rows.isdigit()
        chosen = cls(Path(name if counted else text), int(rows) if counted else None, licence)
        if not chosen.path.is_file():
            raise ConfigError(f"{chosen.path} does not exist; expected a JSONL file, plain or .gz")
        return chosen

    def read(self, seed: int) -> list[LabelledPair]:
        """Its pairs, or a seeded sample of them."""
        pairs = read_pairs([self.path])
        if self.rows is None or self.rows >= len(pairs):
            return pairs
        return random.Random(seed).sample(pairs, self.rows)

    def facts(self, rows: int) -> dict[str, Any]:
        """Name, hash, rows read and licence, for the model's provenance."""
        files = [facts_of(self.path, self.path.parent)]
        return {"files": files, "rows": rows, "licence": self.licence}


def prepared(
    data: Sequence[DataFile], development: Sequence[DataFile], seed: int
) -> tuple[list[LabelledPair], list[LabelledPair], dict[str, Any]]:
    """Training pairs, development pairs (a tenth of the documents held out where no file is given)
    and the facts about both. Raises ConfigError where either is empty.
    """
    read = [file.read(seed) for file in data]
    read_development = [file.read(seed) for file in development]
    pairs = [pair for rows in read for pair in rows]
    held_out = [pair for rows in read_development for pair in rows]
    if not development:
        pairs, held_out = split_by_document(pairs, seed)
    if not pairs or not held_out:
        raise ConfigError(
            "no pairs to train or to develop on: give files of document, statement, label"
        )
    facts = {
        "data": [file.facts(len(rows)) for file, rows in zip(data, read, strict=True)],
        "development_data": [
            file.facts(len(rows)) for file, rows in zip(development, read_development, strict=True)
        ]
        or f"{len(held_out)} pairs held out by document",
        "labels": Counter(pair.label for pair in pairs),
        "sources": Counter(pair.source for pair in pairs),
    }
    return pairs, held_out, facts


def train_judge(
    data: Sequence[DataFile],
    development: Sequence[DataFile],
    config: TrainingConfig,
    out: Path,
    report: Report = lambda state: None,
    *,
    base_licence: str = "not stated",
    calibration_words: int = 0,
) -> dict[str, float]:
    """Trains, exports to int8 ONNX and writes the model card; returns the development figures of
    what was exported.

    ``out`` then holds ``model.onnx``, ``tokenizer.json``, ``config.json``, ``judge.json`` (settings
    and provenance) and ``README.md``, and ``out/model`` the transformers model, a base for further
    training. Without development files a tenth of the documents is held out. An interrupted call
    continues when repeated.
    """
    pairs, held_out, facts = prepared(data, development, config.seed)
    best = train(pairs, held_out, config, out, report)
    provenance = {
        "base": described_base(config.base, base_licence),
        "training": {**asdict(config), "base": _name(config.base), "pairs": len(pairs)},
        **facts,
        "development_before_quantisation": best,
    }
    return _exported(
        out / "model",
        held_out,
        out,
        provenance,
        max_tokens=config.max_tokens,
        calibration_words=calibration_words,
    )


def train_recipe(
    recipe: Recipe,
    root: Path,
    out: Path,
    report: Report = lambda state: None,
    *,
    base: str | None = None,
) -> dict[str, float]:
    """Trains a recipe's stages one after the other and exports what the last one leaves.

    ``root`` is the folder that the recipe's files are named from; ``base`` replaces its base.
    ``out/stages`` holds a folder for each stage; a call that was interrupted continues in the stage
    it was in. ``report`` gets ``stage`` (from 1), ``stages`` and ``name`` too.
    """
    held_out, development = source_pairs(recipe.development, root, recipe.seed)
    most = min(recipe.development_rows, len(held_out))
    small = random.Random(recipe.seed).sample(held_out, most)
    start = base or recipe.base
    model, stages = _trainable(start, out / "stages" / "base"), []
    for number, stage in enumerate(recipe.stages, start=1):
        about = {"stage": number, "stages": len(recipe.stages), "name": stage.name}
        pairs, facts = stage_pairs(stage, root, recipe.seed)
        questions, of_questions = stage_questions(stage, root)
        config = stage.config(model, recipe.seed)
        folder = out / "stages" / str(number)
        figures = train(pairs, small, config, folder, _with(report, about), questions=questions)
        settings = {k: v for k, v in asdict(config).items() if k != "base"}
        stages.append(
            {
                "name": stage.name,
                "pairs": len(pairs),
                **settings,
                "data": [*of_questions, *facts],
                "development_before_quantisation": figures,
            }
        )
        model = str(folder / "model")
    provenance = {
        "recipe": recipe.name,
        "base": described_base(start, recipe.base_licence if base is None else "not stated"),
        "seed": recipe.seed,
        "stages": stages,
        "development_data": development,
    }
    return _exported(
        Path(model),
        held_out,
        out,
        provenance,
        max_tokens=recipe.max_tokens,
        max_words=recipe.max_words,
        calibration_words=recipe.calibration_words,
    )


def evaluate_judge(
    model: str | None, data: Sequence[DataFile], *, words: int = 0
) -> dict[str, dict[str, float]]:
    """A judge's figures on labelled pairs: under "all", under "all, as retrieved" with the pairs
    weighted to ``RETRIEVED_SHARES``, and under each source with at least 50 pairs.

    With ``words`` shorter documents stand within text of others, cut at both ends to so many words,
    as in the passages of a retriever.
    """
    pairs = [pair for file in data for pair in file.read(0)]
    if words:
        rng = random.Random(13)
        pairs = [lengthened(pair, pairs, words, rng) for pair in pairs]
    found = CrossEncoderJudge(model).pair_probabilities(
        [pair.document for pair in pairs], [pair.statement for pair in pairs]
    )
    support, oppose = found["support"], found["oppose"]
    classes = np.stack([support, oppose, 1.0 - support - oppose], axis=1)
    log_probability = np.log(np.clip(classes, 1e-9, 1.0))
    labels = [pair.label for pair in pairs]
    result = {
        "all": evaluate(log_probability, labels),
        "all, as retrieved": evaluate(log_probability, labels, shares=RETRIEVED_SHARES),
    }
    for source, count in Counter(pair.source for pair in pairs).most_common():
        if count >= 50:
            rows = [i for i, pair in enumerate(pairs) if pair.source == source]
            result[source] = evaluate(log_probability[rows], [labels[i] for i in rows])
    return result


def split_by_document(
    pairs: Sequence[LabelledPair], seed: int
) -> tuple[list[LabelledPair], list[LabelledPair]]:
    """Training and development pairs that share no document."""
    documents = sorted({pair.document for pair in pairs})
    random.Random(seed).shuffle(documents)
    kept_back = set(
        documents[: max(1, min(DEVELOPMENT_MOST, int(len(documents) * DEVELOPMENT_SHARE)))]
    )
    return (
        [pair for pair in pairs if pair.document not in kept_back],
        [pair for pair in pairs if pair.document in kept_back],
    )


def described_base(base: str, licence: str) -> dict[str, Any]:
    """A base for the provenance: name, licence, hash of its weights where they are in a folder; for
    a judge that was trained before, that judge's own provenance.
    """
    if base == PACKAGED:
        base = str(PACKAGED_JUDGE)
    for folder in (Path(base), Path(base).parent):
        found = stored_in(folder).get("provenance")
        if isinstance(found, dict):
            return found
    facts: dict[str, Any] = {"model": _name(base), "licence": licence}
    for weights in sorted(Path(base).glob("*.safetensors")):
        facts[f"{weights.name} sha256"] = file_sha256(weights)
    return facts


def _exported(
    model: Path,
    development: Sequence[LabelledPair],
    out: Path,
    provenance: Mapping[str, Any],
    *,
    max_tokens: int,
    max_words: int = 140,
    calibration_words: int = 0,
) -> dict[str, float]:
    figures = export(
        model,
        development,
        out,
        provenance=provenance,
        max_tokens=max_tokens,
        max_words=max_words,
        calibration_words=calibration_words,
    )
    (out / "README.md").write_text(model_card(out), encoding="utf-8")
    return figures


def _trainable(base: str, out: Path) -> str:
    """The base, or, where it is an exported judge, its weights as floats in ``out``.

    "packaged" is the judge that comes with the package.
    """
    folder = PACKAGED_JUDGE if base == PACKAGED else Path(base)
    if (folder / "model.onnx").is_file() and not (folder / "model.safetensors").is_file():
        return str(base_from_onnx(folder, out))
    return base


def _name(base: str) -> str:
    """A folder goes by its last part: where it lay is nobody's business."""
    return Path(base).name if Path(base).exists() else base


def _with(report: Report, about: Mapping[str, Any]) -> Report:
    return lambda state: report({**state, **about})
