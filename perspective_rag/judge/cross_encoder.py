"""Judging with a sequence-classification model that reads passage and statement together."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from perspective_rag.checks import between
from perspective_rag.errors import ConfigError
from perspective_rag.flow import Flow, call
from perspective_rag.judge.labels import class_columns
from perspective_rag.judge.pairs import TableOfPairs, not_judged
from perspective_rag.judge.revisions import digest, fingerprint
from perspective_rag.judge.windows import windows
from perspective_rag.types import Matrix, Passage, Perspective, Vector


class PairClassifier(Protocol):
    """A loaded model: its labels in the order of its outputs, and its logits for pairs.

    ``pieces`` cuts a text so that the model reads all of it beside each of the statements.
    """

    labels: tuple[str, ...]

    def pieces(self, text: str, statements: Sequence[str]) -> list[str]: ...

    def logits(self, documents: Sequence[str], statements: Sequence[str]) -> Matrix: ...


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What goes with a model's weights: ``judge.json`` in its folder, or these defaults.

    ``temperature`` divides the logits before the softmax; ``neutral_bias`` is then added to that of
    neutral, for passages are neutral more often where the judge is used than where it learned
    (higher: less support and less opposition); ``threshold`` is the P(support) from which a passage
    counts as supporting; ``max_words`` is the window in which a long passage is read, ``overlap``
    the most words at its start that repeat the window before; ``max_tokens`` is the longest input
    of the model.
    """

    threshold: float = 0.5
    temperature: float = 1.0
    neutral_bias: float = 0.0
    max_tokens: int = 256
    max_words: int = 140
    overlap: int = 0

    @classmethod
    def of(cls, folder: Path) -> JudgeSettings:
        """The settings stored in a folder; the defaults where it holds none."""
        path = folder / "judge.json"
        if not path.is_file():
            return cls()
        stored = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{name: stored[name] for name in cls.__slots__ if name in stored})


