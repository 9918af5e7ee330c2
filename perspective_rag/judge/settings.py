"""The settings that lie beside a judge's weights."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from perspective_rag.errors import ConfigError, between, count
from perspective_rag.text import from_json
from perspective_rag.types import ListingRule, Matrix, Vector

FILE = "judge.json"
OFFSET = "second_text_offset"
"""In ``FILE``: what a server adds to the ids of the second text."""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What goes with a model's weights: ``judge.json`` in its folder, or these defaults.

    ``temperature`` divides the logits before the softmax; ``neutral_bias`` is then added to that of
    neutral, for passages are neutral more often where the judge is used than where it learned
    (higher: less support and less opposition); ``threshold`` is the P(support) from which a passage
    counts as supporting; ``max_words`` is the window in which a long passage is read,
    ``long_words`` that of a text of more than ``windows.LONG`` words, most of which is silent;
    ``max_tokens`` is the longest input of the model. ``version`` names weights and settings
    together, for what is kept of them. ``listing`` is the P(support) from which a passage is listed
    (None: ``threshold``), and ``lead`` how far that must be above a contradicting perspective's.
    """

    threshold: float = 0.5
    temperature: float = 1.0
    neutral_bias: float = 0.0
    max_tokens: int = 256
    max_words: int = 140
    long_words: int = 80
    version: str = ""
    listing: float | None = None
    lead: float = 0.0

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_words", "long_words"):
            count(name, getattr(self, name))
        between("temperature", self.temperature, 1e-3, 1e3)
        between("neutral_bias", self.neutral_bias, -1e3, 1e3)
        for name in ("threshold", "lead"):
            between(name, getattr(self, name))
        if self.listing is not None:
            between("listing", self.listing)

    @classmethod
    def of(cls, folder: Path) -> JudgeSettings:
        """The settings stored in a folder; the defaults where it holds none.

        Raises ConfigError for a file that holds something else.
        """
        return _read(folder, lambda stored: cls(**_known(cls, stored)))


S = TypeVar("S")


def _read(folder: Path, make: Callable[[dict[str, Any]], S]) -> S:
    """What ``make`` makes of ``stored_in``; raises ConfigError where it can make nothing of it."""
    stored = stored_in(folder)
    try:
        return make(stored)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ConfigError(f"{folder / FILE} cannot be read: {error}") from error


def _known(kind: type, stored: Mapping[str, Any]) -> dict[str, Any]:
    """What is stored of the fields of a dataclass."""
    return {each.name: stored[each.name] for each in fields(kind) if each.name in stored}


def stored_in(folder: Path) -> dict[str, Any]:
    """What the ``judge.json`` of a folder holds; nothing where there is none.

    Raises ConfigError for a file that cannot be read.
    """
    path = folder / FILE
    if not path.is_file():
        return {}
    try:
        stored = from_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from error
    if not isinstance(stored, dict):
        raise ConfigError(f"{path} must hold an object, got a {type(stored).__name__}")
    return stored


