"""Judging with a sequence-classification model that reads passage and statement together."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from perspective_rag.errors import ConfigError
from perspective_rag.flow import Flow, call
from perspective_rag.sentences import split_sentences
from perspective_rag.types import Matrix, Passage, Perspective

# What models call the three classes.
_CLASS_NAMES = {
    "support": (
        "support",
        "supports",
        "entailment",
        "entail",
        "favor",
        "favour",
        "agree",
        "pro",
        "yes",
        "true",
    ),
    "oppose": (
        "oppose",
        "opposes",
        "contradiction",
        "contradict",
        "refute",
        "refutes",
        "against",
        "disagree",
        "con",
    ),
    "neutral": (
        "neutral",
        "not_entailment",
        "not enough info",
        "none",
        "unrelated",
        "discuss",
        "no",
        "false",
    ),
}


class PairClassifier(Protocol):
    """A loaded model: its labels in the order of its outputs, and its logits for pairs."""

    labels: tuple[str, ...]

    def logits(self, documents: Sequence[str], statements: Sequence[str]) -> Matrix: ...


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What goes with a model's weights: ``judge.json`` in its folder, or these defaults.

    ``temperature`` divides the logits before the softmax; ``threshold`` is the P(support) from
    which a passage counts as supporting; ``max_words`` is the window in which a long passage is
    read.
    """

    threshold: float = 0.5
    temperature: float = 1.0
    max_tokens: int = 256
    max_words: int = 140

    @classmethod
    def of(cls, folder: Path) -> JudgeSettings:
        """The settings stored in a folder; the defaults where it holds none."""
        path = folder / "judge.json"
        if not path.is_file():
            return cls()
        stored = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{name: stored[name] for name in cls.__slots__ if name in stored})


