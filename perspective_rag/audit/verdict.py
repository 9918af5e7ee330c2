"""What an audit comes to, in sentences, and against limits that can guard a build."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from perspective_rag.audit.figures import TELLING, AuditFigures
from perspective_rag.audit.intervals import Bounds, Interval
from perspective_rag.errors import between
from perspective_rag.types import Degradation

ENOUGH = 0.5
"""Minimum fraction of the questions in which the judge must find a side for limits to pass."""


@dataclass(frozen=True, slots=True)
class AuditVerdict:
    """What an audit comes to.

    ``outcome``: "passed" or "missed", the limits; "cannot tell", where the judge finds a side in
    too few questions for limits to mean anything; "measured", where no limits were given.
    ``sentence`` says it to a person, ``missed`` names the limits that were missed.
    """

    outcome: Literal["passed", "missed", "cannot tell", "measured"]
    sentence: str
    missed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditLimits:
    """What an audit must keep within; None checks nothing.

    - ``max_one_sided`` in [0, 1]: share of two-sided questions whose top k take one side only.
    - ``min_coverage`` in [0, 1]: share of questions whose top k take every perspective.
    - ``max_lean`` in [0, 1]: distance of the mean lean from even, to either side.
    - ``max_follows`` in [0, 1]: how far the wording may decide the side.
    """

    max_one_sided: float | None = None
    min_coverage: float | None = None
    max_lean: float | None = None
    max_follows: float | None = None

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if (value := getattr(self, name)) is not None:
                between(name, value)

    def verdict(self, figures: AuditFigures) -> AuditVerdict:
        """The limits against the figures.

        A question in which the judge finds no side is neither one-sided nor leaning. Where more
        than half of the questions are such, keeping within a limit says nothing, and missing the
        coverage may be the judge's doing: that is "cannot tell". A one-sidedness or a lean beyond
        its limit is there all the same, and is "missed".
        """
        missed = tuple(self.missed(figures))
        finding = _finding(figures)
        asked, told = figures.total.with_perspectives, figures.total.told
        blind = told < ENOUGH * asked or not asked
        if missed and not (blind and all(each.startswith("coverage") for each in missed)):
            said = f"{finding} Limits missed: {len(missed)}."
            return AuditVerdict("missed", said, missed)
        if all(getattr(self, name) is None for name in self.__slots__):
            return AuditVerdict("measured", finding)
        if blind:
            said = (
                f"Cannot tell: in {asked - told} of {counted(asked)} the judge finds no side in "
                f"the first {figures.k} passages, so the limits say nothing. Use a stronger "
                "--judge, or read some of the passages."
            )
            return AuditVerdict("cannot tell", said, missed)
        return AuditVerdict("passed", f"{finding} Within all limits.")

    def missed(self, figures: AuditFigures) -> list[str]:
        """What lies outside the limits, one sentence each; a figure that is not there is missed."""
        total = figures.total
        checks = (
            ("one-sided questions", total.one_sided, self.max_one_sided, "at most"),
            ("coverage", total.coverage, self.min_coverage, "at least"),
            ("lean", total.lean, self.max_lean, "at most"),
            ("following the wording", total.follows, self.max_follows, "at most"),
        )
        found = []
        for name, value, limit, bound in checks:
            if limit is None:
                continue
            if value is None:
                found.append(f"{name}: no question to measure it on, the limit is {limit:g}")
            elif value.mean < limit if bound == "at least" else abs(value.mean) > limit:
                found.append(f"{name}: {value.mean:.3f}, {bound} {limit:g} was asked for")
        return found


def _finding(figures: AuditFigures) -> str:
    """The one sentence that stands first."""
    total = figures.total
    if not total.two_sided:
        if total.coverage is None:
            return "No question had perspectives to look for."
        return f"{bounds(total.coverage)} of the questions show every perspective."
    one, both = total.outcomes.one_sided, total.outcomes.both
    rest = total.two_sided - one - both
    return (
        f"Of {counted(total.two_sided)}, the first {figures.k} passages show both sides of {both} "
        f"and one side alone of {one}{f'; of {rest} the judge cannot tell' if rest else ''}."
    )


def sentences(figures: AuditFigures) -> list[str]:
    """The answers to the questions an audit is made for."""
    total, k = figures.total, figures.k
    outcomes, two = total.outcomes, total.two_sided
    result = []
    if two:
        counts = total.passages
        favoured = {"support": "the supporting one", "oppose": "the opposing one"}
        towards = favoured.get(total.favours or "", "neither beyond chance")
        if two < TELLING:
            towards = f"cannot be told from fewer than {TELLING} two-sided questions"
        result += [
            f"One-sided: {outcomes.one_sided} of {two} two-sided questions "
            f"({bounds(total.one_sided)}) get one side only in their first {k} passages, "
            f"{outcomes.both} get both, {outcomes.neither + outcomes.nothing} neither.",
            f"Favoured side: {towards}; {counts.support} passages support, "
            f"{counts.oppose} oppose, {counts.mixed} argue both "
            f"(lean {number(total.lean)}).",
            f"Wording: following is {number(total.follows)}, where 0 means that asking as a "
            "supporter or as an opponent changes nothing and 1 that it decides the side.",
        ]
    if total.coverage is not None:
        needed = total.needed
        median = "none" if needed.median is None else f"{needed.median:g}"
        result.append(
            f"Coverage: {bounds(total.coverage)} of {total.with_perspectives} questions have "
            f"every perspective in the first {k} passages; the median of passages needed is "
            f"{median}, and {needed.not_reached} need more than {figures.depth}."
        )
    if total.says_nothing:
        result.append(
            f"Nothing said: for {counted(len(total.says_nothing))} no passage of the first "
            f"{figures.depth} speaks to any side, and the judge is sure of each; of the other "
            f"questions, {bounds(total.coverage_where_said)} have every perspective."
        )
    if total.short:
        result.append(
            f"Short: {counted(len(total.short))} got fewer than {k} passages, and "
            f"{total.nothing_found} of them none at all."
        )
    if figures.error:
        listing = figures.error.listing
        result.append(
            f"Errors of the judge: {100 * listing.opposing:.0f}% of what it lists takes the other "
            f"side and {100 * listing.silent:.0f}% none ({listing.source}). With such errors, "
            f"one-sided questions may be {percents(figures.error.one_sided)} and the "
            f"lean {signed(figures.error.lean)}; what it does not list is left out of account."
        )
    elif two:
        result.append("Errors of the judge: not known for this judge; read some of the passages.")
    if total.failed:
        result.append(f"Left out: {counted(len(total.failed))} whose search failed.")
    if total.without_perspectives:
        count = counted(len(total.without_perspectives))
        result.append(f"Left out: {count} without perspectives; write them yourself.")
    return result


def counted(questions: int) -> str:
    """ "1 question", "2 questions"."""
    return f"{questions} question{'' if questions == 1 else 's'}"


def bounds(value: Interval | None) -> str:
    """A share with its interval, in percent; a dash where not known, here and below."""
    if value is None:
        return "–"
    return f"{100 * value.mean:.0f}% [{100 * value.low:.0f}, {100 * value.high:.0f}]"


def percents(value: Bounds | None) -> str:
    """The bounds of a share: "8 to 25%"."""
    return "–" if value is None else f"{100 * value.low:.0f} to {100 * value.high:.0f}%"


def signed(value: Bounds | None) -> str:
    """The bounds of a signed figure: "-0.10 to +0.20"."""
    return "–" if value is None else f"{value.low:+.2f} to {value.high:+.2f}"


def number(value: Interval | None) -> str:
    """A signed figure with its interval."""
    if value is None:
        return "–"
    return f"{value.mean:+.2f} [{value.low:+.2f}, {value.high:+.2f}]"


def problem_line(problem: Degradation) -> str:
    """A degradation in a line, with the error behind it unless its message holds that already."""
    said = f"{problem.stage}: {problem.message}"
    error = problem.to_dict()["error"]
    inner = error.partition("(")[2].removesuffix(")").strip("'\"")
    return said if not error or (inner and inner in said) else f"{said} ({error})"
