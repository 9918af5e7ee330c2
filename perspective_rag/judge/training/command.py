"""From files of labelled pairs to a judge's folder: what ``perspective-rag judge train`` does."""

from __future__ import annotations

import hashlib
import json
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag.errors import ConfigError
from perspective_rag.judge.cross_encoder import CrossEncoderJudge
from perspective_rag.judge.training.data import LABELS, LabelledPair, read_pairs
from perspective_rag.judge.training.export import export
from perspective_rag.judge.training.loop import Report, TrainingConfig, train
from perspective_rag.judge.training.metrics import evaluate

DEVELOPMENT_SHARE = 0.1
DEVELOPMENT_MOST = 5000


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of labelled pairs, and how many of its rows to draw (None: all)."""

    path: Path
    rows: int | None = None

    @classmethod
    def parse(cls, text: str) -> DataFile:
        """``FILE`` or ``FILE:ROWS``; raises ConfigError when the file does not exist."""
        name, colon, rows = text.rpartition(":")
        chosen = cls(Path(name), int(rows)) if colon and rows.isdigit() else cls(Path(text))
        if not chosen.path.is_file():
            raise ConfigError(f"{chosen.path} does not exist; expected a JSONL file, plain or .gz")
        return chosen

    def read(self, seed: int) -> list[LabelledPair]:
        """Its pairs, or a seeded sample of them."""
        pairs = read_pairs([self.path])
        if self.rows is None or self.rows >= len(pairs):
            return pairs
        return random.Random(seed).sample(pairs, self.rows)


def train_judge(
    data: Sequence[DataFile],
    development: Sequence[DataFile],
    config: TrainingConfig,
    out: Path,
    report: Report = lambda state: None,
) -> dict[str, float]:
    """Trains, exports to int8 ONNX and writes the model card; returns the development figures of
    what was exported.

    ``out`` then holds ``model.onnx``, ``tokenizer.json``, ``config.json``, ``judge.json`` (settings
    and provenance) and ``README.md``, and ``out/model`` the transformers model, a base for further
    training. Without development files a tenth of the documents is held out. An interrupted call
    continues when repeated.
    """
    pairs = [pair for file in data for pair in file.read(config.seed)]
    if development:
        held_out = [pair for file in development for pair in file.read(config.seed)]
    else:
        pairs, held_out = split_by_document(pairs, config.seed)
    if not pairs or not held_out:
        raise ConfigError(
            "no pairs to train or to develop on: give files of document, statement, label"
        )
    best = train(pairs, held_out, config, out, report)
    provenance = {
        "base": _described(config.base),
        "training": {**asdict(config), "pairs": len(pairs)},
        "data": [_file_facts(file) for file in data],
        "development_data": [_file_facts(file) for file in development] or "held out by document",
        "development_before_quantisation": best,
        "labels": Counter(pair.label for pair in pairs),
        "sources": Counter(pair.source for pair in pairs),
    }
    figures = export(
        out / "model", held_out, out, provenance=provenance, max_tokens=config.max_tokens
    )
    (out / "README.md").write_text(model_card(out), encoding="utf-8")
    return figures


def evaluate_judge(model: str | None, data: Sequence[DataFile]) -> dict[str, dict[str, float]]:
    """A judge's figures on labelled pairs: under "all", and under each source with at least 50
    pairs.
    """
    pairs = [pair for file in data for pair in file.read(0)]
    judge = CrossEncoderJudge(model)
    log_probability = np.zeros((len(pairs), len(LABELS)))
    for i, pair in enumerate(pairs):
        found = judge.probabilities([pair.document], [pair.statement])
        support, oppose = float(found["support"][0, 0]), float(found["oppose"][0, 0])
        log_probability[i] = np.log(np.clip([support, oppose, 1.0 - support - oppose], 1e-9, 1.0))
    result = {"all": evaluate(log_probability, [pair.label for pair in pairs])}
    for source, count in Counter(pair.source for pair in pairs).most_common():
        if count >= 50:
            rows = [i for i, pair in enumerate(pairs) if pair.source == source]
            result[source] = evaluate(log_probability[rows], [pairs[i].label for i in rows])
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


def model_card(folder: Path) -> str:
    """The README of a judge's folder, from its ``judge.json``."""
    stored = json.loads((folder / "judge.json").read_text(encoding="utf-8"))
    provenance: dict[str, Any] = stored["provenance"]
    figures = provenance["development"]
    rows = "\n".join(f"| {name} | {value:.3f} |" for name, value in figures.items())
    return f"""# A judge for perspectives

Reads a passage and a statement and gives the probabilities that the passage supports it, opposes
it, or does neither. int8 ONNX, {(folder / "model.onnx").stat().st_size / 1e6:.0f} MB, made on
{provenance["date"]}.

| on the development pairs | |
|---|---|
{rows}

P(support) >= {stored["threshold"]} counts as support (best F0.5 there),
temperature {stored["temperature"]}. `judge.json` holds the data, the settings and the base model.
"""


def _file_facts(file: DataFile) -> dict[str, Any]:
    digest = hashlib.sha256(file.path.read_bytes()).hexdigest()
    return {"file": file.path.name, "sha256": digest, "rows": file.rows or "all"}


def _described(base: str) -> Any:
    stored = Path(base).parent / "judge.json"
    if stored.is_file():  # a judge that was trained before: its history belongs to this one
        return json.loads(stored.read_text(encoding="utf-8"))["provenance"]
    return Path(base).name if Path(base).exists() else base
