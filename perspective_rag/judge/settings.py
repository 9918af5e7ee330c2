"""The settings that lie beside a judge's weights."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag.errors import ConfigError, between, count, is_number
from perspective_rag.text import from_json
from perspective_rag.types import ListingRule, Matrix

FILE = "judge.json"
OFFSET = "second_text_offset"
"""In ``FILE``: what a server adds to the ids of the second text."""


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What goes with a model's weights: ``judge.json`` in its folder, or these defaults.

    ``temperature`` divides the logits before the softmax; ``neutral_bias`` is then added to that of
    neutral, for passages are neutral more often where the judge is used than where it learned
    (higher: less support and less opposition); ``threshold`` is the P(support) from which a passage
    counts as supporting; ``max_words`` is the window in which a long passage is read, ``overlap``
    the most words at its start that repeat the window before, ``long_words`` the window of a text
    of more than ``windows.LONG`` words, most of which is silent; ``max_tokens`` is the longest
    input of the model. ``version`` names weights and settings together, for what is kept of them.
    ``listing`` is the P(support) from which a passage is listed (None: ``threshold``), and ``lead``
    how far that must be above a contradicting perspective's.
    """

    threshold: float = 0.5
    temperature: float = 1.0
    neutral_bias: float = 0.0
    max_tokens: int = 256
    max_words: int = 140
    long_words: int = 80
    overlap: int = 0
    version: str = ""
    listing: float | None = None
    lead: float = 0.0

    @classmethod
    def of(cls, folder: Path) -> JudgeSettings:
        """The settings stored in a folder; the defaults where it holds none.

        Raises ConfigError for a file that holds something else.
        """
        stored = stored_in(folder)
        made = cls(**{name: stored[name] for name in cls.__slots__ if name in stored})
        defaults = cls()
        for name in cls.__slots__:
            value, usual = getattr(made, name), getattr(defaults, name)
            if not _is_like(value, usual):
                raise ConfigError(f"{folder / FILE}: {name} must be like {usual!r}, got {value!r}")
        return made


def _is_like(value: Any, usual: Any) -> bool:
    """Whether a value can stand where the defaults have ``usual``."""
    if isinstance(usual, str):
        return isinstance(value, str)
    if isinstance(usual, int):
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return (value is None and usual is None) or (is_number(value) and math.isfinite(value))


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


_LEAST = 1e-4  # probabilities nearer to 0 or 1 count as this near


@dataclass(frozen=True, slots=True)
class SideWeights:
    """How the readings of two contradicting sides A and B count for each of them.

    P(supports A) is the logistic function of

        own x(A) + rival x(B) + fast f(A) + fast_rival f(B) + bias
        + r (personal + own_personal x(A) + fast_personal f(A))

    and for B the same with A and B exchanged; x is the log-odds of the larger judge, f that of the
    fast one, r how personal the passage is (``personal``): in letters and talk both judges are
    surer than they are right.
    """

    own: float = 1.0
    rival: float = 0.0
    fast: float = 0.0
    fast_rival: float = 0.0
    bias: float = 0.0
    personal: float = 0.0
    own_personal: float = 0.0
    fast_personal: float = 0.0

    def support(self, larger: Matrix, texts: Sequence[str], fast: Matrix | None = None) -> Matrix:
        """P(supports A), P(supports B), shape (n, 2), from each judge's own, of the same shape, and
        from the n texts that they read.
        """
        r = np.array([[personal(text)] for text in texts]).reshape(-1, 1)
        x = log_odds(larger)
        evidence = (self.own + self.own_personal * r) * x + self.rival * x[:, ::-1]
        evidence += self.bias + self.personal * r
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


@dataclass(frozen=True, slots=True)
class Weighing:
    """Weights of the readings, and when what they give is listed."""

    weights: SideWeights
    rule: ListingRule

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Weighing:
        """From what ``judge.json`` holds."""
        return cls(SideWeights(**stored["weights"]), ListingRule(**stored["rule"]))

    def stored(self) -> dict[str, Any]:
        """What ``judge.json`` holds."""
        return {"weights": _rounded(self.weights), "rule": _rounded(self.rule)}


UNFITTED = Weighing(SideWeights(), ListingRule(0.9, 0.5))
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
    alone: Weighing = UNFITTED
    beside_fast: Weighing | None = None
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
        stored = stored_in(folder)
        try:
            values = {name: stored[name] for name in cls.__slots__ if name in stored}
            for name in ("alone", "beside_fast"):
                if values.get(name) is not None:
                    values[name] = Weighing.of(values[name])
            return cls(**values)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"{folder / FILE} cannot be read: {error!r}") from error

    def document(self, provenance: Mapping[str, Any]) -> str:
        """The text of ``judge.json``: settings and where they come from."""
        values: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        values["alone"] = self.alone.stored()
        values["beside_fast"] = self.beside_fast.stored() if self.beside_fast else None
        values["provenance"] = dict(provenance)
        return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def _rounded(values: SideWeights | ListingRule) -> dict[str, float]:
    return {name: round(float(value), 4) for name, value in asdict(values).items()}
