"""A function as a judge: what it is given, what it may return, and what is said when it is wrong."""

from __future__ import annotations

import asyncio
from functools import partial

import numpy as np
import pytest

from perspective_rag import CachedJudge, CallableJudge, ConfigError, Passage, Perspective, arun, run
from perspective_rag.flow.request import Recorder
from perspective_rag.testing import JUDGE_CHECKS, JudgeCase

PERSPECTIVES = (Perspective("a", "alpha"), Perspective("b", "beta"))
PASSAGES = (Passage("1", "alpha"), Passage("2", "alpha beta"), Passage("3", "nothing"))
EXPECTED = [[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]


def words(perspectives, passages):
    assert isinstance(perspectives, list)
    assert isinstance(passages, list)
    return [[float(p.text in d.text) for p in perspectives] for d in passages]


async def awaited_words(perspectives, passages):
    await asyncio.sleep(0)
    return words(perspectives, passages)


def broken(perspectives, passages):
    raise ConnectionError("the model is away")


class Words:
    async def __call__(self, perspectives, passages):
        return words(perspectives, passages)


@pytest.mark.parametrize(
    "function",
    [words, awaited_words, Words(), partial(awaited_words), lambda p, d: awaited_words(p, d)],
    ids=["plain", "async", "async object", "partial", "returns a coroutine"],
)
def test_plain_and_async_functions_judge_alike_under_both_drivers(function):
    judge = CallableJudge(function, name="words")
    recorder = Recorder()
    table = run(judge.judge(PERSPECTIVES, PASSAGES), recorder)
    assert table.tolist() == EXPECTED
    assert asyncio.run(arun(judge.judge(PERSPECTIVES, PASSAGES))).tolist() == EXPECTED
    assert (recorder.calls["judge"], recorder.counts["judged_pairs"]) == (1, 6)


def test_none_and_nan_are_not_judged():
    judge = CallableJudge(lambda p, d: [[None, 0.5], [np.nan, 0.5], [1, 0]])
    table = run(judge.judge(PERSPECTIVES, PASSAGES))
    np.testing.assert_array_equal(table, [[np.nan, 0.5], [np.nan, 0.5], [1.0, 0.0]])


@pytest.mark.parametrize("check", JUDGE_CHECKS)
def test_it_is_a_judge(check):
    case = JudgeCase(lambda: CallableJudge(words), failing=lambda: CallableJudge(broken))
    JUDGE_CHECKS[check](case)


@pytest.mark.parametrize(
    "function",
    [lambda: 0, lambda p: 0, lambda p, d, more: 0, lambda *, p, d: 0, dict, "words", None],
)
def test_what_does_not_take_two_arguments_is_refused_at_construction(function):
    expected = r"CallableJudge needs a function of \(perspectives, pass"
    with pytest.raises(ConfigError, match=expected):
        CallableJudge(function)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ([0.5, 0.5, 0.5], r"shape \(3,\)"),
        ([[0.5, 0.5]], r"shape \(1, 2\)"),
        ([[0.5, 0.5]] * 2 + [[0.5]], "returned"),
        ([[2.0, 0.5]] * 3, r"outside \[0, 1\]"),
        (None, "None"),
        ("yes", "yes"),
        ({"a": 1}, "a"),
    ],
)
def test_a_wrong_return_value_names_the_judge_and_what_it_must_return(returned, said):
    judge = CallableJudge(lambda p, d: returned, name="mine")
    expected = rf"judge 'mine' must return one row for each passage .* for each perspective.*{said}"
    with pytest.raises(ConfigError, match=expected):
        run(judge.judge(PERSPECTIVES, PASSAGES))


def test_the_name_is_the_functions_and_only_a_given_one_keys_a_cache(tmp_path):
    assert CallableJudge(words).name == "words"
    with pytest.raises(ConfigError, match="revision"):
        CachedJudge(CallableJudge(words), tmp_path / "verdicts.sqlite")
    cached = CachedJudge(CallableJudge(words, name="v2"), tmp_path / "verdicts.sqlite")
    assert run(cached.judge(PERSPECTIVES, PASSAGES)).tolist() == EXPECTED


def test_a_threshold_is_a_probability():
    with pytest.raises(ConfigError, match="threshold"):
        CallableJudge(words, threshold=1.5)
