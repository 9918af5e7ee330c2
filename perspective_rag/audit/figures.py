"""The figures of an audit: for each question, and in total with bootstrap intervals."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perspective_rag.audit.intervals import (
    Interval,
    JudgeErrors,
    ListingError,
    interval,
    judge_errors,
)
from perspective_rag.audit.measure import NEUTRAL, Audited, Measured, Ranking
from perspective_rag.audit.questions import AuditQuestion
from perspective_rag.judge.support import contradictions
from perspective_rag.text import json_ready
from perspective_rag.types import Degradation, ListingRule, Passage, Stance

TELLING = 6
"""Questions from which on a side is said to be favoured: five that all lean to one side do so by
chance once in 16 times (sign test, p = 2 / 2^5), six once in 32."""

WORDINGS = (NEUTRAL, "support", "oppose")


@dataclass(frozen=True, slots=True)
class SideCounts:
    """How many passages take which side; ``neither``: none, or the judge cannot tell."""

    support: int
    oppose: int
    mixed: int
    neither: int


@dataclass(frozen=True, slots=True)
class AuditedPassage:
    """A passage among the first k, with the judge's verdict word by perspective id."""

    passage: Passage
    verdicts: Mapping[str, str] = field(hash=False)

    @property
    def supports(self) -> list[str]:
        """The ids of the perspectives that it is listed under."""
        return [identity for identity, word in self.verdicts.items() if word == "clear"]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "id": self.passage.id,
            "title": self.passage.title,
            "text": self.passage.text,
            "supports": self.supports,
            "verdicts": self.verdicts,
        }


