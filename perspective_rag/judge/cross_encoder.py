"""The packaged judge: a small cross-encoder that reads a passage beside a statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from perspective_rag.errors import ConfigError, between
from perspective_rag.flow.steps import Flow, Reply, call
from perspective_rag.judge.pairs import LoadedOnce, TableOfPairs, in_batches, not_judged
from perspective_rag.judge.settings import FILE, JudgeSettings, stored_in
from perspective_rag.judge.windows import LONG, LONGEST, telling, windows
from perspective_rag.storage.fingerprint import fingerprint, model_fingerprint
from perspective_rag.types import ListingRule, Matrix, Passage, Perspective, Vector

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


@dataclass(frozen=True, slots=True)
class TwoSides:
    """How the readings of two contradicting statements A and B count for each side.

    With s and o the logits of support and oppose less that of neutral, the evidence for A is

        e(A) = own s(A) + other o(B) + against o(A) + rival s(B) + relevance c + bias

    and for B the same with A and B exchanged; c is the cosine of passage and question (0 where it
    is not known). P(supports A), P(supports B) and P(neither) are the softmax of e(A), e(B) and 0.
    """

    own: float = 1.0
    other: float = 0.0
    against: float = 0.0
    rival: float = 0.0
    relevance: float = 0.0
    bias: float = 0.0

    @classmethod
    def of(cls, stored: Mapping[str, float]) -> TwoSides:
        """The weights that ``judge.json`` holds."""
        return cls(**{name: float(stored[name]) for name in cls.__slots__ if name in stored})

    def stored(self) -> dict[str, float]:
        """What ``judge.json`` holds."""
        return {name: round(value, 4) for name, value in asdict(self).items()}

    def probabilities(
        self, logits_a: Matrix, logits_b: Matrix, cosine: Vector | None = None
    ) -> Matrix:
        """P(supports A), P(supports B) and P(neither) of each passage, shape (n, 3).

        ``logits_a`` and ``logits_b`` are the model's logits (support, oppose, neutral) of the
        passages beside A and B, shape (n, 3), as they come from the model; ``cosine`` is that of
        passage and question, shape (n,). A row with NaN stays NaN. Exchanging A and B exchanges
        the first two columns.
        """
        s_a, o_a = (logits_a[:, k] - logits_a[:, 2] for k in (0, 1))
        s_b, o_b = (logits_b[:, k] - logits_b[:, 2] for k in (0, 1))
        shared = self.bias + (0.0 if cosine is None else self.relevance * cosine)
        evidence = np.zeros((len(logits_a), 3))
        evidence[:, 0] = (
            self.own * s_a + self.other * o_b + self.against * o_a + self.rival * s_b + shared
        )
        evidence[:, 1] = (
            self.own * s_b + self.other * o_a + self.against * o_b + self.rival * s_a + shared
        )
        raised = np.exp(evidence - evidence.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


@dataclass(frozen=True, slots=True)
class TwoSidedSettings:
    """What a judge's folder says of reading both sides.

    A passage is listed under the likelier statement from P >= ``listing``; while fewer are found
    the search goes on counting those from ``searching``. ``alone`` weighs the two readings,
    ``relevant`` these and the cosine of question and passage with its title, by the packaged
    encoder; each has its own thresholds.
    """

    alone: Weighed
    relevant: Weighed | None = None

    @classmethod
    def of(cls, folder: Path) -> TwoSidedSettings | None:
        """The settings in the folder's ``judge.json``; None where it holds none.

        Raises ConfigError for others.
        """
        stored = stored_in(folder).get("two_sides")
        if stored is None:
            return None
        try:
            relevant = stored.get("relevant")
            return cls(Weighed.of(stored["alone"]), Weighed.of(relevant) if relevant else None)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            problem = f"two_sides cannot be read: {error!r}"
            raise ConfigError(f"{folder / FILE}: {problem}") from error

    def support(self, logits_a: Matrix, logits_b: Matrix, relevance: Vector) -> Matrix:
        """P(supports A) and P(supports B), shape (n, 2), on the scale of ``relevant`` if set.

        Without the cosines, P is moved so that the thresholds of ``alone`` fall on that scale's.
        ``logits_a`` and ``logits_b`` as in ``TwoSides.probabilities``; ``relevance`` (n,) the
        cosines of passage and question, NaN where one is not known (all are then judged without).
        """
        if self.relevant is not None and np.isfinite(relevance).all():
            return self.relevant.weights.probabilities(logits_a, logits_b, relevance)[:, :2]
        alone = self.alone.weights.probabilities(logits_a, logits_b)[:, :2]
        if self.relevant is None:
            return alone
        own = [0.0, self.alone.searching, self.alone.listing, 1.0]
        wanted = [0.0, self.relevant.searching, self.relevant.listing, 1.0]
        moved: Matrix = np.interp(alone, own, wanted)
        return moved


@dataclass(frozen=True, slots=True)
class Weighed:
    """Weights of the two readings, and the thresholds that go with them."""

    weights: TwoSides
    listing: float
    searching: float

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Weighed:
        """From what ``judge.json`` holds."""
        return cls(
            TwoSides.of(stored["weights"]), float(stored["listing"]), float(stored["searching"])
        )

    def stored(self) -> dict[str, Any]:
        """What ``judge.json`` holds."""
        return {
            "weights": self.weights.stored(),
            "listing": round(self.listing, 4),
            "searching": round(self.searching, 4),
        }


class ReadsPairs(Protocol):
    """What is known of a model without running it: its labels in the order of its outputs.

    ``pieces`` cuts a text so that the model reads all of it beside each of the statements.
    """

    labels: tuple[str, ...]

    def pieces(self, text: str, statements: Sequence[str]) -> list[str]: ...


@dataclass(frozen=True, slots=True)
class CutPairs:
    """The windows of ``texts`` texts, each beside a statement; ``owners``: whose a window is."""

    texts: int
    owners: list[int]
    documents: list[str]
    statements: list[str]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a model is read: its settings, its temperature, and what it says of two sides.

    ``language`` is that of the texts, by whose rules sentences are cut.
    """

    settings: JudgeSettings
    temperature: float
    two_sides: TwoSidedSettings | None = None
    language: str = "en"

    def cut_pairs(
        self, model: ReadsPairs, texts: Sequence[str], statements: Sequence[str]
    ) -> CutPairs:
        """The windows of texts[i], each beside statements[i]."""
        by_text: dict[str, list[str]] = {}
        for text, statement in zip(texts, statements, strict=True):
            by_text.setdefault(text, []).append(statement)
        cut = {text: self._windows(model, text, beside) for text, beside in by_text.items()}
        owners = [i for i, text in enumerate(texts) for _ in cut[text]]
        documents = [piece for text in texts for piece in cut[text]]
        return CutPairs(len(texts), owners, documents, [statements[i] for i in owners])

    def cut_sides(
        self, model: ReadsPairs, texts: Sequence[str], statements: tuple[str, str]
    ) -> CutPairs:
        """All windows beside the first statement, then all beside the second; ``owners`` once."""
        cut = [self._windows(model, text, statements) for text in texts]
        owners = [i for i, pieces in enumerate(cut) for _ in pieces]
        documents = [piece for pieces in cut for piece in pieces]
        beside = [each for each in statements for _ in documents]
        return CutPairs(len(texts), owners, [*documents, *documents], beside)

    def pair_support(
        self, labels: Sequence[str], pairs: CutPairs, logits: Matrix
    ) -> dict[str, Vector]:
        """P(support) and P(oppose) of each text, shape (texts,): the largest of its windows.

        ``logits`` (n, classes) are the model's for the pairs of ``cut_pairs``; NaN stays NaN.
        """
        result: dict[str, Vector] = {}
        for stance, column in self._classes(labels, logits).items():
            strongest = np.zeros(pairs.texts)
            with np.errstate(invalid="ignore"):
                np.maximum.at(strongest, pairs.owners, column)
            result[stance] = strongest
        return result

    def side_support(
        self, labels: Sequence[str], pairs: CutPairs, logits: Matrix, relevance: Vector
    ) -> Matrix:
        """P(support) of each text for both statements, shape (texts, 2), as ``two_sides`` weighs.

        ``logits`` (2 n, classes) are the model's for the pairs of ``cut_sides``; ``relevance``
        (texts,) are the cosines of text and question, NaN where one is not known.
        """
        assert self.two_sides is not None
        both = np.asarray(logits, dtype=np.float64)[:, _in_order(labels)]
        first, second = np.split(both, 2)
        values = self.two_sides.support(first, second, np.asarray(relevance)[pairs.owners])
        strongest = np.zeros((pairs.texts, 2))
        with np.errstate(invalid="ignore"):
            np.maximum.at(strongest, pairs.owners, values)
        return strongest

    def _windows(self, model: ReadsPairs, text: str, statements: Sequence[str]) -> list[str]:
        """The text in pieces that the model reads whole beside each of the statements."""
        settings = self.settings
        size = settings.max_words
        if len(text.split()) > LONG:
            size = min(size, settings.long_words)
        about = " ".join(statements)
        pieces = [
            piece
            for window in telling(windows(text, size, settings.overlap, self.language), about)
            for piece in model.pieces(window, statements)
        ]
        return telling(pieces, about)

    def _classes(self, labels: Sequence[str], logits: Matrix) -> dict[str, Vector]:
        logits = np.array(logits, dtype=np.float64)
        logits[~np.isfinite(logits).all(axis=1)] = np.nan
        logits /= self.temperature
        if logits.shape[1] == 1:  # a relevance score: nothing is known of opposition
            support = 1.0 / (1.0 + np.exp(-logits[:, 0]))
            return {"support": support, "oppose": np.zeros_like(support)}
        columns = class_columns(labels)
        if "neutral" in columns:
            logits[:, columns["neutral"]] += self.settings.neutral_bias
        exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
        probability = exponents / exponents.sum(axis=1, keepdims=True)
        nothing = np.zeros(len(logits))
        return {
            stance: probability[:, columns[stance]] if stance in columns else nothing
            for stance in ("support", "oppose")
        }


