"""What the soak counts as right, partial, refused and wrong, and when it holds."""

from __future__ import annotations

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("psutil")

from benchmarks.soak.experiment import _kind, _Seen, _summary, holds
from benchmarks.soak.report import table


def reply(status=200, view="v", degradations=(), body=None):
    if body is None:
        body = {"view": view, "answer": "a", "done": {"degradations": list(degradations)}}
    return httpx.Response(status, json=body)


def refused(status):
    return reply(status, body={"error": {"message": "the search failed"}})


def test_an_answer_is_held_against_the_first_to_the_same_question():
    answers = {}
    assert _kind(reply(), answers, "q") == ("right", "")
    assert _kind(reply(), answers, "q") == ("right", "")
    assert _kind(reply(view="w"), answers, "another")[0] == "right"
    assert _kind(reply(view="w"), answers, "q")[0] == "wrong"


def test_an_answer_that_says_what_failed_is_partial():
    answers = {}
    always = ["answer: a sentence was left out"]
    assert _kind(reply(degradations=always), answers, "q")[0] == "right"
    assert _kind(reply(degradations=always), answers, "q")[0] == "right"
    failed = [*always, "search: the search for 'x' failed"]
    assert _kind(reply(view="w", degradations=failed), answers, "q")[0] == "partial"
    assert _kind(reply(view="w", degradations=always), answers, "q")[0] == "wrong"


def test_a_failure_must_say_what_it_is():
    assert _kind(refused(503), {}, "q") == ("refused", "status 503: the search failed")
    assert _kind(refused(500), {}, "q")[0] == "wrong"
    assert _kind(httpx.Response(503, text="Bad gateway"), {}, "q")[0] == "wrong"


def found(*, outcomes, memory=(100.0,) * 9):
    seen = _Seen(outcomes=list(outcomes))
    samples = [(10.0 * i, each, 5) for i, each in enumerate(memory)]
    return _summary(seen, samples, killed=30.0, back=50.0)


WELL = [(10.0, "right", 5.0), (40.0, "refused", 1.0), (52.0, "right", 5.0)]


@pytest.mark.parametrize(
    ("outcomes", "memory", "expected"),
    [
        (WELL, (100.0,) * 9, True),
        ([*WELL, (60.0, "wrong", 1.0)], (100.0,) * 9, False),
        ([*WELL, (20.0, "refused", 1.0)], (100.0,) * 9, False),
        ([*WELL[:2], (70.0, "right", 5.0)], (100.0,) * 9, False),
        (WELL[:2], (100.0,) * 9, False),
        (WELL, (100.0, 100.0, 100.0, 110.0, 120.0, 130.0, 140.0, 150.0, 160.0), False),
    ],
)
def test_it_holds_without_wrong_answers_with_recovery_and_flat_memory(outcomes, memory, expected):
    summary = found(outcomes=outcomes, memory=memory)
    assert holds(summary) is expected
    assert len(table(summary).rows) == 3


def test_the_recovery_counts_from_the_return():
    assert found(outcomes=WELL)["recovery_seconds"] == 2.0
    assert found(outcomes=WELL[:2])["recovery_seconds"] is None
