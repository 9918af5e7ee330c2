"""Judging with a sequence-classification model that reads passage and statement together."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from perspective_rag.errors import ConfigError
from perspective_rag.flow.steps import Flow, Reply, call
from perspective_rag.judge.pairs import TableOfPairs, in_batches, not_judged
from perspective_rag.judge.reading import Reading, ReadsPairs
from perspective_rag.judge.settings import JudgeSettings
from perspective_rag.judge.two_sides import TwoSidedSettings
from perspective_rag.judge.windows import LONGEST
from perspective_rag.listing import ListingRule
from perspective_rag.storage.fingerprint import fingerprint, model_fingerprint
from perspective_rag.types import Matrix, Passage, Perspective, Vector
from perspective_rag.validation import between

BATCH = 32
"""Pairs, or texts beside two sides, of one call: what a time limit costs at most."""


class PairClassifier(ReadsPairs, Protocol):
    """A loaded model, and its logits for pairs."""

    def logits(self, documents: Sequence[str], statements: Sequence[str]) -> Matrix: ...


class CrossEncoderJudge(TableOfPairs):
    """P(a passage supports a perspective) from a three-class (support / oppose / neutral) or
    two-class model.

    ``model`` is None for the model that comes with the package, a folder (ONNX or transformers), an
    ``.onnx`` file, or a Hugging Face id; NLI models fit, and their label order is read from their
    configuration. It is loaded at the first judgement, once. A perspective with a claim and a
    stance is judged through its claim, so that both sides of a claim cost one pair. A longer
    passage than the window is read in windows, cut at sentence ends: P = max over its windows, so
    the end of a passage counts as much as its start. Of one of more than 20,000 characters those
    windows are read that share most words with the statements, and the trace counts it in
    ``shortened_passages``. ``threshold`` and ``temperature`` replace what
    is stored with the model; ``revision`` is the hub's branch, tag or commit; ``language`` is that
    of the passages, by whose rules sentences are cut. ``languages`` are those the model is known to
    judge (empty: nobody has said).

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
        language: str = "en",
    ) -> None:
        folder = DEFAULT_MODEL if model is None else Path(model)
        settings = JudgeSettings()
        if classifier is None:
            settings = JudgeSettings.of(folder.parent if folder.suffix == ".onnx" else folder)
        self.name = "perspective-rag-judge" if model is None else str(model)
        given = settings.threshold if threshold is None else threshold
        self.threshold = between("threshold", given)
        listed = settings.listing if settings.listing is not None and threshold is None else given
        self.listing = ListingRule(max(listed, given), given, settings.lead)
        self.languages: tuple[str, ...] = ("en",) if model is None else ()
        self._reading = Reading(
            settings,
            settings.temperature if temperature is None else temperature,
            TwoSidedSettings.of(folder) if classifier is None else None,
            language,
        )
        self._folder = folder
        self._hub_revision = revision
        self._load = partial(_load, model, folder, settings, threads, revision)
        self._classifier = self._given = classifier
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        """All but the loaded model, so that it can be sent to another process."""
        left_out = {"_lock": None, "_classifier": self._given}
        return {name: left_out.get(name, value) for name, value in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.Lock())

    @cached_property
    def revision(self) -> str:
        """Identifies the model's files and settings: equal revisions judge alike."""
        files = model_fingerprint(self._folder) if self._folder.exists() else self._hub_revision
        return fingerprint(self.name, files, self._reading.temperature, self._reading.settings)

    def judge_pairs(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Vector]:
        """P(passages[i] supports perspectives[i]), shape (n,), NaN where the model failed."""
        pairs = [(d.text, _statement(p)) for d, p in zip(passages, perspectives, strict=True)]
        distinct = list(dict.fromkeys(pairs))
        if not distinct:
            return np.zeros(0)
        reply = yield from self._asked_pairs(
            [text for text, _ in distinct],
            [statement for _, statement in distinct],
            _counted(len(distinct), passages),
        )
        support: Vector = np.full(len(pairs), np.nan)
        if reply.value is not None:
            row = {pair: i for i, pair in enumerate(distinct)}
            for i, (pair, perspective) in enumerate(zip(pairs, perspectives, strict=True)):
                support[i] = reply.value[perspective.stance or "support"][row[pair]]
        failed = int(np.isnan(support).sum())
        if failed:
            not_judged(self.name, failed, len(pairs), reply.error)
        return support

    @property
    def sides_listing(self) -> ListingRule | None:
        """From when support that was read beside both sides is listed; None where the model's
        folder says nothing of reading two sides.
        """
        two_sides = self._reading.two_sides
        if two_sides is None:
            return None
        scale = two_sides.relevant or two_sides.alone
        return ListingRule(scale.listing, scale.searching)

    def judge_sides(
        self,
        sides: tuple[Perspective, Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
    ) -> Flow[Matrix]:
        """P(passages[i] supports the first, the second of two contradicting sides), shape (n, 2);
        NaN where the model failed. See ``two_sides``; P = max over the windows of a long passage.
        """
        texts, statements = [passage.text for passage in passages], (sides[0].text, sides[1].text)
        if not texts:
            return np.zeros((0, 2))
        reply = yield from self._asked_sides(
            texts, statements, relevance, _counted(2 * len(texts), passages)
        )
        support: Matrix = np.full((len(texts), 2), np.nan)
        if reply.value is not None:
            support = reply.value
        failed = int(np.isnan(support).any(axis=1).sum())
        if failed:
            not_judged(self.name, 2 * failed, 2 * len(texts), reply.error)
        return support

    def side_probabilities(
        self, texts: Sequence[str], statements: tuple[str, str], relevance: Vector
    ) -> Matrix:
        """P(support) of every text for each of two contradicting statements, shape (n, 2).

        ``relevance`` (n,) is the cosine of text and question; where one is not known all are judged
        without, on the same scale.
        """
        model = self._model()
        pairs = self._reading.cut_sides(model, texts, statements)
        logits = model.logits(pairs.documents, pairs.statements)
        return self._reading.side_support(model.labels, pairs, logits, relevance)

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
        pairs = self._reading.cut_pairs(model, texts, statements)
        logits = model.logits(pairs.documents, pairs.statements)
        return self._reading.pair_support(model.labels, pairs, logits)

    def _asked_pairs(
        self, texts: list[str], statements: list[str], counts: Mapping[str, int]
    ) -> Flow[Reply]:
        """``pair_probabilities`` in batches of ``BATCH``, so that a time limit costs one of them;
        value and error together where a part failed.
        """
        found = {stance: np.full(len(texts), np.nan) for stance in ("support", "oppose")}

        def ask(rows: list[int]) -> Flow[Reply]:
            own = {**(counts if rows[0] == 0 else {}), "judged_pairs": len(rows)}
            asked = [texts[i] for i in rows], [statements[i] for i in rows]
            return call("judge", self.pair_probabilities, *asked, counts=own)

        def keep(rows: list[int], value: dict[str, Vector]) -> None:
            for stance, values in value.items():
                found[stance][rows] = values

        error = yield from in_batches(range(len(texts)), BATCH, ask, keep)
        return Reply(found, error)

    def _asked_sides(
        self,
        texts: list[str],
        statements: tuple[str, str],
        relevance: Vector,
        counts: Mapping[str, int],
    ) -> Flow[Reply]:
        """``side_probabilities`` in the same way."""
        found: Matrix = np.full((len(texts), 2), np.nan)
        near = np.asarray(relevance, dtype=float)
        if not np.isfinite(near).all():  # where one is not known all are judged without
            near = np.full(len(texts), np.nan)

        def ask(rows: list[int]) -> Flow[Reply]:
            own = {**(counts if rows[0] == 0 else {}), "judged_pairs": 2 * len(rows)}
            asked = [texts[i] for i in rows], statements, near[rows]
            return call("judge", self.side_probabilities, *asked, counts=own)

        def keep(rows: list[int], values: Matrix) -> None:
            found[rows] = values

        error = yield from in_batches(range(len(texts)), BATCH, ask, keep)
        return Reply(found, error)

    def _model(self) -> PairClassifier:
        with self._lock:
            if self._classifier is None:
                self._classifier = self._load()
            return self._classifier


def _counted(pairs: int, passages: Sequence[Passage]) -> dict[str, int]:
    long = len({each.text for each in passages if len(each.text) > LONGEST})
    return {"judged_pairs": pairs, **({"shortened_passages": long} if long else {})}


DEFAULT_MODEL = Path(__file__).parent / "default"


def _statement(perspective: Perspective) -> str:
    return perspective.claim if perspective.claim and perspective.stance else perspective.text


@cache
def packaged_judge() -> CrossEncoderJudge:
    """The judge that comes with the package; who asks for it shares one, loaded at the first
    judgement.

    Raises MissingDependency where what it runs on is not installed or does not load.
    """
    from perspective_rag.judge.models import onnx_runtime

    onnx_runtime()
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