class CrossEncoderJudge(TableOfPairs):
    """P(a passage supports a perspective) from a three-class (support / oppose / neutral) or
    two-class model.

    ``model`` is None for the model that comes with the package, a folder (ONNX or transformers), an
    ``.onnx`` file, or a Hugging Face id; NLI models fit, and their label order is read from their
    configuration. It is loaded at the first judgement, once. A perspective with a claim and a
    stance is judged through its claim, so that both sides of a claim cost one pair. A longer
    passage than the window is read in windows, cut at sentence ends: P = max over its windows, so
    the end of a passage counts as much as its start. ``threshold`` and ``temperature`` replace what
    is stored with the model; ``revision`` is the hub's branch, tag or commit.

    A model that fails, or gives numbers that are not finite, leaves NaN and a recorded degradation
    (strict mode: JudgeError). Raises ConfigError for a model without a label that means support.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        threshold: float | None = None,
        temperature: float | None = None,
        threads: int | None = None,
        revision: str | None = None,
        classifier: PairClassifier | None = None,
    ) -> None:
        folder = DEFAULT_MODEL if model is None else Path(model)
        settings = JudgeSettings()
        if classifier is None:
            settings = JudgeSettings.of(folder.parent if folder.suffix == ".onnx" else folder)
        self.name = "perspective-rag-judge" if model is None else str(model)
        given = settings.threshold if threshold is None else threshold
        self.threshold = between("threshold", given)
        self._temperature = settings.temperature if temperature is None else temperature
        self._settings = settings
        self._folder = folder
        self._hub_revision = revision
        self._load: Callable[[], PairClassifier] = lambda: _load(
            model, folder, settings, threads, revision
        )
        self._classifier = classifier
        self._lock = threading.Lock()

    @cached_property
    def revision(self) -> str:
        """Identifies the model's files and settings: equal revisions judge alike."""
        files = fingerprint(self._folder) if self._folder.exists() else self._hub_revision
        return digest(self.name, files or "", self._temperature, self._settings)

    def judge_pairs(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Vector]:
        """P(passages[i] supports perspectives[i]), shape (n,), NaN where the model failed."""
        pairs = [(d.text, _statement(p)) for d, p in zip(passages, perspectives, strict=True)]
        distinct = list(dict.fromkeys(pairs))
        if not distinct:
            return np.zeros(0)
        reply = yield from call(
            "judge",
            self.pair_probabilities,
            [text for text, _ in distinct],
            [statement for _, statement in distinct],
            counts={"judged_pairs": len(distinct)},
        )
        support: Vector = np.full(len(pairs), np.nan)
        if reply.error is None:
            row = {pair: i for i, pair in enumerate(distinct)}
            for i, (pair, perspective) in enumerate(zip(pairs, perspectives, strict=True)):
                support[i] = reply.value[perspective.stance or "support"][row[pair]]
        failed = int(np.isnan(support).sum())
        if failed:
            yield from not_judged(self.name, failed, len(pairs), reply.error)
        return support

    def probabilities(self, texts: Sequence[str], statements: Sequence[str]) -> dict[str, Matrix]:
        """P(support) and P(oppose) of every text towards every statement, each of shape (n_texts,
        n_statements).
        """
        flat = self.pair_probabilities(
            [text for text in texts for _ in statements],
            [statement for _ in texts for statement in statements],
        )
        shape = (len(texts), len(statements))
        return {stance: values.reshape(shape) for stance, values in flat.items()}

    def pair_probabilities(
        self, texts: Sequence[str], statements: Sequence[str]
    ) -> dict[str, Vector]:
        """P(support) and P(oppose) of texts[i] towards statements[i], each of shape (n,); NaN where
        the model's numbers are not finite.
        """
        model = self._model()
        by_text: dict[str, list[str]] = {}
        for text, statement in zip(texts, statements, strict=True):
            by_text.setdefault(text, []).append(statement)
        cut = {
            text: [
                piece
                for window in windows(text, self._settings.max_words, self._settings.overlap)
                for piece in model.pieces(window, beside)
            ]
            for text, beside in by_text.items()
        }
        owners = [i for i, text in enumerate(texts) for _ in cut[text]]
        documents = [piece for text in texts for piece in cut[text]]
        probability = self._classes(model, documents, [statements[i] for i in owners])
        result: dict[str, Vector] = {}
        for stance, column in probability.items():
            strongest = np.zeros(len(texts))
            with np.errstate(invalid="ignore"):
                np.maximum.at(strongest, owners, column)  # NaN stays NaN
            result[stance] = strongest
        return result

    def _classes(
        self, model: PairClassifier, documents: Sequence[str], statements: Sequence[str]
    ) -> dict[str, Vector]:
        logits = np.asarray(model.logits(documents, statements), dtype=np.float64)
        logits[~np.isfinite(logits).all(axis=1)] = np.nan
        logits /= self._temperature
        if logits.shape[1] == 1:  # a relevance score: nothing is known of opposition
            support = 1.0 / (1.0 + np.exp(-logits[:, 0]))
            return {"support": support, "oppose": np.zeros_like(support)}
        columns = class_columns(model.labels)
        if "neutral" in columns:
            logits[:, columns["neutral"]] += self._settings.neutral_bias
        exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
        probability = exponents / exponents.sum(axis=1, keepdims=True)
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


def _statement(perspective: Perspective) -> str:
    return perspective.claim if perspective.claim and perspective.stance else perspective.text


@cache
def packaged_judge() -> CrossEncoderJudge:
    """The judge that comes with the package; who asks for it shares one, loaded once."""
    return CrossEncoderJudge()


def _load(
    model: str | Path | None,
    folder: Path,
    settings: JudgeSettings,
    threads: int | None,
    revision: str | None,
) -> PairClassifier:
    from perspective_rag.judge.models import OnnxClassifier, TransformersClassifier

    if folder.suffix == ".onnx" or (folder / "model.onnx").is_file():
        return OnnxClassifier(folder, max_tokens=settings.max_tokens, threads=threads)
    if model is None:
        raise ConfigError(f"the package's own judge is not in {folder}: reinstall perspective-rag")
    return TransformersClassifier(str(model), max_tokens=settings.max_tokens, revision=revision)


def settings_document(settings: JudgeSettings, provenance: Mapping[str, Any]) -> str:
    """The text of ``judge.json``: settings and where they come from."""
    values = {name: getattr(settings, name) for name in JudgeSettings.__slots__}
    return (
        json.dumps({**values, "provenance": dict(provenance)}, indent=2, ensure_ascii=False) + "\n"
    )