@dataclass(frozen=True, slots=True)
class WordingFigures:
    """The first k passages for one wording of a question; without two sides ``sides`` and ``lean``
    are None.
    """

    asked: str
    sides: SideCounts | None
    lean: float | None
    passages: tuple[AuditedPassage, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        sides = asdict(self.sides) | {"lean": self.lean} if self.sides else {}
        return {"asked": self.asked, **sides, "passages": [p.to_dict() for p in self.passages]}


@dataclass(frozen=True, slots=True)
class QuestionFigures:
    """What was found for a question; of one whose search failed, ``error`` alone.

    ``coverage`` is None without perspectives, ``outcome`` and ``follows`` without two sides;
    ``covered`` holds the ids of the perspectives that the first k passages take.
    """

    question: AuditQuestion
    error: str = ""
    wordings: Mapping[str, WordingFigures] = field(default_factory=dict, hash=False)
    coverage: float | None = None
    covered: tuple[str, ...] = ()
    says_nothing: bool = False
    needed: int | None = None
    outcome: str | None = None
    follows: float | None = None
    seconds: float = 0.0

    @property
    def neutral(self) -> WordingFigures:
        """The figures of the question as it stands."""
        return self.wordings[NEUTRAL]

    @property
    def told(self) -> bool:
        """Whether any of the first k passages takes a side, or argues for two."""
        sides = self.neutral.sides
        return bool(self.covered) or (sides is not None and sides.mixed > 0)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        line = {**self.question.to_dict(), "error": self.error}
        if self.error:
            return line
        line["wordings"] = {name: each.to_dict() for name, each in self.wordings.items()}
        names = ("coverage", "covered", "says_nothing", "needed", "outcome", "follows", "seconds")
        return line | {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How many two-sided questions have which outcome."""

    both: int
    support: int
    oppose: int
    neither: int
    nothing: int

    @property
    def one_sided(self) -> int:
        """The questions that show one side alone."""
        return self.support + self.oppose


@dataclass(frozen=True, slots=True)
class Needed:
    """The median of ``QuestionFigures.needed``, and how many questions have one."""

    median: float | None
    reached: int
    not_reached: int


@dataclass(frozen=True, slots=True)
class Seconds:
    """What a search took; None where none succeeded."""

    mean: float | None
    p95: float | None


@dataclass(frozen=True, slots=True)
class CurvePoint(Interval):
    """The share of the questions whose first ``k`` passages take every perspective."""

    k: int


@dataclass(frozen=True, slots=True)
class TotalFigures:
    """An audit over all questions; a mean is None where there is no question to take it of."""

    questions: int
    failed: tuple[str, ...]
    without_perspectives: tuple[str, ...]
    short: tuple[str, ...]
    nothing_found: int
    says_nothing: tuple[str, ...]
    with_perspectives: int
    told: int
    two_sided: int
    outcomes: Outcomes
    one_sided: Interval | None
    passages: SideCounts
    lean: Interval | None
    favours: Stance | None
    leans: Mapping[str, Interval | None] = field(hash=False)
    follows: Interval | None
    coverage: Interval | None
    coverage_where_said: Interval | None
    needed: Needed
    curve: tuple[CurvePoint, ...]
    seconds: Seconds


@dataclass(frozen=True, slots=True)
class AuditFigures:
    """All figures of an audit; ``audit_figures`` says what each means."""

    k: int
    depth: int
    rule: ListingRule | None
    judged_pairs: int
    total: TotalFigures
    error: JudgeErrors | None
    questions: tuple[QuestionFigures, ...]
    degradations: tuple[Degradation, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready: what ``audit.json`` holds."""
        document: dict[str, Any] = json_ready(
            {
                "k": self.k,
                "depth": self.depth,
                "threshold": self.rule.threshold if self.rule else None,
                "rule": asdict(self.rule) if self.rule else None,
                "judged_pairs": self.judged_pairs,
                "total": asdict(self.total),
                "error": self.error.to_dict() if self.error else None,
                "questions": [each.to_dict() for each in self.questions],
                "degradations": [each.to_dict() for each in self.degradations],
            }
        )
        return document


def audit_figures(
    measured: Measured,
    *,
    k: int,
    depth: int,
    seed: int = 13,
    listing_error: ListingError | None = None,
) -> AuditFigures:
    """``questions`` one by one, ``total``, and the passages shown.

    A passage takes a perspective where the judge's listing rule lists it ("clear"): of two sides
    that contradict each other it takes one at most, and is "mixed" where it argues for both. With p
    and n the passages among the first k that take the supporting and the opposing perspective,
    the lean of a ranking is (p - n) / k, in [-1, 1]: 1 means that all support. An outcome is
    "both", "support", "oppose" or "neither", by what the first k take (BERDS, Figure 2), or
    "nothing" where all passages found, down to ``depth``, are silent on every side; one-sided are
    "support" and "oppose". Following the wording is half of the lean asked as a supporter would
    less the lean asked as an opponent would, in [-1, 1]: 0 means that the wording changes nothing,
    1 that it decides everything (BERDS, section 8, asks in this way). ``needed`` is how many
    passages from the top take all perspectives, None where ``depth`` do not. ``coverage`` is
    MRecall@k for a question with no more than k perspectives: 1 when all are taken;
    ``coverage_where_said`` leaves out the questions with the outcome "nothing". ``told`` counts the
    questions whose first k passages take a side as far as the judge can tell. ``rule`` is that of
    the first two-sided question (a judge may have another for perspectives that it reads alone).
    ``listing_error`` is what is known of the judge's errors: ``error`` says how far the figures may
    be off by it (None: not known).
    """
    rows = tuple(_question(each, k) for each in measured.audited)
    rules = sorted(measured.audited, key=lambda each: each.question.sides is None)
    neutral = [sides for row in rows if not row.error and (sides := row.neutral.sides)]
    error = None
    if listing_error is not None and neutral:
        listed = np.array([[each.support, each.oppose] for each in neutral])
        error = judge_errors(listed, listing_error, k, seed)
    return AuditFigures(
        k,
        depth,
        rules[0].rule if rules else None,
        measured.judged_pairs,
        _total(rows, k, depth, seed),
        error,
        rows,
        tuple(measured.degradations),
    )


def worst(questions: Sequence[QuestionFigures], count: int = 10) -> list[QuestionFigures]:
    """Those with the least coverage, then the most one-sided, then the latest to be covered."""

    def badness(each: QuestionFigures) -> tuple[float, float, float]:
        needed = each.needed if each.needed is not None else float("inf")
        return each.coverage or 0.0, -abs(each.neutral.lean or 0.0), -needed

    return sorted((each for each in questions if each.coverage is not None), key=badness)[:count]


def _question(audited: Audited, k: int) -> QuestionFigures:
    question, rule = audited.question, audited.rule
    if audited.error:
        return QuestionFigures(question, audited.error)
    neutral = audited.rankings[NEUTRAL]
    verdicts = _verdicts(question, neutral, rule)
    takes = verdicts == "clear"
    covered: list[bool] = takes[:k].any(axis=0).tolist()
    known = not np.isnan(neutral.support).any()
    silent = known and bool((verdicts == "silent").all()) and bool(question.perspectives)
    # The row from whose number on, counted from 1, every column has been true.
    complete = takes.size > 0 and bool(takes.any(axis=0).all())
    needed = int(takes.argmax(axis=0).max()) + 1 if complete else None
    wordings = {
        wording: _wording(question, ranking, rule, k)
        for wording, ranking in audited.rankings.items()
    }
    leans = {wording: each.lean for wording, each in wordings.items() if each.lean is not None}
    return QuestionFigures(
        question,
        wordings=wordings,
        coverage=float(all(covered)) if question.perspectives else None,
        covered=tuple(p.id for p, yes in zip(question.perspectives, covered, strict=True) if yes),
        says_nothing=silent,
        needed=needed,
        outcome=_outcome(sides, silent) if (sides := wordings[NEUTRAL].sides) else None,
        follows=(leans["support"] - leans["oppose"]) / 2 if leans else None,
        seconds=round(neutral.seconds, 6),
    )


def _verdicts(question: AuditQuestion, ranking: Ranking, rule: ListingRule) -> NDArray[np.str_]:
    """The verdict words, shape (n_passages, n_perspectives); two sides contradict each other."""
    if question.sides is not None:
        contradicts = ~np.eye(2, dtype=bool)
    else:
        contradicts = contradictions(question.perspectives)
    return rule.verdicts(ranking.support, contradicts)


def _wording(
    question: AuditQuestion, ranking: Ranking, rule: ListingRule, k: int
) -> WordingFigures:
    verdicts = _verdicts(question, ranking, rule)[:k]
    sides = lean = None
    if question.sides is not None:
        takes = verdicts == "clear"
        p, n = (int(takes[:, question.perspectives.index(side)].sum()) for side in question.sides)
        mixed = (verdicts == "mixed").any(axis=1)
        neither = int((~takes.any(axis=1) & ~mixed).sum())
        sides, lean = SideCounts(p, n, int(mixed.sum()), neither), (p - n) / k
    ids = [each.id for each in question.perspectives]
    passages = (
        AuditedPassage(passage, dict(zip(ids, words, strict=True)))
        for passage, words in zip(ranking.passages[:k], verdicts.tolist(), strict=True)
    )
    return WordingFigures(ranking.asked, sides, lean, tuple(passages))


def _outcome(sides: SideCounts, silent: bool) -> str:
    if silent:
        return "nothing"
    if sides.support and sides.oppose:
        return "both"
    return "support" if sides.support else "oppose" if sides.oppose else "neither"


def _total(rows: Sequence[QuestionFigures], k: int, depth: int, seed: int) -> TotalFigures:
    def mean(values: Iterable[float | None]) -> Interval | None:
        """Over the questions that have a value."""
        known = [value for value in values if value is not None]
        if not known:
            return None
        # To the places of audit.json, so that limits are held against what it says.
        return interval(known, seed=seed, resamples=2_000).rounded()

    asked = [row for row in rows if not row.error]
    sided = [row for row in asked if row.coverage is not None]
    two = [row for row in sided if row.outcome is not None]
    counted = Counter(row.outcome for row in two)
    shown = [row.neutral.sides for row in two if row.neutral.sides is not None]
    leans = {wording: mean(row.wordings[wording].lean for row in two) for wording in WORDINGS}
    reached = [row.needed for row in sided if row.needed is not None]
    curve = (
        (cut, mean(float(row.needed is not None and row.needed <= cut) for row in sided))
        for cut in range(1, depth + 1)
    )
    seconds = [row.seconds for row in asked]
    return TotalFigures(
        questions=len(rows),
        failed=tuple(row.question.id for row in rows if row.error),
        without_perspectives=tuple(row.question.id for row in asked if row.coverage is None),
        short=tuple(row.question.id for row in asked if len(row.neutral.passages) < k),
        nothing_found=sum(not row.neutral.passages for row in asked),
        says_nothing=tuple(row.question.id for row in sided if row.says_nothing),
        with_perspectives=len(sided),
        told=sum(row.told for row in sided),
        two_sided=len(two),
        outcomes=Outcomes(*(counted[each.name] for each in fields(Outcomes))),
        one_sided=mean(float(row.outcome in ("support", "oppose")) for row in two),
        passages=SideCounts(
            *(sum(getattr(each, name.name) for each in shown) for name in fields(SideCounts))
        ),
        lean=leans[NEUTRAL],
        favours=_favours(leans[NEUTRAL], len(two)),
        leans=leans,
        follows=mean(row.follows for row in two),
        coverage=mean(row.coverage for row in sided),
        coverage_where_said=mean(row.coverage for row in sided if not row.says_nothing),
        needed=Needed(
            statistics.median(reached) if reached else None,
            len(reached),
            len(sided) - len(reached),
        ),
        curve=tuple(CurvePoint(**asdict(share), k=cut) for cut, share in curve if share),
        seconds=Seconds(
            round(statistics.fmean(seconds), 6) if seconds else None,
            round(float(np.percentile(seconds, 95)), 6) if seconds else None,
        ),
    )


def _favours(lean: Interval | None, questions: int) -> Stance | None:
    """The side that the interval of the mean lean lies on; None where it holds zero, and for fewer
    questions than ``TELLING``.
    """
    if lean is None or questions < TELLING or lean.low <= 0 <= lean.high:
        return None
    return "support" if lean.mean > 0 else "oppose"
