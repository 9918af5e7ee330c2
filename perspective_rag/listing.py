"""When a passage is about a question and listed under a side, and what was set for one corpus."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError
from perspective_rag.storage.files import replace_file
from perspective_rag.validation import from_json

FORMAT = 1
"""Of the file of a calibration."""


@dataclass(frozen=True, slots=True)
class RelevanceFloor:
    """The cosines to the question, of one encoder, below which nothing is about it.

    A passage below ``passage`` is not about the question; where no candidate reaches ``topic``, the
    corpus says nothing about it. Higher: more is left out.
    """

    passage: float
    topic: float

    def __post_init__(self) -> None:
        if not -1.0 <= self.passage <= self.topic <= 1.0:
            raise ConfigError(f"expected -1 <= passage <= topic <= 1, got {self!r}")

    def moved(self, cosines: NDArray[np.floating[Any]], to: RelevanceFloor) -> NDArray[np.float64]:
        """Cosines of this encoder on the scale of another, along the line through both floors.

        Shape kept, cut to [-1, 1]; NaN where ``passage`` and ``topic`` are one: that is no line.
        """
        values = np.asarray(cosines, dtype=np.float64)
        if self == to:
            return values
        if self.topic == self.passage:
            return np.full_like(values, np.nan)
        slope = (to.topic - to.passage) / (self.topic - self.passage)
        return np.asarray(np.clip(to.passage + slope * (values - self.passage), -1.0, 1.0))


PACKAGED = RelevanceFloor(0.35, 0.55)
"""Of the encoder that comes with the package, to whose cosines judges are set.

Measured on the questions of ``benchmarks.sides``, passages read with their titles (without): over
their own passages 100% (98%) reach the topic floor, over a corpus that lacks their topics 9% (9%)
do; 99% (96%) of the passages that take a side reach the passage floor, and 75% (73%) of those that
take none.
"""


Verdict = Literal["clear", "leaning", "mixed", "silent", "unsorted"]
"""What a passage says of a perspective, by the judge.

clear: it supports it; leaning: perhaps; mixed: it seems to argue for and against; silent: surely
nothing; unsorted: the judge cannot tell, or did not read it. ``State`` says what people are told.
"""

State = Literal["takes a side", "argues both ways", "takes no side", "not sorted", "not judged"]
"""How a passage stands to the perspectives of a question.

takes a side: it is listed under a perspective; argues both ways: for and against one; takes no
side: it is about the question, and the judge is sure that it supports no perspective; not sorted:
the judge cannot tell; not judged: there was no judge, or nothing to judge.
"""


SILENT = 0.03
"""P(support) of every perspective below which a passage surely takes no side.