class CrossEncoderJudge:
    """P(a passage supports a perspective) from a three-class (support / oppose / neutral) or
    two-class model.

    ``model`` is None for the model that comes with the package, a folder (ONNX or transformers), an
    ``.onnx`` file, or a Hugging Face id; NLI models fit, and their label order is read from their
    configuration. It is loaded at the first judgement, once. A perspective with a claim and a
    stance is judged through its claim, so that both sides of a claim cost one pair; passages longer
    than the window are read in windows and judged by the strongest. ``threshold`` and
    ``temperature`` replace what is stored with the model.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        threshold: float | None = None,
        temperature: float | None = None,
        threads: int | None = None,
        classifier: PairClassifier | None = None,
    ) -> None:
        folder = DEFAULT_MODEL if model is None else Path(model)
        settings = JudgeSettings()
        if classifier is None:
            settings = JudgeSettings.of(folder.parent if folder.suffix == ".onnx" else folder)
        self.name = "perspective-rag-judge" if model is None else str(model)
        self.threshold = settings.threshold if threshold is None else threshold
        if not 0.0 <= self.threshold <= 1.0:
            raise ConfigError(f"threshold must be in [0, 1], got {self.threshold!r}")
        self._temperature = settings.temperature if temperature is None else temperature
        self._max_words = settings.max_words
        self._load: Callable[[], PairClassifier] = lambda: _load(model, folder, settings, threads)
        self._classifier = classifier
        self._lock = threading.Lock()

    def judge(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Matrix]:
        """P(support), shape (n_passages, n_perspectives); raises what the model raises."""
        if not perspectives or not passages:
            return np.zeros((len(passages), len(perspectives)))
        statements = list(dict.fromkeys(_statement(p) for p in perspectives))
        reply = yield from call(
            "judge",
            self.probabilities,
            [p.text for p in passages],
            statements,
            counts={"judged_pairs": len(passages) * len(statements)},
        )
        if reply.error is not None:
            raise reply.error
        by_statement = reply.value
        columns = [
            by_statement[p.stance or "support"][:, statements.index(_statement(p))]
            for p in perspectives
        ]
        return np.stack(columns, axis=1)

    def probabilities(self, texts: Sequence[str], statements: Sequence[str]) -> dict[str, Matrix]:
        """P(support) and P(oppose) of every text towards every statement, each of shape (n_texts,
        n_statements).
        """
        windows = [_windows(text, self._max_words) for text in texts]
        owners = np.repeat(np.arange(len(texts)), [len(w) for w in windows])
        pieces = [piece for window in windows for piece in window]
        documents = [piece for piece in pieces for _ in statements]
        hypotheses = [statement for _ in pieces for statement in statements]
        probability = self._classes(documents, hypotheses)
        result: dict[str, Matrix] = {}
        for stance, column in probability.items():
            table = column.reshape(len(pieces), len(statements))
            strongest = np.zeros((len(texts), len(statements)))
            np.maximum.at(strongest, owners, table)
            result[stance] = strongest
        return result

    def _classes(self, documents: Sequence[str], statements: Sequence[str]) -> dict[str, Matrix]:
        model = self._model()
        logits = (
            np.asarray(model.logits(documents, statements), dtype=np.float64) / self._temperature
        )
        if logits.shape[1] == 1:  # a relevance score: nothing is known of opposition
            support = 1.0 / (1.0 + np.exp(-logits[:, 0]))
            return {"support": support, "oppose": np.zeros_like(support)}
        exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
        probability = exponents / exponents.sum(axis=1, keepdims=True)
        columns = class_columns(model.labels)
        nothing = np.zeros(len(documents))
        return {
            stance: probability[:, columns[stance]] if stance in columns else nothing
            for stance in ("support", "oppose")
        }

    def _model(self) -> PairClassifier:
        with self._lock:
            if self._classifier is None:
                self._classifier = self._load()
            return self._classifier


DEFAULT_MODEL = Path(__file__).parent / "default"


def class_columns(labels: Sequence[str]) -> dict[str, int]:
    """Which output stands for support, oppose and neutral, by the labels' names; raises ConfigError
    if none is support.
    """
    columns: dict[str, int] = {}
    for index, label in enumerate(labels):
        for name, synonyms in _CLASS_NAMES.items():
            if label.strip().lower().replace("-", "_") in synonyms:
                columns.setdefault(name, index)
    if "support" not in columns:
        raise ConfigError(
            f"no label of the model means support or entailment: {list(labels)}; name them in "
            "config.json's id2label, for example {0: 'support', 1: 'oppose', 2: 'neutral'}"
        )
    return columns


def _statement(perspective: Perspective) -> str:
    return perspective.claim if perspective.claim and perspective.stance else perspective.text


def _windows(text: str, max_words: int) -> list[str]:
    """The text in pieces of at most ``max_words`` words, cut at sentence ends if there are any."""
    if len(text) <= max_words * 6 or len(text.split()) <= max_words:
        return [text]
    pieces: list[list[str]] = [[]]
    for sentence in split_sentences(text):
        words = sentence.split()
        while words:
            room = max_words - len(pieces[-1])
            if len(words) > room and pieces[-1]:
                pieces.append([])
                continue
            pieces[-1].extend(words[:max_words])
            words = words[max_words:]
    return [" ".join(piece) for piece in pieces]


def _load(
    model: str | Path | None, folder: Path, settings: JudgeSettings, threads: int | None
) -> PairClassifier:
    from perspective_rag.judge.models import OnnxClassifier, TransformersClassifier

    if folder.suffix == ".onnx" or (folder / "model.onnx").is_file():
        return OnnxClassifier(folder, max_tokens=settings.max_tokens, threads=threads)
    if model is None:
        raise ConfigError(f"the package's own judge is not in {folder}: reinstall perspective-rag")
    return TransformersClassifier(str(model), max_tokens=settings.max_tokens)


def settings_document(settings: JudgeSettings, provenance: Mapping[str, Any]) -> str:
    """The text of ``judge.json``: settings and where they come from."""
    values = {name: getattr(settings, name) for name in JudgeSettings.__slots__}
    return (
        json.dumps({**values, "provenance": dict(provenance)}, indent=2, ensure_ascii=False) + "\n"
    )
