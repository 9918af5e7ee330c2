"""The packaged judge: a small cross-encoder that reads a passage beside a statement."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np

from perspective_rag.errors import ConfigError, between
from perspective_rag.flow.request import note
from perspective_rag.flow.steps import Flow, Reply
from perspective_rag.judge.models import (
    LoadedOnce,
    OnnxClassifier,
    TransformersClassifier,
    onnx_runtime,
)
from perspective_rag.judge.pairs import TableOfPairs, in_batches, not_judged
from perspective_rag.judge.settings import JudgeSettings, TwoSidedSettings
from perspective_rag.judge.windows import LONG, LONGEST, telling, windows
from perspective_rag.storage.fingerprint import fingerprint, model_fingerprint
from perspective_rag.types import ListingRule, Matrix, Passage, Perspective, Vector

DEFAULT_MODEL = Path(__file__).parent / "default"
BATCH = 32
"""Texts beside their statements of one call: what a time limit costs at most."""

# What models call the three classes.
_CLASS_NAMES = {
    "support": "support supports entailment entail favor favour agree pro yes true",
    "oppose": "oppose opposes contradiction contradict refute refutes against disagree con",
    "neutral": "neutral not_entailment not_enough_info none unrelated discuss no false",
}


def class_columns(labels: Sequence[str]) -> dict[str, int]:
    """Which output stands for support, oppose and neutral, by the labels' names; raises ConfigError
    if none is support.
    """
    columns: dict[str, int] = {}
    for index, label in enumerate(labels):
        for name, synonyms in _CLASS_NAMES.items():
            if label.strip().lower().replace("-", "_").replace(" ", "_") in synonyms.split():
                columns.setdefault(name, index)
    if "support" not in columns:
        raise ConfigError(
            f"no label of the model means support or entailment: {list(labels)}; name them in "
            "config.json's id2label, for example {0: 'support', 1: 'oppose', 2: 'neutral'}"
        )
    return columns


class ReadsPairs(Protocol):
    """What is known of a model without running it: its labels in the order of its outputs.

    ``pieces`` cuts a text so that the model reads all of it beside each of the statements.
    """

    labels: tuple[str, ...]

    def pieces(self, text: str, statements: Sequence[str]) -> list[str]: ...


class PairClassifier(ReadsPairs, Protocol):
    """A loaded model, and its logits for pairs."""

    def logits(self, documents: Sequence[str], statements: Sequence[str]) -> Matrix: ...


class Asked(NamedTuple):
    """A text to read beside one statement, or beside two that contradict each other.

    ``relevance`` is the cosine of text and question, for two; NaN where it is not known.
    """

    text: str
    statements: tuple[str, ...]
    relevance: float = 0.0


class CutPairs(NamedTuple):
    """The windows of texts, each beside a statement; ``owners``: whose text a window is of.

    Beside two statements, all windows stand beside the first, then all beside the second.
    """

    owners: list[int]
    documents: list[str]
    statements: list[str]


class CrossEncoderJudge(TableOfPairs, LoadedOnce[PairClassifier]):
    """A small model that reads a passage beside a statement and gives P(the passage supports it).

    It has three classes (support, oppose, neutral) or two. A perspective with a claim and a stance
    is judged through its claim, so that both sides of a claim cost one pair. A longer passage than
    the window is read in windows, cut at sentence ends: P = max over its windows, so the end of a
    passage counts as much as its start. Of one of more than 20,000 characters those windows are
    read that share most words with the statements; the trace counts it in ``shortened_passages``.

    A model that fails, or gives numbers that are not finite, leaves NaN and a recorded degradation
    (strict mode: JudgeError). ``languages`` are those the model is known to judge (empty: nobody
    has said).

    Args:
        model: None for the model that comes with the package; else a folder (ONNX or transformers),
            an ``.onnx`` file, or a Hugging Face id. NLI models fit: their label order is read from
            their configuration. It is loaded once, at the first judgement.
        threshold: In [0, 1]: P(support) from which a passage counts as supporting. Higher: fewer
            do. None: as stored with the model.
        temperature: Divides the logits. Higher: less sure. None: as stored with the model.
        threads: Pairs that an ONNX model reads side by side. None: one a core.
        revision: The hub's branch, tag or commit. None: the hub's default branch.
        classifier: A loaded model of your own, used instead of ``model``, which then only names it.
        language: Language of the passages, by whose rules sentences are cut.

    Raises:
        ConfigError: The threshold is out of range, or what is stored with the model cannot be read;
            at the first judgement, no label of the model means support.
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
        super().__init__(classifier)
        folder = DEFAULT_MODEL if model is None else Path(model)
        settings, self._two_sides = JudgeSettings(), None
        if classifier is None:
            settings = JudgeSettings.of(folder.parent if folder.suffix == ".onnx" else folder)
            self._two_sides = TwoSidedSettings.of(folder)
        self.name = "perspective-rag-judge" if model is None else str(model)
        given = settings.threshold if threshold is None else threshold
        self.threshold = between("threshold", given)
        listed = settings.listing if settings.listing is not None and threshold is None else given
        self.listing = ListingRule(max(listed, given), given, settings.lead)
        self.languages: tuple[str, ...] = ("en",) if model is None else ()
        self._settings, self._language = settings, language
        self._temperature = settings.temperature if temperature is None else temperature
        self._folder = folder
        self._threads, self._hub_revision = threads, revision

    @cached_property
    def revision(self) -> str:
        """Identifies the model's files and settings: equal revisions judge alike."""
        files = model_fingerprint(self._folder) if self._folder.exists() else self._hub_revision
        return fingerprint(self.name, files, self._temperature, self._settings)

    @property
    def sides_listing(self) -> ListingRule | None:
        """When support that was read beside both sides is listed.

        None where the model's folder says nothing of reading two sides.
        """
        two_sides = self._two_sides
        return None if two_sides is None else (two_sides.relevant or two_sides.alone).rule

    def judge_pairs(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Vector]:
        """The same as ``judge`` of passages[i] beside perspectives[i] alone, shape (n_pairs,)."""
        asked = [
            Asked(passage.text, (each.claim if each.claim and each.stance else each.text,))
            for passage, each in zip(passages, perspectives, strict=True)
        ]
        distinct = list(dict.fromkeys(asked))
        found, error = yield from self._read_all(distinct)
        rows = {each: i for i, each in enumerate(distinct)}
        columns = [int(each.stance == "oppose") for each in perspectives]
        support: Vector = found[[rows[each] for each in asked], columns]
        failed = int(np.isnan(support).sum())
        if failed:
            not_judged(self.name, failed, len(asked), error)
        return support

    def judge_sides(
        self,
        sides: tuple[Perspective, Perspective],
        passages: Sequence[Passage],
        relevance: Vector,
    ) -> Flow[Matrix]:
        """Judges passages beside two sides that contradict each other.

        The evidence for a side A against B is

            e(A) = own s(A) + other o(B) + against o(A) + rival s(B) + relevance c + bias

        with s and o the logits of support and oppose less that of neutral, c the cosine, and
        weights that are stored with the model. P(supports A), P(supports B) and P(neither) are the
        softmax of e(A), e(B) and 0; of a long passage P = max over its windows.

        Args:
            sides: The two sides.
            passages: The passages to judge.
            relevance: Cosine of each passage to the question on the scale of the packaged encoder,
                shape (n_passages,). Where one is NaN, not known, all are judged without, on the
                same scale.

        Returns:
            P(support) of each side, shape (n_passages, 2); NaN where the model failed.
        """
        texts = [passage.text for passage in passages]
        asked = _beside_two(texts, (sides[0].text, sides[1].text), relevance)
        support, error = yield from self._read_all(asked)
        failed = int(np.isnan(support).any(axis=1).sum())
        if failed:
            not_judged(self.name, 2 * failed, 2 * len(asked), error)
        return support

    def side_probabilities(
        self, texts: Sequence[str], statements: tuple[str, str], relevance: Vector
    ) -> Matrix:
        """``judge_sides`` of plain strings, in one call of the model.

        Args:
            texts: The texts to judge.
            statements: Two statements that contradict each other.
            relevance: Cosine of each text to the question, shape (n_texts,); NaN as in
                ``judge_sides``.

        Returns:
            P(support) of each statement, shape (n_texts, 2).
        """
        return self._read(_beside_two(texts, statements, relevance))

    def pair_probabilities(
        self, texts: Sequence[str], statements: Sequence[str]
    ) -> dict[str, Vector]:
        """Judges texts[i] beside statements[i].

        Args:
            texts: One for each pair.
            statements: One for each pair.

        Returns:
            P(support) and P(oppose) under "support" and "oppose", each of shape (n_pairs,); NaN
            where the model's numbers are not finite.
        """
        pairs = zip(texts, statements, strict=True)
        found = self._read([Asked(text, (statement,)) for text, statement in pairs])
        return {"support": found[:, 0], "oppose": found[:, 1]}

    def _read_all(self, asked: Sequence[Asked]) -> Flow[tuple[Matrix, Exception | None]]:
        """What the model says, NaN where it failed, and the first error."""
        if not asked:
            return np.zeros((0, 2)), None
        long = len({each.text for each in asked if len(each.text) > LONGEST})
        if long:
            note(counts={"shortened_passages": long})
        reply = yield from self._ask(asked)
        found = np.full((len(asked), 2), np.nan) if reply.value is None else reply.value
        return found, reply.error

    def _ask(self, asked: Sequence[Asked]) -> Flow[Reply]:
        """``_read`` in batches; value and error together where a part failed."""
        pairs = len(asked[0].statements)
        return in_batches("judge", self._read, asked, BATCH, pairs)

    def _read(self, asked: Sequence[Asked]) -> Matrix:
        if not asked:
            return np.zeros((0, 2))
        model = self._model()
        pairs = self._cut(model, asked)
        logits = model.logits(pairs.documents, pairs.statements)
        return self._support(model.labels, asked, pairs, logits)

    def _cut(self, model: ReadsPairs, asked: Sequence[Asked]) -> CutPairs:
        """The windows of the texts, each beside its statements: one each, or two each."""
        beside: dict[str, list[str]] = {}
        for each in asked:
            beside.setdefault(each.text, []).extend(each.statements)
        cut = {text: self._windows(model, text, found) for text, found in beside.items()}
        owners = [i for i, each in enumerate(asked) for _ in cut[each.text]]
        documents = [piece for each in asked for piece in cut[each.text]]
        width = len(asked[0].statements)
        statements = [asked[i].statements[k] for k in range(width) for i in owners]
        return CutPairs(owners, documents * width, statements)

    def _windows(self, model: ReadsPairs, text: str, statements: Sequence[str]) -> list[str]:
        """The text in pieces that the model reads whole beside each of the statements."""
        size = self._settings.max_words
        if len(text.split()) > LONG:
            size = min(size, self._settings.long_words)
        about = " ".join(statements)
        cut = telling(windows(text, size, self._language), about)
        pieces = [piece for window in cut for piece in model.pieces(window, statements)]
        return telling(pieces, about)

    def _support(
        self, labels: Sequence[str], asked: Sequence[Asked], pairs: CutPairs, logits: Matrix
    ) -> Matrix:
        """P(support) and P(oppose) of a statement, or P(support) of each of two, shape (n, 2).

        The largest of a text's windows. ``logits`` (windows, classes) are the model's for the pairs
        of ``_cut``; NaN stays NaN.
        """
        logits = np.array(logits, dtype=np.float64)
        if len(asked[0].statements) == 1:
            values = self._probabilities(labels, logits)
        else:
            assert self._two_sides is not None
            columns = class_columns(labels)
            ordered = logits[:, [columns[name] for name in ("support", "oppose", "neutral")]]
            first, second = np.split(ordered, 2)
            relevance = np.array([each.relevance for each in asked])[pairs.owners]
            values = self._two_sides.support(first, second, relevance)
        strongest = np.zeros((len(asked), 2))
        with np.errstate(invalid="ignore"):
            np.maximum.at(strongest, pairs.owners, values)
        return strongest

    def _probabilities(self, labels: Sequence[str], logits: Matrix) -> Matrix:
        """P(support) and P(oppose), shape (windows, 2)."""
        logits[~np.isfinite(logits).all(axis=1)] = np.nan
        logits /= self._temperature
        result = np.zeros((len(logits), 2))
        if logits.shape[1] == 1:  # a relevance score: nothing is known of opposition
            result[:, 0] = 1.0 / (1.0 + np.exp(-logits[:, 0]))
            return result
        columns = class_columns(labels)
        if "neutral" in columns:
            logits[:, columns["neutral"]] += self._settings.neutral_bias
        exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
        probability = exponents / exponents.sum(axis=1, keepdims=True)
        for place, stance in enumerate(("support", "oppose")):
            if stance in columns:
                result[:, place] = probability[:, columns[stance]]
        return result

    def _load(self) -> PairClassifier:
        most = self._settings.max_tokens
        if self._folder.suffix == ".onnx" or (self._folder / "model.onnx").is_file():
            return OnnxClassifier(self._folder, max_tokens=most, threads=self._threads)
        if self._folder == DEFAULT_MODEL:
            raise ConfigError(
                f"the package's own judge is not in {DEFAULT_MODEL}: reinstall perspective-rag"
            )
        return TransformersClassifier(
            self._folder.as_posix(), max_tokens=most, revision=self._hub_revision
        )


def _beside_two(
    texts: Sequence[str], statements: tuple[str, str], relevance: Vector
) -> list[Asked]:
    """The texts beside both; where one cosine is not known all are judged without."""
    near = np.asarray(relevance, dtype=float)
    if not np.isfinite(near).all():
        near = np.full(len(texts), np.nan)
    pairs = zip(texts, near.tolist(), strict=True)
    return [Asked(text, statements, value) for text, value in pairs]


@cache
def packaged_judge() -> CrossEncoderJudge:
    """Returns the judge that comes with the package; all callers share one, loaded at first use.

    Raises:
        MissingDependency: What it runs on is not installed or does not load.
    """
    onnx_runtime()
    return CrossEncoderJudge()