Of passages about the question, by the packaged judge: right for 52 of 52 below 0.03, for 84 of 89
below 0.05, for 144 of 162 below 0.1.
"""


@dataclass(frozen=True, slots=True)
class ListingRule:
    """When a passage is listed as support of a perspective, and what is said of it otherwise.

    - "clear", and listed: P(support) >= ``threshold``, and at least ``lead`` above P(support) of
      every perspective that contradicts it.
    - "mixed": it and a contradicting perspective both reach ``leaning``, and neither leads.
    - "leaning": P(support) >= ``leaning`` otherwise, and no contradicting perspective is ahead.
    - "silent": P(support) < ``silent``, or what contradicts it is clear.
    - "unsorted": all else.

    Attributes:
        threshold: In [0, 1]: P(support) from which a passage is listed. Higher: fewer passages are
            listed, and more of them support.
        leaning: In [0, ``threshold``]: P(support) from which a passage leans to a perspective.
        lead: In [0, 1]: how far P(support) must be above that of a contradicting perspective.
            Higher: fewer passages are listed, and more of them support.
        silent: In [0, 1]: P(support) below which a passage takes no side. Higher: more passages are
            said to take none, wrongly more often.

    Raises:
        ConfigError: A number is outside its range.
    """

    threshold: float
    leaning: float
    lead: float = 0.0
    silent: float = SILENT

    def __post_init__(self) -> None:
        ordered = 0.0 <= self.leaning <= self.threshold <= 1.0
        if not (ordered and 0.0 <= self.lead <= 1.0 and 0.0 <= self.silent <= 1.0):
            raise ConfigError(
                "expected 0 <= leaning <= threshold <= 1, lead and silent in [0, 1]; got "
                f"leaning={self.leaning!r}, threshold={self.threshold!r}, lead={self.lead!r}, "
                f"silent={self.silent!r}"
            )

    def listing_from(self, threshold: float) -> ListingRule:
        """The same rule with another threshold.

        Args:
            threshold: P(support) from which a passage is listed, in [0, 1].

        Returns:
            The rule; ``leaning`` is lowered to the threshold where it was above.
        """
        return replace(self, threshold=threshold, leaning=min(self.leaning, threshold))

    def moved(self, support: NDArray[np.floating[Any]], to: ListingRule) -> NDArray[np.float64]:
        """Moves probabilities from this rule's scale to that of another.

        ``silent``, ``leaning`` and ``threshold`` fall on the other's; what lies between is linear.

        Args:
            support: Probabilities in [0, 1], of any shape; NaN stays NaN.
            to: The rule to whose scale they are moved.

        Returns:
            Probabilities of the same shape.
        """
        own, wanted = (
            [0.0, min(r.silent, r.leaning), r.leaning, r.threshold, 1.0] for r in (self, to)
        )
        return np.asarray(np.interp(support, own, wanted), dtype=np.float64)

    def verdicts(
        self, support: NDArray[np.floating[Any]], contradicts: NDArray[np.bool_] | None = None
    ) -> NDArray[np.str_]:
        """The verdict on every passage and perspective.

        Args:
            support: P(support), shape (n_passages, n_perspectives); NaN = not judged, and
                "unsorted".
            contradicts: Which perspectives contradict each other, shape (n_perspectives,
                n_perspectives). None: none.

        Returns:
            "clear", "leaning", "mixed", "silent" or "unsorted", in the shape of ``support``.
        """
        known = np.where(np.isnan(support), 0.0, support)
        rivals = np.full_like(known, -np.inf)
        if contradicts is not None:
            for column in range(known.shape[1]):
                others = known[:, contradicts[column]]
                rivals[:, column] = others.max(axis=1, initial=-np.inf)
        ahead = known - rivals
        leans, rival_leans = known >= self.leaning, rivals >= self.leaning
        leads = _leads(ahead, self.lead)
        result = np.full(known.shape, "unsorted", dtype="<U8")
        result[~np.isnan(support) & (known < self.silent)] = "silent"
        result[leans & (ahead >= 0.0)] = "leaning"
        result[leans & rival_leans & ~leads & ~_leads(-ahead, self.lead)] = "mixed"
        clear = ~np.isnan(support) & (known >= self.threshold) & leads
        if contradicts is not None:
            result[clear.astype(int) @ contradicts.astype(int) > 0] = "silent"
        result[clear] = "clear"
        return result


def _leads(ahead: NDArray[np.floating[Any]], lead: float) -> NDArray[np.bool_]:
    return (ahead >= lead) & (ahead > 0.0)  # a tie is no lead, however small the lead asked for


@dataclass(frozen=True, slots=True)
class Calibration:
    """Floor and thresholds for an encoder and a judge on one corpus.

    ``perspective-rag calibrate`` makes one.

    Attributes:
        encoder: The name of the encoder.
        judge: The name of the judge.
        floor: The cosines of this encoder from which a passage is about the question.
        scale: What stands for the packaged encoder's floor among this encoder's cosines: a judge
            that counts relevance reads it on that scale.
        listing: When a passage is listed under one of two sides that contradict each other. None:
            as the judge says.
        provenance: How all that was found, and how sure it is.
    """

    encoder: str
    judge: str
    floor: RelevanceFloor
    scale: RelevanceFloor
    listing: ListingRule | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)

    @classmethod
    def of(cls, given: Calibration | Mapping[str, Any] | str | Path) -> Calibration:
        """A calibration from what stands for one.

        Args:
            given: A calibration, what ``to_dict`` returned, or the path of a file that ``save``
                wrote.

        Returns:
            The calibration.

        Raises:
            ConfigError: It is no calibration, cannot be read, or is of another format.
        """
        if isinstance(given, Calibration):
            return given
        name, stored = "calibration", given
        if isinstance(given, (str, Path)):
            name = str(given)
            try:
                stored = from_json(Path(given).read_text(encoding="utf-8"))
            except (OSError, ValueError) as error:
                raise ConfigError(
                    f"calibration {name!r} cannot be read: {error}; "
                    "perspective-rag calibrate writes such a file"
                ) from error
        if not isinstance(stored, Mapping):
            raise ConfigError(f"calibration must be a file or a mapping, got {given!r:.80}")
        if stored.get("format") != FORMAT:
            raise ConfigError(
                f"{name}: format {stored.get('format')!r} is not {FORMAT}: "
                "make it again with perspective-rag calibrate"
            )
        try:
            if not isinstance(provenance := stored.get("provenance") or {}, Mapping):
                raise TypeError(f"provenance must be a mapping, got {provenance!r:.40}")
            return cls(
                str(stored["encoder"]),
                str(stored["judge"]),
                RelevanceFloor(**stored["floor"]),
                RelevanceFloor(**stored["scale"]),
                ListingRule(**stored["listing"]) if stored.get("listing") else None,
                provenance,
            )
        except (KeyError, TypeError) as error:
            raise ConfigError(f"{name} is no calibration: {error!r}") from error

    def to_dict(self) -> dict[str, Any]:
        """The calibration as JSON-ready values."""
        return {
            "format": FORMAT,
            "encoder": self.encoder,
            "judge": self.judge,
            "floor": asdict(self.floor),
            "scale": asdict(self.scale),
            "listing": asdict(self.listing) if self.listing else None,
            "provenance": dict(self.provenance),
        }

    def save(self, path: str | Path) -> None:
        """Writes the file that ``of`` reads.

        Args:
            path: The file; one that is there is replaced.
        """
        replace_file(Path(path), json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n")
