"""What an audit comes to, in sentences, and against limits that can guard a build."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from perspective_rag.audit.figures import TELLING
from perspective_rag.validation import between

Figures = Mapping[str, Any]


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
        for name in ("max_one_sided", "min_coverage", "max_lean", "max_follows"):
            value = getattr(self, name)
            if value is not None:
                between(name, value)

    def missed(self, figures: Figures) -> list[str]:
        """What lies outside the limits, one sentence each; a figure that is not there is missed."""
        total = figures["total"]
        checks = (
            ("one-sided questions", total["one_sided"], self.max_one_sided, False),
            ("coverage", total["coverage"], self.min_coverage, True),
            ("lean", total["lean"], self.max_lean, False),
            ("following the wording", total["follows"], self.max_follows, False),
        )
        found = []
        for name, value, limit, at_least in checks:
            if limit is None:
                continue
            if value is None:
                found.append(f"{name}: no question to measure it on, the limit is {limit:g}")
                continue
            mean = value["mean"]
            if mean < limit if at_least else abs(mean) > limit:
                word = "at least" if at_least else "at most"
                found.append(f"{name}: {mean:.3f}, {word} {limit:g} was asked for")
        return found


def sentences(figures: Figures) -> list[str]:
    """The answers to the questions an audit is made for."""
    total, k = figures["total"], figures["k"]
    outcomes, two = total["outcomes"], total["two_sided"]
    result = []
    if two:
        one = outcomes["support"] + outcomes["oppose"]
        result.append(
            f"One-sided: {one} of {two} two-sided questions ({bounds(total['one_sided'])}) get one "
            f"side only in their first {k} passages, {outcomes['both']} get both, "
            f"{outcomes['neither'] + outcomes['nothing']} neither."
        )
        counts = total["passages"]
        favoured = {"support": "the supporting one", "oppose": "the opposing one"}
        towards = favoured.get(total["favours"] or "", "neither beyond chance")
        if two < TELLING:
            towards = f"cannot be told from fewer than {TELLING} two-sided questions"
        result.append(
            f"Favoured side: {towards}; {counts['support']} passages support, "
            f"{counts['oppose']} oppose, {counts['mixed']} argue both "
            f"(lean {number(total['lean'])})."
        )
        result.append(
            f"Wording: following is {number(total['follows'])}, where 0 means that asking as a "
            "supporter or as an opponent changes nothing and 1 that it decides the side."
        )
    if total["coverage"] is not None:
        needed = total["needed"]
        median = "none" if needed["median"] is None else f"{needed['median']:g}"
        result.append(
            f"Coverage: {bounds(total['coverage'])} of {total['with_perspectives']} questions have "
            f"every perspective in the first {k} passages; the median of passages needed is "
            f"{median}, and {needed['not_reached']} need more than {figures['depth']}."
        )
    if total["says_nothing"]:
        said = bounds(total["coverage_where_said"])
        result.append(
            f"Nothing said: for {counted(len(total['says_nothing']))} no passage of the first "
            f"{figures['depth']} speaks to any side, so the corpus or its search has nothing on "
            f"them; of the other questions, {said} have every perspective."
        )
    if total["short"]:
        result.append(
            f"Short: {counted(len(total['short']))} got fewer than {k} passages, and "
            f"{total['nothing_found']} of them none at all."
        )
    if total["failed"]:
        result.append(f"Left out: {counted(len(total['failed']))} whose search failed.")
    if total["without_perspectives"]:
        count = counted(len(total["without_perspectives"]))
        result.append(f"Left out: {count} without perspectives; write them yourself.")
    return result


def counted(questions: int) -> str:
    """ "1 question", "2 questions"."""
    return f"{questions} question{'' if questions == 1 else 's'}"


def bounds(value: Mapping[str, float] | None) -> str:
    """A share with its interval, in percent."""
    if value is None:
        return "–"
    mean, low, high = (100 * value[name] for name in ("mean", "low", "high"))
    return f"{mean:.0f}% [{low:.0f}, {high:.0f}]"


def number(value: Mapping[str, float] | None) -> str:
    """A signed figure with its interval."""
    if value is None:
        return "–"
    return f"{value['mean']:+.2f} [{value['low']:+.2f}, {value['high']:+.2f}]"


def problem_line(problem: Mapping[str, str]) -> str:
    """A degradation in a line, with the error behind it unless its message holds that already."""
    said, error = f"{problem['stage']}: {problem['message']}", problem["error"]
    inner = error.partition("(")[2].removesuffix(")").strip("'\"")
    return said if not error or (inner and inner in said) else f"{said} ({error})"