def _in_order(labels: Sequence[str]) -> list[int]:
    """The columns of support, oppose and neutral."""
    columns = class_columns(labels)
    return [columns[name] for name in ("support", "oppose", "neutral")]


BATCH = 32
"""Pairs, or texts beside two sides, of one call: what a time limit costs at most."""


class PairClassifier(ReadsPairs, Protocol):
    """A loaded model, and its logits for pairs."""

    def logits(self, documents: Sequence[str], statements: Sequence[str]) -> Matrix: ...


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

    @cached_property
    def revision(self) -> str:
        """Identifies the model's files and settings: equal revisions judge alike."""
        files = model_fingerprint(self._folder) if self._folder.exists() else self._hub_revision
        return fingerprint(self.name, files, self._reading.temperature, self._reading.settings)

    def judge_pairs(
        self, perspectives: Sequence[Perspective], passages: Sequence[Passage]
    ) -> Flow[Vector]:
        """The same as ``judge`` of passages[i] beside perspectives[i] alone, shape (n_pairs,)."""
        pairs = [(d.text, _statement(p)) for d, p in zip(passages, perspectives, strict=True)]
        distinct = list(dict.fromkeys(pairs))
        if not distinct:
            return np.zeros(0)
        reply = yield from self._ask_pairs(
            [text for text, _ in distinct],
            [statement for _, statement in distinct],
            _counts(len(distinct), passages),
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
        """When support that was read beside both sides is listed.

        None where the model's folder says nothing of reading two sides.
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
        texts, statements = [passage.text for passage in passages], (sides[0].text, sides[1].text)
        if not texts:
            return np.zeros((0, 2))
        reply = yield from self._ask_sides(
            texts, statements, relevance, _counts(2 * len(texts), passages)
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
        """``judge_sides`` of plain strings, in one call of the model.

        Args:
            texts: The texts to judge.
            statements: Two statements that contradict each other.
            relevance: Cosine of each text to the question, shape (n_texts,); NaN as in
                ``judge_sides``.

        Returns:
            P(support) of each statement, shape (n_texts, 2).
        """
        model = self._model()
        pairs = self._reading.cut_sides(model, texts, statements)
        logits = model.logits(pairs.documents, pairs.statements)
        return self._reading.side_support(model.labels, pairs, logits, relevance)

    def probabilities(self, texts: Sequence[str], statements: Sequence[str]) -> dict[str, Matrix]:
        """The same as ``pair_probabilities`` of every text beside every statement, each of shape
        (n_texts, n_statements).
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
        """Judges texts[i] beside statements[i].

        Args:
            texts: One for each pair.
            statements: One for each pair.

        Returns:
            P(support) and P(oppose) under "support" and "oppose", each of shape (n_pairs,); NaN
            where the model's numbers are not finite.
        """
        model = self._model()
        pairs = self._reading.cut_pairs(model, texts, statements)
        logits = model.logits(pairs.documents, pairs.statements)
        return self._reading.pair_support(model.labels, pairs, logits)

    def _ask_pairs(
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

    def _ask_sides(
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


def _counts(pairs: int, passages: Sequence[Passage]) -> dict[str, int]:
    long = len({each.text for each in passages if len(each.text) > LONGEST})
    return {"judged_pairs": pairs, **({"shortened_passages": long} if long else {})}


DEFAULT_MODEL = Path(__file__).parent / "default"


def _statement(perspective: Perspective) -> str:
    return perspective.claim if perspective.claim and perspective.stance else perspective.text


@cache
def packaged_judge() -> CrossEncoderJudge:
    """Returns the judge that comes with the package; all callers share one, loaded at first use.

    Raises:
        MissingDependency: What it runs on is not installed or does not load.
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
