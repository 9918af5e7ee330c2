"""Citations are checked before a claim is shown; every covered side has a section."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from perspective_rag.answer import ExtractiveAnswerer, GroundedAnswerer
from perspective_rag.answer.answer import answer, misquoted
from perspective_rag.answer.grounded import claims_in
from perspective_rag.answer.standing import strengths
from perspective_rag.errors import ConfigError
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.testing import MemoryStore, RuleJudge, ScriptedLLM
from perspective_rag.types import (
    Answer,
    Candidate,
    Claim,
    Coverage,
    ListingRule,
    Passage,
    Perspective,
    RetrievalResult,
    Trace,
)

PRO = Perspective("support", "Zoos are good.", "support", "Zoos are good.")
CON = Perspective("oppose", "Zoos are not good.", "oppose", "Zoos are good.")
A = Passage("a", "Zoos breed rare frogs. They protect endangered animals.", {"source": "one"})
B = Passage("b", "Elephants pace in small cages. Animals suffer there.", {"source": "two"})
C = Passage("c", "Critics say that zoos are prisons.", {"source": "two"})


def result_of(rows, passages):
    candidates = tuple(
        Candidate(p, 1.0, support={"support": pro, "oppose": con})
        for p, (pro, con) in zip(passages, rows, strict=True)
    )
    table = np.array(rows, dtype=float)
    coverage = Coverage((PRO, CON), table, ListingRule(0.5, 0.5), ~np.eye(2, dtype=bool))
    return RetrievalResult("Are zoos good?", candidates, (PRO, CON), coverage, Trace())


RESULT = result_of([[0.9, 0.1], [0.1, 0.9]], [A, B])


def shares_a_word(passage, perspective):
    common = set(passage.text.lower().split()) & set(perspective.text.lower().split())
    return 0.9 if common - {"zoos", "are", "in", "the"} else 0.1


JUDGE = RuleJudge(shares_a_word)


class Fixed:
    """An answerer that says what it was given."""

    def __init__(self, *claims):
        self.claims = claims

    def answer(self, result):
        return Answer(self.claims)


def asked(*claims, judge=JUDGE, check="drop", result=RESULT, tell=None):
    recorder = Recorder()
    flow = answer(Fixed(*claims), result, judge=judge, check=check, tell=tell)
    return run(flow, recorder), recorder


QUOTED = Claim("They protect endangered animals.", ("a",), "support")
SUPPORTED = Claim("Cages make animals suffer.", ("b", "a"), "oppose")
INVENTED = Claim("Zoos earn money.", ("a",), "support")


@pytest.mark.parametrize(
    ("check", "judge", "checked", "verified"),
    [
        ("drop", JUDGE, ["quoted", "supported"], [None, True]),
        ("mark", JUDGE, ["quoted", "", "supported"], [None, False, True]),
        ("off", JUDGE, ["", "", ""], [None, None, None]),
        ("drop", None, ["quoted", "", ""], [None, None, None]),
    ],
)
def test_a_claim_is_quoted_or_supported_or_falls_and_is_told_once(check, judge, checked, verified):
    told = []
    found, recorder = asked(QUOTED, INVENTED, SUPPORTED, check=check, judge=judge, tell=told.append)
    assert [claim.checked for claim in found.claims] == checked
    assert [claim.verified for claim in found.claims] == verified
    assert told == list(found.claims)
    done = {"drop": "was dropped: 'Zoos earn money.'", "mark": "is marked"}.get(check, "")
    messages = [each.message for each in recorder.degradations]
    assert len(messages) == (judge is not None and check != "off")
    assert all(done in each for each in messages)


@pytest.mark.parametrize("citations", [(), ("nowhere",)])
def test_a_citation_that_does_not_support_is_taken_off_and_a_claim_needs_one(citations):
    partly = Claim("Cages make elephants pace.", ("a", "b"), "oppose")
    found, _ = asked(partly, replace(QUOTED, citations=citations, text="Another."))
    texts = {claim.text: claim.citations for claim in found.claims}
    assert texts[partly.text] == ("b",)
    assert "Another." not in texts


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ('One says "BREED  rare, frogs!"', False),
        ("They “protect endangered animals” there.", False),
        ('Zoos "breed rare toads".', True),
        ('They "breed rare frogs" and "sell them all".', True),
        ('What "freedom" means is open.', False),
    ],
)
def test_quotations_stand_word_for_word_in_a_cited_passage(text, wrong):
    assert misquoted(Claim(text, ("a",)), [A.text]) == wrong
    found, _ = asked(Claim(text, ("a",), "support"), judge=RuleJudge(lambda *given: 0.9))
    assert any(text in claim.text for claim in found.claims) != wrong


TAKES_SIDES = RuleJudge(
    lambda passage, side: (
        0.9 if side.id == "claim" or (side.id == "oppose") == ("suffer" in passage.text) else 0.05
    )
)


def test_a_sentence_that_takes_the_other_side_stands_under_that_side():
    wrong = Claim("Caged animals suffer badly.", ("b",), "support")
    found, recorder = asked(wrong, QUOTED, judge=TAKES_SIDES)
    assert [(c.text, c.perspective) for c in found.claims] == [
        (QUOTED.text, "support"),
        (wrong.text, "oppose"),
    ]
    assert "does not speak for it: 'Caged animals" in recorder.degradations[0].message


def test_a_sentence_for_a_side_that_no_passage_supports_belongs_to_none_and_the_side_is_missing():
    result = result_of([[0.9, 0.1], [0.1, 0.1]], [A, B])
    said = Claim("Elephants dislike it.", ("b",), "oppose")
    found, _ = asked(QUOTED, said, judge=TAKES_SIDES, result=result)
    assert [c.perspective for c in found.claims] == ["support", None]
    assert found.unsupported == (CON,)


def test_a_judge_that_fails_is_recorded_and_leaves_claims_unchecked():
    def broken(passage, perspective):
        if perspective.id == "claim":
            raise RuntimeError("no")
        return 0.9

    found, recorder = asked(QUOTED, SUPPORTED, INVENTED, judge=RuleJudge(broken))
    assert [claim.checked for claim in found.claims] == ["quoted", "", ""]
    assert recorder.degradations


def test_a_covered_side_without_a_claim_that_stands_gets_its_passages_words():
    for claims in ([QUOTED], [INVENTED, QUOTED]):
        found, recorder = asked(*claims, judge=JUDGE if INVENTED in claims else None)
        assert [claim.perspective for claim in found.claims][:2] == ["support", "oppose"]
        assert all(c.checked and c.citations == ("b",) for c in found.claims[1:])
        assert [each["perspective"] for each in recorder.trace().decisions] == ["oppose"]
    found, recorder = asked()
    assert found.claims == ()
    assert not recorder.trace().decisions


def test_claims_come_by_side_whatever_order_the_model_has():
    found, _ = asked(SUPPORTED, Claim("Zoos breed rare frogs.", ("a",)), QUOTED)
    assert [claim.perspective for claim in found.claims] == ["support", "oppose", None]


def test_how_strongly_a_side_is_supported():
    rows = [[0.9, 0.1], [0.1, 0.9], [0.1, 0.9]]
    result = result_of(rows, [A, B, C])
    reports = "; 1 of them only reports what others say"
    assert strengths(result) == {"support": "1 passage", "oppose": f"2 passages{reports}"}
    assert strengths(
        result_of(rows, [replace(p, metadata={"author": "Ann"}) for p in (A, B, C)])
    ) == {
        "support": "1 passage from one source",
        "oppose": f"2 passages, all from one source{reports}",
    }
    found, _ = asked(QUOTED, result=result)
    assert found.strength == found.to_dict()["strength"] == strengths(result)
    assert strengths(replace(RESULT, coverage=None)) == {}


def test_a_quote_is_verified_only_where_the_judge_read_its_words_alone():
    claims = run(ExtractiveAnswerer().answer(RESULT)).claims
    assert {(claim.verified, claim.checked) for claim in claims} == {(None, "quoted")}
    judge = RuleJudge(lambda p, s: 0.9 if (s.id == "oppose") == ("uffer" in p.text) else 0.05)
    claims = run(ExtractiveAnswerer(judge).answer(RESULT)).claims
    assert {(claim.verified, claim.checked) for claim in claims} == {(True, "side")}


class Streaming(ScriptedLLM):
    """Gives its reply in pieces of a few characters."""

    def stream(self, prompt):
        text = self.complete(prompt).text
        yield from (text[i : i + 7] for i in range(0, len(text), 7))


def reply(*claims):
    rows = [{"text": t, "citations": c, "perspective": p} for t, c, p in claims]
    return json.dumps({"claims": rows}, indent=1)


def test_a_streamed_reply_is_told_claim_by_claim_and_is_the_same_answer():
    text = reply(
        ('Zoos protect "endangered animals" {here}.', [1], "support"),
        ("Zoos earn money.", [1], "support"),
        ("Animals suffer in cages.", [2], "oppose"),
        ("Zoos breed frogs.", [9], None),
    )
    order = []

    class Slow(Streaming):
        def stream(self, prompt):
            yield from super().stream(prompt)
            order.append("end")

    def tell(claim):
        order.append(claim)

    streamed = run(answer(GroundedAnswerer(Slow(lambda p: text)), RESULT, judge=JUDGE, tell=tell))
    whole = run(answer(GroundedAnswerer(ScriptedLLM(lambda p: text)), RESULT, judge=JUDGE))
    assert streamed.claims == whole.claims
    assert order == [*streamed.claims, "end"]
    assert len(order) == 3


def test_a_stream_that_breaks_falls_back_and_is_recorded():
    class Broken(ScriptedLLM):
        def stream(self, prompt):
            yield '{"claims": ['
            raise ConnectionError("gone")

    recorder = Recorder()
    flow = answer(GroundedAnswerer(Broken([])), RESULT, tell=lambda claim: None)
    found = run(flow, recorder)
    assert {claim.perspective for claim in found.claims} == {"support", "oppose"}
    messages = [each.message for each in recorder.degradations]
    assert messages[0] == "the reply broke off"
    assert "the fallback was used" in messages[1]


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_complete_objects_of_the_list_are_found_whatever_the_pieces(size):
    text = 'Sure: {"claims": [ {"a": "x}{"}, {"b": [1, {"c": 2}]} ,{"d"'
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    assert list(claims_in(pieces)) == [{"a": "x}{"}, {"b": [1, {"c": 2}]}]
    assert list(claims_in(["Zoos help [1]."])) == []


async def test_the_pipeline_checks_by_its_own_judge_in_both_drivers():
    pipeline = PerspectivePipeline(
        MemoryStore([A, B], takes_vector=False), judge=JUDGE, answerer=Fixed(INVENTED, QUOTED)
    )
    for found in (pipeline.answer(RESULT), await pipeline.aanswer(RESULT)):
        assert "Zoos earn money." not in [claim.text for claim in found.claims]
        assert found.trace.degradations
    told = []
    found = pipeline.answer(RESULT, check_claims="mark", on_claim=told.append)
    assert [claim.verified for claim in told][:2] == [False, None]
    assert len(told) == len(found.claims)
    with pytest.raises(ConfigError, match="check_claims"):
        pipeline.answer(RESULT, check_claims="maybe")
