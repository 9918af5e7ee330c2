"""From a pipeline, questions and marks to a calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from typing import Any

import numpy as np

from perspective_rag import (
    Calibration,
    ConfigError,
    ListingRule,
    Passage,
    Perspective,
    PerspectivePipeline,
)
from perspective_rag.addons import PACKAGED_FLOOR, Interval, RelevanceFloor, own_floor, rule_for
from perspective_rag.extend import Embedder, Judge
from perspective_rag_train.calibrate.asking import (
    TwoSided,
    compared,
    found,
    judged,
    marked_candidates,
    sentences_of,
)
from perspective_rag_train.calibrate.fit import (
    LEAST_MARKS,
    LOST,
    TRUE_SHARE,
    Listing,
    Marked,
    Scale,
    floor_of,
    listing_of,
)
from perspective_rag_train.calibrate.marks import MARKS, Row, chosen

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Calibrator:
    """A pipeline that searches by text and measures cosines with the encoder to be calibrated.

    ``encoder`` names that encoder; ``packaged`` is the one that comes with the package; ``seed``
    draws samples.
    """

    pipeline: PerspectivePipeline
    encoder: str
    packaged: Embedder
    seed: int = 13

    @property
    def judge(self) -> Judge:
        """The judge whose thresholds are set."""
        if self.pipeline.judge is None:
            raise ConfigError("a pipeline without a judge has no thresholds: pass judge=")
        return self.pipeline.judge

    def scale(self, passages: Sequence[Passage], questions: Sequence[str]) -> Scale:
        """What stands for the packaged encoder's floor among this encoder's cosines.

        From the questions, or from sentences of the corpus where there are fewer than ten.
        """
        if own_floor(self.pipeline.embedder) == PACKAGED_FLOOR:
            low, high = PACKAGED_FLOOR.passage, PACKAGED_FLOOR.topic
            return Scale(PACKAGED_FLOOR, Interval(low, low, low), Interval(high, high, high), 1.0)
        probes = [(each, "") for each in questions]
        if len(probes) < 10:
            probes += sentences_of(passages, seed=self.seed)
        return compared(self.pipeline, probes, self.packaged, seed=self.seed)

    def to_mark(
        self,
        questions: Sequence[TwoSided],
        scale: RelevanceFloor,
        size: int,
        on_progress: Progress = lambda stage, done, total: None,
    ) -> list[Row]:
        """Passages of the questions for a person to mark, most from where thresholds lie."""
        every, chances = [], []
        for number, question in enumerate(questions):
            on_progress("judging", number, len(questions))
            candidates = found(self.pipeline, question)
            if candidates:
                table = judged(self.judge, question.sides, candidates, scale)
                every += [(question, candidate.passage) for candidate in candidates]
                chances += table.max(axis=1).tolist()
        on_progress("judging", len(questions), len(questions))
        rule = self.rule()
        picks = chosen(chances, (rule.leaning, rule.threshold), size, seed=self.seed)
        return [
            Row(
                every[i][0].text,
                (every[i][0].sides[0].text, every[i][0].sides[1].text),
                every[i][1],
                stands_for,
            )
            for i, stands_for in picks
        ]

    def rule(self) -> ListingRule:
        """The judge's own rule for two sides that contradict each other."""
        return rule_for(self.judge, sides_of(("for", "against")), exclusive=True)

    def marked(self, rows: Sequence[Row], scale: RelevanceFloor) -> Marked:
        """The marked rows as the encoder and the judge see them."""
        groups: dict[tuple[str, tuple[str, str]], list[Row]] = {}
        for row in rows:
            if row.mark:
                groups.setdefault((row.question, row.sides), []).append(row)
        support, true, near, weights, place = [], [], [], [], []
        embedder = self.pipeline.embedder
        if embedder is None:
            raise ConfigError("a pipeline without an embedder has no floor: pass embedder=")
        for number, ((question, sides), of_question) in enumerate(groups.items()):
            candidates = marked_candidates(embedder, question, of_question)
            support.append(judged(self.judge, sides_of(sides), candidates, scale))
            near += [c.scores["relevance"] for c in candidates]
            true += [MARKS[row.mark] for row in of_question]
            weights += [row.stands_for for row in of_question]
            place += [number] * len(of_question)
        return Marked(
            np.concatenate(support) if support else np.zeros((0, 2)),
            np.array(true, dtype=bool).reshape(len(true), 2),
            np.array(near),
            np.array(weights),
            np.array(place, dtype=int),
        )

    def calibration(
        self, scale: Scale, rows: Sequence[Row], about: Mapping[str, Any]
    ) -> Calibration:
        """The calibration from the scale and what has been marked so far; ``about`` goes into its
        provenance.
        """
        marked = self.marked(rows, scale.floor)
        floor, listing = scale, None
        if len(marked.cosine):
            floor = floor_of(marked, scale.floor, seed=self.seed)
            listing = listing_of(marked, self.rule(), seed=self.seed)
        provenance = {
            **about,
            "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
            "seed": self.seed,
            "scale": _with_intervals(scale) | {"correlation": round(scale.correlation, 3)},
            "floor": _with_intervals(floor),
            "listing": _of_listing(listing),
            "marks": {
                "rows": len(rows),
                "marked": len(marked.cosine),
                "with_a_side": int(marked.true.any(axis=1).sum()),
                "questions": len(np.unique(marked.question)),
            },
            "wanted": {"true": TRUE_SHARE, "sides_lost": LOST, "least_marks": LEAST_MARKS},
        }
        return Calibration(
            self.encoder,
            self.judge.name,
            floor.floor,
            scale.floor,
            listing.rule if listing is not None else None,
            provenance,
        )


def sides_of(texts: tuple[str, str]) -> tuple[Perspective, Perspective]:
    """Two texts as sides that contradict each other."""
    return Perspective("for", texts[0]), Perspective("against", texts[1])


def _with_intervals(scale: Scale) -> dict[str, Any]:
    return {"passage": scale.passage.to_dict(), "topic": scale.topic.to_dict()}


def _of_listing(listing: Listing | None) -> dict[str, Any] | None:
    if listing is None:
        return None
    return {
        "rule": asdict(listing.rule),
        "threshold": listing.threshold.to_dict(),
        "true": listing.true.to_dict() if listing.true is not None else None,
        "listed": listing.listed,
    }
