"""Every judge of the library through the conformance suite, and judges that must not pass it."""

from __future__ import annotations

import functools
import math
import zlib

import numpy as np
import pytest

from perspective_rag.errors import ConfigError
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.flow.steps import call
from perspective_rag.judge.cache import CachedJudge
from perspective_rag.judge.cascade import CascadeJudge
from perspective_rag.judge.cross_encoder import CrossEncoderJudge
from perspective_rag.judge.llm import LLMJudge, Wording
from perspective_rag.testing import HashEmbedder, ScriptedLLM
from perspective_rag.testing.judges import JUDGE_CHECKS, PASSAGES, PERSPECTIVES, JudgeCase
from perspective_rag.types import Completion


def number(*texts):
    """The same number in [0, 1] for the same texts."""
    return zlib.crc32("|".join(texts).encode()) / 2**32


class Words:
    labels = ("contradiction", "entailment", "neutral")

    def pieces(self, text, statements):
        return [text]

    def logits(self, documents, statements):
        rows = zip(documents, statements, strict=True)
        return np.array([[4 * number(str(i), d, s) for i in range(3)] for d, s in rows])


class Broken(Words):
    def logits(self, documents, statements):
        raise RuntimeError("out of memory")


def by_hash(prompt):
    p = number(prompt.user)
    return Completion("yes" if p > 0.5 else "no", choice_probabilities={"yes": p, "no": 1 - p})


class Many(ScriptedLLM):
    batch_size = 4

    def complete_many(self, prompts):
        return [self.complete(prompt) for prompt in prompts]


def cross(classifier=Words):
    judge = CrossEncoderJudge(classifier=classifier())
    judge.name = classifier.__name__
    return judge


def llm(reply=by_hash, kind=ScriptedLLM, **options):
    return LLMJudge(kind(reply), **options)


def down(prompt):
    return ConnectionError("no server")


def cascade(classifier=Words, reply=by_hash):
    return CascadeJudge(
        cross(classifier),
        embedder=HashEmbedder(),
        llm_judge=llm(reply),
        unrelated_below=-1.0 if classifier is Broken else 0.05,
    )


OWN = functools.cache(CrossEncoderJudge)
CASES = {
    "the package's own": lambda path: JudgeCase(OWN),
    "cross-encoder": lambda path: JudgeCase(cross, lambda: cross(Broken)),
    "llm": lambda path: JudgeCase(llm, lambda: llm(down)),
    "llm, one-shot": lambda path: JudgeCase(
        lambda: llm(wording=Wording("judge_support_one_shot", system="user")), lambda: llm(down)
    ),
    "llm in batches": lambda path: JudgeCase(lambda: llm(kind=Many), lambda: llm(down, kind=Many)),
    "llm that says 1 or 0": lambda path: JudgeCase(
        lambda: llm(
            lambda prompt: "1" if number(prompt.user) > 0.5 else " 0.",
            wording=Wording("judge_entailment", ("1", "0"), fenced=False),
        ),
        lambda: llm(lambda prompt: "perhaps", wording=Wording("judge_entailment", ("1", "0"))),
    ),
    "cascade": lambda path: JudgeCase(cascade, lambda: cascade(Broken, down)),
    "cached": lambda path: JudgeCase(
        lambda: CachedJudge(cross(), path / "verdicts.sqlite"),
        lambda: CachedJudge(cross(Broken), path / "verdicts.sqlite"),
    ),
}


@pytest.mark.parametrize("check", JUDGE_CHECKS)
@pytest.mark.parametrize("case", CASES)
def test_judges_conform(case, check, tmp_path):
    if (case, check) == ("cached", "sync and async"):
        pytest.skip("the second driver finds what the first has stored")
    JUDGE_CHECKS[check](CASES[case](tmp_path))


class Odd:
    """A judge with one fault."""

    name, threshold = "odd", 0.5

    def __init__(self, fault):
        self.fault = fault

    def judge(self, perspectives, passages):
        shape = (len(passages), len(perspectives))
        reply = yield from call("judge", lambda: None, counts={"judged_pairs": 0})
        assert reply.error is None
        table = np.array(
            [[number(p.text, d.text) for p in perspectives] for d in passages]
        ).reshape(shape)
        if self.fault == "shape":
            return table.T
        if self.fault == "range":
            return table * 3
        if self.fault == "silent NaN":
            return np.where(table > 0.5, math.nan, table)
        if self.fault == "order":
            return table * np.linspace(0.5, 1.0, shape[0])[:, None]
        if self.fault == "company":
            return table / (1 + len(passages))
        return table


@pytest.mark.parametrize(
    ("fault", "check"),
    [
        ("shape", "shape"),
        ("range", "range"),
        ("silent NaN", "range"),
        ("order", "order"),
        ("company", "company"),
        ("company", "repeated"),
    ],
)
def test_a_fault_is_found(fault, check):
    with pytest.raises(AssertionError):
        JUDGE_CHECKS[check](JudgeCase(lambda: Odd(fault)))
    JUDGE_CHECKS[check](JudgeCase(lambda: Odd("none")))


def test_a_failure_that_reads_as_no_is_found():
    case = JudgeCase(lambda: Odd("none"), failing=lambda: Odd("none"))
    with pytest.raises(AssertionError, match="verdicts"):
        JUDGE_CHECKS["failure"](case)


def test_numbers_that_are_not_finite_are_not_judged():
    class Sick(Words):
        def logits(self, documents, statements):
            rows = super().logits(documents, statements)
            rows[0] = [math.inf, 0, 0]
            rows[1] = math.nan
            return rows

    book = Recorder()
    table = run(cross(Sick).judge(PERSPECTIVES[2:], PASSAGES), book)
    assert np.isnan(table[:, 0]).tolist() == [True, True, False, False, False, False]
    assert [d.message for d in book.degradations] == ["2 of 6 pairs could not be judged"]


def test_a_model_that_is_not_there_is_an_error_at_once(tmp_path):
    (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(ConfigError):
        run(CrossEncoderJudge(tmp_path).judge(PERSPECTIVES, PASSAGES))
