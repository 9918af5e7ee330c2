"""What the pipeline expects of a judge, as checks that any judge can be put through.

    case = JudgeCase(make=lambda: MyJudge(...), failing=lambda: MyJudge(broken_model))
    print(check_judge(case))   # {"shape": "(6, 3)", ...}

Each check raises AssertionError, with what was expected, when the judge does it wrong. With pytest:
``@pytest.mark.parametrize("check", JUDGE_CHECKS)`` and ``JUDGE_CHECKS[check](case)``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from perspective_rag.errors import JudgeError
from perspective_rag.flow.driver import arun, run
from perspective_rag.flow.limiter import Limits
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.pairs import judge_pairs
from perspective_rag.protocols import Judge
from perspective_rag.testing.samples import expect
from perspective_rag.types import Matrix, Passage, Perspective

_CLAIM = "The old harbour should become a car park."
PERSPECTIVES = (
    Perspective("for", _CLAIM, "support", _CLAIM),
    Perspective("against", "The old harbour should not become a car park.", "oppose", _CLAIM),
    Perspective("herons", "Herons need the quiet of the harbour."),
)
PASSAGES = (
    Passage("short", "A car park at the harbour brings shoppers to the old town."),
    Passage("titled", "The herons would leave. So would the boats.", {"title": "Letters"}),
    Passage("empty", ""),
    Passage("script", "港を駐車場にするべきではない。鷺がいなくなる。"),
    Passage("long", "The ferry leaves at nine on weekdays and at ten on Sundays. " * 60),
    Passage("apart", "Butter and flour are mixed before the sugar is added."),
)
_LIMITS = Limits(timeout=None)


@dataclass(frozen=True, slots=True)
class JudgeCase:
    """A judge to check.

    Args:
        make: Makes the judge.
        failing: Makes a judge whose model fails on every pair; None: this is not checked.
        tolerance: How far a probability may move with the other pairs of its batch; models with
            8-bit weights need more.
    """

    make: Callable[[], Judge]
    failing: Callable[[], Judge] | None = None
    tolerance: float = 1e-4


def check_judge(case: JudgeCase) -> dict[str, str]:
    """Puts a judge through ``JUDGE_CHECKS``.

    Args:
        case: The judge.

    Returns:
        What each check found, by its name.

    Raises:
        AssertionError: The judge does something wrong; the message says what was expected.
    """
    return {name: check(case) for name, check in JUDGE_CHECKS.items()}


def shape(case: JudgeCase) -> str:
    """One row a passage, one column a perspective, and a threshold in [0, 1]."""
    judge = case.make()
    expect(isinstance(judge, Judge), f"{type(judge).__name__} does not fit protocols.Judge")
    expect(0.0 <= judge.threshold <= 1.0, f"threshold {judge.threshold} is outside [0, 1]")
    found = _table(judge).shape
    wanted = (len(PASSAGES), len(PERSPECTIVES))
    expect(found == wanted, f"shape {found}, expected (passages, perspectives) = {wanted}")
    return str(found)


def value_range(case: JudgeCase) -> str:
    """Probabilities in [0, 1], or NaN with a degradation that says so."""
    book = Recorder()
    table = _table(case.make(), book=book)
    known = table[~np.isnan(table)]
    expect(bool(np.all((known >= 0) & (known <= 1))), f"values outside [0, 1]: {known}")
    silent = np.isnan(table).any() and not book.degradations
    expect(not silent, "pairs are NaN, and no degradation was recorded")
    return f"{known.min():.2f} to {known.max():.2f}" if known.size else "all NaN"


def empty_inputs(case: JudgeCase) -> str:
    """Nothing to judge gives an empty table and costs nothing."""
    judge, book = case.make(), Recorder()
    for perspectives, passages in (
        ((), PASSAGES),
        (PERSPECTIVES, ()),
        ((), ()),
    ):
        found = _table(judge, perspectives, passages, book).shape
        wanted = (len(passages), len(perspectives))
        expect(found == wanted, f"shape {found}, expected {wanted}")
    judged = book.counts.get("judged_pairs", 0)
    expect(judged == 0, f"{judged} pairs were judged where there are none")
    return "no call"


def order(case: JudgeCase) -> str:
    """The order of passages and perspectives does not matter."""
    judge = case.make()
    there, back = _table(judge), _table(judge, PERSPECTIVES[::-1], PASSAGES[::-1])[::-1, ::-1]
    return _same(there, back, case, "the order of passages and perspectives matters")


def company(case: JudgeCase) -> str:
    """A pair is judged alike alone and with others, however many."""
    judge = case.make()
    together = _table(judge)
    alone = np.array([[_table(judge, (p,), (d,))[0, 0] for p in PERSPECTIVES] for d in PASSAGES])
    return _same(together, alone, case, "a pair's company matters")


def repeated(case: JudgeCase) -> str:
    """Equal passages get equal rows, and a second judgement agrees with the first."""
    judge = case.make()
    twice = _table(judge, PERSPECTIVES, (*PASSAGES, *PASSAGES))
    half = len(PASSAGES)
    _same(twice[:half], twice[half:], case, "equal passages differ")
    return _same(twice[:half], _table(judge), case, "a second judgement differs")


def pairs(case: JudgeCase) -> str:
    """Pairs are judged as in the table."""
    judge = case.make()
    cells = [(p, d) for d in PASSAGES for p in PERSPECTIVES][::-1]
    flow = judge_pairs(judge, [p for p, _ in cells], [d for _, d in cells])
    values = run(flow, Recorder(), _LIMITS)[::-1].reshape(len(PASSAGES), len(PERSPECTIVES))
    return _same(_table(judge), values, case, "pairs are judged otherwise than in a table")


def sync_and_async(case: JudgeCase) -> str:
    """Both drivers give the same table, counts and degradations."""
    books = Recorder(), Recorder()
    first = run(case.make().judge(PERSPECTIVES, PASSAGES), books[0], _LIMITS)
    second = asyncio.run(arun(case.make().judge(PERSPECTIVES, PASSAGES), books[1], _LIMITS))
    expect(books[0].calls == books[1].calls, f"calls {books[0].calls} and {books[1].calls}")
    expect(books[0].counts == books[1].counts, f"counts {books[0].counts} and {books[1].counts}")
    return _same(np.asarray(first), np.asarray(second), case, "sync and async differ")


def failure(case: JudgeCase) -> str:
    """A model that fails leaves NaN and a recorded degradation; strict mode raises JudgeError."""
    if case.failing is None:
        return "not tried"
    book = Recorder()
    table = _table(case.failing(), book=book)
    expect(bool(np.isnan(table).all()), f"a failing model gave verdicts: {table}")
    expect(bool(book.degradations), "a failing model was not recorded")
    try:
        _table(case.failing(), book=Recorder(strict=True))
    except JudgeError:
        return "NaN, recorded; strict raises"
    raise AssertionError("strict mode did not raise JudgeError")


JUDGE_CHECKS: Mapping[str, Callable[[JudgeCase], str]] = MappingProxyType(
    {
        "shape": shape,
        "range": value_range,
        "empty inputs": empty_inputs,
        "order": order,
        "company": company,
        "repeated": repeated,
        "pairs": pairs,
        "sync and async": sync_and_async,
        "failure": failure,
    }
)


def _table(
    judge: Judge,
    perspectives: Sequence[Perspective] = PERSPECTIVES,
    passages: Sequence[Passage] = PASSAGES,
    book: Recorder | None = None,
) -> Matrix:
    return np.asarray(run(judge.judge(perspectives, passages), book or Recorder(), _LIMITS))


def _same(one: Matrix, other: Matrix, case: JudgeCase, complaint: str) -> str:
    gaps = np.abs(one - other)
    expect(bool(np.array_equal(np.isnan(one), np.isnan(other))), f"{complaint}: NaN moves")
    most = float(np.nanmax(gaps)) if (~np.isnan(gaps)).any() else 0.0
    expect(most <= case.tolerance, f"{complaint}: by {most:.2g}, at most {case.tolerance:g}")
    return f"within {most:.1g}"