W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class Weighing(Generic[W]):
    """Weights of the readings of two sides, and when what they give is listed."""

    weights: W
    rule: ListingRule

    def stored(self) -> dict[str, dict[str, float]]:
        """What ``judge.json`` holds."""
        return {
            part: {name: round(float(value), 4) for name, value in values.items()}
            for part, values in asdict(self).items()
        }


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

    A passage is listed under the likelier statement from P >= the file's ``listing``, the threshold
    of the rule; it leans to it from ``searching``. ``alone`` weighs the two readings, ``relevant``
    these and the cosine of question and passage with its title, by the packaged encoder; each has
    its own thresholds.
    """

    alone: Weighing[TwoSides]
    relevant: Weighing[TwoSides] | None = None

    @classmethod
    def of(cls, folder: Path) -> TwoSidedSettings | None:
        """The settings in the folder's ``judge.json``; None where it holds none.

        Raises ConfigError for others.
        """

        def weighed(found: Mapping[str, Any]) -> Weighing[TwoSides]:
            weights = {name: float(value) for name, value in found["weights"].items()}
            rule = ListingRule(float(found["listing"]), float(found["searching"]))
            return Weighing(TwoSides(**_known(TwoSides, weights)), rule)

        def made(stored: Mapping[str, Any]) -> TwoSidedSettings | None:
            found = stored.get("two_sides")
            if found is None:
                return None
            relevant = found.get("relevant")
            return cls(weighed(found["alone"]), weighed(relevant) if relevant else None)

        return _read(folder, made)

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
        own, wanted = (
            [0.0, each.rule.leaning, each.rule.threshold, 1.0]
            for each in (self.alone, self.relevant)
        )
        return np.asarray(np.interp(alone, own, wanted))


_LEAST = 1e-4  # probabilities nearer to 0 or 1 count as this near


@dataclass(frozen=True, slots=True)
class SideWeights:
    """How the readings of two contradicting sides A and B count for each of them.

    P(supports A) is the logistic function of

        own x(A) + rival x(B) + fast f(A) + fast_rival f(B) + bias
        + r (personal + own_personal x(A) + fast_personal f(A)) + relevance (c - usual)

    and for B the same with A and B exchanged; x is the log-odds of the larger judge, f that of the
    fast one, r how personal the passage is (``personal``), c the cosine of passage and question
    (``usual`` where it is not known). Both judges are surer than they are right in letters and
    talk, and of arguments about a neighbouring question.
    """

    own: float = 1.0
    rival: float = 0.0
    fast: float = 0.0
    fast_rival: float = 0.0
    bias: float = 0.0
    personal: float = 0.0
    own_personal: float = 0.0
    fast_personal: float = 0.0
    relevance: float = 0.0
    usual: float = 0.0

    def support(
        self,
        larger: Matrix,
        texts: Sequence[str],
        relevance: Vector,
        fast: Matrix | None = None,
    ) -> Matrix:
        """P(supports A), P(supports B), shape (n, 2), from each judge's own, of the same shape, and
        from the n texts that they read and these texts' ``relevance`` (n,), NaN where unknown.
        """
        r = np.array([[personal(text)] for text in texts]).reshape(-1, 1)
        x = log_odds(larger)
        evidence = (self.own + self.own_personal * r) * x + self.rival * x[:, ::-1]
        evidence += self.bias + self.personal * r
        evidence += self.relevance * np.nan_to_num(np.asarray(relevance) - self.usual)[:, None]
        if fast is not None:
            f = log_odds(fast)
            evidence += (self.fast + self.fast_personal * r) * f + self.fast_rival * f[:, ::-1]
        return np.asarray(1.0 / (1.0 + np.exp(-evidence)))


_WORD = re.compile(r"[a-z']+")
_PERSONAL = frozenset("i i'm i've i'd my me mine we us our you your he she".split())


def personal(text: str) -> float:
    """How personal a text is: of ten words, how many are pronouns of persons."""
    words = _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    return 10.0 * sum(word in _PERSONAL for word in words) / max(1, len(words))


def log_odds(probability: Matrix) -> Matrix:
    """log p - log (1 - p), the same shape; NaN stays NaN."""
    known = np.clip(np.asarray(probability, dtype=np.float64), _LEAST, 1.0 - _LEAST)
    return np.asarray(np.log(known) - np.log1p(-known))


UNFITTED: Weighing[SideWeights] = Weighing(SideWeights(), ListingRule(0.9, 0.5))
"""The judge's own probabilities, for weights whose thresholds have not been fitted."""


@dataclass(frozen=True, slots=True)
class LargerSettings:
    """What goes with the weights: ``judge.json`` in their folder, or these defaults.

    ``max_tokens`` is the longest input, of which each statement has at most ``statement_tokens``;
    ``max_words`` is the window in which a long passage is read; ``temperature`` divides the
    logits before the softmax; where the log-odds of the two sides differ by less than ``close``,
    the passage is read beside the statements in the other order too, and both readings are
    averaged. ``alone`` weighs the readings where nothing else is known, ``beside_fast`` where the
    fast judge has read the same (None: as ``alone``). ``version`` names weights and settings
    together.
    """

    max_tokens: int = 192
    statement_tokens: int = 40
    max_words: int = 120
    temperature: float = 1.0
    close: float = 2.0
    alone: Weighing[SideWeights] = UNFITTED
    beside_fast: Weighing[SideWeights] | None = None
    version: str = ""

    def __post_init__(self) -> None:
        count("statement_tokens", self.statement_tokens)
        count("max_tokens", self.max_tokens, least=3 * self.statement_tokens + 4)
        count("max_words", self.max_words)
        between("temperature", self.temperature, 0.01, 100.0)
        between("close", self.close, 0.0, float("inf"))

    @classmethod
    def of(cls, folder: Path) -> LargerSettings:
        """The settings stored in a folder; the defaults where it holds none.

        Raises ConfigError for a file that holds something else.
        """

        def made(stored: dict[str, Any]) -> LargerSettings:
            values = _known(cls, stored)
            for name in ("alone", "beside_fast"):
                if (found := values.get(name)) is not None:
                    rule = ListingRule(**found["rule"])
                    values[name] = Weighing(SideWeights(**found["weights"]), rule)
            return cls(**values)

        return _read(folder, made)

    def document(self, provenance: Mapping[str, Any]) -> str:
        """The text of ``judge.json``: settings and where they come from."""
        values = asdict(self)
        values["alone"] = self.alone.stored()
        values["beside_fast"] = self.beside_fast.stored() if self.beside_fast else None
        values["provenance"] = dict(provenance)
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"
