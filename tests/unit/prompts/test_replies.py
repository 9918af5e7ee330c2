"""What models reply instead of what was asked for, against every stage that reads replies (R17, R19)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perspective_rag.answer import ExtractiveAnswerer, GroundedAnswerer
from perspective_rag.errors import JudgeError, LLMError, LLMReplyError, PerspectiveRAGError
from perspective_rag.flow.driver import run
from perspective_rag.flow.limiter import Limits
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.llm import LLMJudge
from perspective_rag.perspectives.llm import LLMExtractor
from perspective_rag.perspectives.queries import LLMExpander
from perspective_rag.prompts.replies import (
    Parsed,
    distinct,
    is_refusal,
    parse_json,
    parse_list,
    parse_texts,
    parse_yes_no,
    strip_reasoning,
)
from perspective_rag.testing import ScriptedLLM
from perspective_rag.text import text_key
from perspective_rag.types import (
    Candidate,
    Completion,
    Coverage,
    Extraction,
    ListingRule,
    Passage,
    Perspective,
    Prompt,
    Query,
    RetrievalResult,
    Trace,
)

QUESTION = "Should zoos be closed?"
SIDE = Perspective("p1", "Zoos should be closed.")
PASSAGES = (
    Passage("a", "Zoos protect animals from poachers."),
    Passage("b", "Zoos harm animals by keeping them in cages."),
)
RESULT = RetrievalResult(
    QUESTION,
    tuple(Candidate(p, 1.0, support={"p1": s}) for p, s in zip(PASSAGES, (0.1, 0.9), strict=True)),
    (SIDE,),
    Coverage((SIDE,), np.array([[0.1], [0.9]]), ListingRule(0.5, 0.5)),
    Trace(),
)
ANY = Prompt("some_prompt", "")


class Extract:
    prompt = "extract_perspectives"
    items = ("Zoos protect animals.", "Zoos harm animals.")

    def flow(self, llm):
        return LLMExtractor(llm).extract(QUESTION)

    def json(self, items):
        return json.dumps({"root": "Zoos?", "perspectives": [{"text": item} for item in items]})

    def used(self, result):
        return [perspective.text for perspective in result.perspectives]

    def check_fallback(self, result):
        assert result == Extraction(QUESTION)


class Expand:
    prompt = "expand_queries"
    items = ("zoos protect animals", "zoos harm animals")

    def flow(self, llm):
        return LLMExpander(llm, per_perspective=2).expand(QUESTION, [SIDE])

    def json(self, items):
        return json.dumps({"queries": list(items)})

    def used(self, result):
        return [query.text for query in result]

    def check_fallback(self, result):
        assert result == [Query(SIDE.text, "p1")]


class Judging:
    prompt = "judge_support"
    items = ("The first.", "The second.")

    def flow(self, llm):
        return LLMJudge(llm).judge([SIDE], PASSAGES[:1])

    def json(self, items):
        return json.dumps({"answer": "yes" if items and isinstance(items[0], str) else items})

    def used(self, result):
        return [] if np.isnan(result).any() else list(self.items)

    def check_fallback(self, result):
        assert result.shape == (1, 1)
        assert np.isnan(result).all()


class Answering:
    prompt = "grounded_answer"
    items = ("Zoos protect animals [1].", "Zoos harm animals [2].")

    def flow(self, llm):
        return GroundedAnswerer(llm).answer(RESULT)

    def json(self, items):
        claims = [
            {"text": item, "citations": [1], "perspective": "p1"} if isinstance(item, str) else item
            for item in items
        ]
        return json.dumps({"claims": claims})

    def used(self, result):
        return [claim.text for claim in result.claims]

    def check_fallback(self, result):
        assert result == run(ExtractiveAnswerer().answer(RESULT))


STAGES = {"extract": Extract(), "expand": Expand(), "judge": Judging(), "answer": Answering()}

# What becomes of a reply: "ok" everything asked for is there, "lost" a part of it was lost and that
# is recorded, "none" nothing could be used, that is recorded and the stage's fallback is the result.
OK, LOST, NONE = "ok", "lost", "none"
REFUSAL = "I'm sorry, but I can't discuss that, so I won't say yes."
THOUGHT = "<think>The user wants views.\n1. First view\n2. yes or no?"


@dataclass(frozen=True)
class Case:
    name: str
    reply: Callable[..., str | Completion | Exception]
    extract: str
    expand: str
    judge: str
    answer: str


def case(name, reply, extract, expand=None, judge=None, answer=None):
    return Case(name, reply, extract, expand or extract, judge or extract, answer or extract)


def numbered(stage):
    return "\n".join(f"{i}. {item}" for i, item in enumerate(stage.items, start=1))


def cut(stage, item):
    text = stage.json(stage.items)
    found = text.find(stage.items[item])
    return text[: found + 4] if found >= 0 else text[: text.index("yes")]


CATALOGUE = [
    case("as asked", lambda s: s.json(s.items), OK),
    case("empty", lambda s: "", NONE),
    case("whitespace", lambda s: " \n\t \n", NONE),
    case("not a text", lambda s: Completion(None), NONE),
    case("preamble alone", lambda s: "Sure! Here are the items you asked for:", NONE),
    case("preamble and JSON", lambda s: f"Sure! Here you go:\n\n{s.json(s.items)}\nHope this helps!", OK),
    case("numbered", numbered, OK, judge=NONE),
    case("preamble, numbered, closing", lambda s: f"Here are two:\n\n{numbered(s)}\n\nLet me know!", OK, judge=NONE),
    case("bulleted", lambda s: "\n".join(f"- {item}" for item in s.items), OK, judge=NONE),
    case("bold bullets", lambda s: "\n".join(f"* **{item}**" for item in s.items), OK, judge=NONE),
    case("plain lines", lambda s: "\n".join(s.items), OK, judge=NONE),
    case("fenced JSON", lambda s: f"```json\n{s.json(s.items)}\n```", OK),
    case("fenced list", lambda s: f"```\n{numbered(s)}\n```", OK, judge=NONE),
    case("JSON cut in its second item", lambda s: cut(s, 1), LOST, judge=NONE),
    case("JSON cut in its first item", lambda s: cut(s, 0), NONE),
    case("JSON with a comma too many", lambda s: s.json(s.items).replace("]}", ",]}"), LOST, judge=OK),
    case("thought closed", lambda s: f"{THOUGHT}</think>\n\n{s.json(s.items)}", OK),
    case("thought unclosed", lambda s: THOUGHT, NONE),
    case("thought unopened", lambda s: f"{THOUGHT[7:]}</think>{s.json(s.items)}", OK),
    case("a number", lambda s: "42", NONE),
    case("null", lambda s: "null", NONE),
    case("wrong type inside", lambda s: '{"root": 1, "perspectives": 7, "queries": "x", "claims": {"a": 1}, "answer": 3}', NONE),
    case("wrong types of items", lambda s: s.json([None, 7, {}]), NONE),
    case("some items of a wrong type", lambda s: s.json([s.items[0], None, 7, {}, s.items[1]]), LOST, judge=OK),
    case("blank items", lambda s: s.json([s.items[0], "", " . ", s.items[1]]), LOST, judge=OK),
    case("wrong count: one", lambda s: s.json(s.items[:1]), OK, expand=LOST),
    case("empty object", lambda s: "{}", NONE),
    case("refusal", lambda s: REFUSAL, NONE),
    case("refusal in a fence", lambda s: f"```\n{REFUSAL}\n```", NONE),
    case("refusal as an item", lambda s: s.json([REFUSAL]), NONE, judge=OK, answer=OK),
    case("duplicates", lambda s: s.json([s.items[0], s.items[0].upper(), f' "{s.items[0]}" ', s.items[1]]), OK),
    case("other language", lambda s: "Aquí tienes:\n1. Los zoos protegen a los animales [1].\n2. Los zoos dañan a los animales [2].", OK, judge=NONE),
    case("too many", lambda s: s.json([f"{item} {i}" for i in range(30) for item in s.items]), OK),
    case("an essay", lambda s: "Zoos are disputed. " * 60, NONE),
    case("brackets without end", lambda s: "[" * 50_000 + '{"a":' * 50_000, NONE),
    case("exception", lambda s: RuntimeError("the server burst"), NONE),
    case("connection error", lambda s: LLMError("prompt failed"), NONE),
]  # fmt: skip

every_case = pytest.mark.parametrize("bad", CATALOGUE, ids=lambda each: each.name)
every_stage = pytest.mark.parametrize("stage_name", STAGES)


def drive(stage, reply, *, strict=False, delay=0.0, limits=None):
    """The result and books of a stage whose model replies so."""
    book = Recorder(strict=strict)
    llm = ScriptedLLM(lambda prompt: reply, delay=delay)
    return run(stage.flow(llm), book, limits), book


@every_stage
@every_case
def test_default_mode_records_what_was_lost_and_strict_mode_raises_it(bad, stage_name):
    stage, outcome = STAGES[stage_name], getattr(bad, stage_name)
    reply = bad.reply(stage)
    result, book = drive(stage, reply)
    used = stage.used(result)
    assert len({text_key(text) for text in used} - {""}) == len(used)
    assert {d.stage for d in book.degradations} == ({stage_name} if outcome != OK else set())
    if outcome == NONE:
        stage.check_fallback(result)
    else:
        assert used
        assert text_key(QUESTION) not in map(text_key, used)
    if outcome == OK:
        drive(stage, reply, strict=True)
        return
    with pytest.raises(PerspectiveRAGError) as caught:
        drive(stage, reply, strict=True)
    error = caught.value
    if stage_name == "judge":
        assert isinstance(error, JudgeError)
        error = error.__cause__
    assert isinstance(error, LLMError)
    if isinstance(reply, LLMError):
        assert error is reply
    elif isinstance(reply, Exception):
        assert stage.prompt in str(error)
        assert error.__cause__ is reply
    else:
        assert isinstance(error, LLMReplyError)
        assert error.prompt == stage.prompt
        assert stage.prompt in str(error)
        assert len(error.reply) <= 500
        assert error.reply in (reply if isinstance(reply, str) else str(reply.text))


@every_stage
def test_a_model_that_does_not_answer_in_time(stage_name):
    stage, limits = STAGES[stage_name], Limits(timeout=0.05)
    result, book = drive(stage, "yes", delay=0.6, limits=limits)
    stage.check_fallback(result)
    assert "TimeoutError" in str(book.degradations[0].error)


EXACT = {"numbered", "preamble, numbered, closing", "bulleted", "bold bullets", "plain lines", "fenced JSON",
         "preamble and JSON", "thought closed", "thought unopened", "duplicates", "some items of a wrong type"}  # fmt: skip


@pytest.mark.parametrize("stage_name", ["extract", "expand", "answer"])
@pytest.mark.parametrize("bad", [c for c in CATALOGUE if c.name in EXACT], ids=lambda c: c.name)
def test_what_can_be_read_is_read_to_the_letter(bad, stage_name):
    stage = STAGES[stage_name]
    result, _ = drive(stage, bad.reply(stage))
    wanted = [item.replace(" [1]", "").replace(" [2]", "") for item in stage.items]
    assert stage.used(result) == wanted


@every_stage
@settings(max_examples=60, deadline=None)
@given(text=st.text(st.sampled_from('{}[]":,.-*1 \nabyesno<think>/`\\')) | st.text())
def test_no_text_at_all_makes_a_stage_raise(stage_name, text):
    stage = STAGES[stage_name]
    book = Recorder()
    result = run(stage.flow(ScriptedLLM(lambda prompt: text)), book, Limits(timeout=None))
    used = stage.used(result)
    assert len({text_key(item) for item in used} - {""}) == len(used)
    assert used or book.degradations or "[]" in "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('x {"a": 1} {"b": 2}', Parsed({"a": 1})),
        ("see [1] and [2, 3]: []", Parsed([])),
        ('{not json} {"a": 1}', Parsed({"a": 1})),
        ('[{"t": "a"}, {"t": "b"}, {"t": "c', Parsed([{"t": "a"}, {"t": "b"}], broken=True)),
        ('{"q": ["a", "b", "c', Parsed({"q": ["a", "b"]}, broken=True)),
        ('{"q": ["a\nb"]}', Parsed({"q": ["a\nb"]})),
        ('{"n": 12', None),
        ('{"q": ["a', None),
        ("{'q': ['a']}", None),
        ('"text"', None),
        ("", None),
    ],
)
def test_parse_json(text, expected):
    if expected is None:
        with pytest.raises(LLMReplyError, match="some_prompt"):
            parse_json(text, ANY)
    else:
        assert parse_json(text, ANY) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1) a b\n2) c d", ["a b", "c d"]),
        ("(1) a b\n(2) c d", ["a b", "c d"]),
        ("1.a b\n2.c d", ["a b", "c d"]),
        ("[1] a b\n[2] c d", ["a b", "c d"]),
        ("• a b\n– c d", ["a b", "c d"]),
        ("Query 1: a b\n**Query 2:** c d", ["a b", "c d"]),
        ("Query 1:\na b\nQuery 2:\nc d", ["a b", "c d"]),
        ("- View 1.\n- View 2.", ["View 1.", "View 2."]),
        ("People differ over zoos.\n1. a b\n2. c d\nBoth are heard often.", ["a b", "c d"]),
        ("## Views\n\n- a b\n\n---\n", ["a b"]),
        ('"a b",\n"c d"', ["a b", "c d"]),
        ("Great apes suffer\nOf course, here:\nSure zoos differ", ["Great apes suffer", "Sure zoos differ"]),
        ("2020 election fraud\n3.5 million voters", ["2020 election fraud", "3.5 million voters"]),
        ("1、动物园有益\n2、动物园有害", ["动物园有益", "动物园有害"]),
        ("以下是查询：\n动物园有益", ["动物园有益"]),
        ('{"queries": [\n"a b', ['a b']),
        ("", []),
    ],
)  # fmt: skip
def test_parse_list(text, expected):
    assert parse_list(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("yes", True),
        ("No.", False),
        ("**Yes**, because ...", True),
        ("```\nno\n```", False),
        ("True", True),
        ("It supports the statement.", True),
        ("The passage does not support the statement.", False),
        ("The passage doesn't support it.", False),
        ("It opposes the statement.", False),
        ('{"answer": "no"}', False),
        ('{"supports": false}', False),
        ("I read it twice. Final answer: yes", True),
        ("Let me think. The answer is no", False),
        ("yes or no?", None),
        ("It could be yes, it could be no.", None),
        ("Not sure", None),
        ("I do not know", None),
        ("maybe", None),
        ("", None),
        ("Sí", None),
    ],
)
def test_parse_yes_no(text, expected):
    assert parse_yes_no(text) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>a</think>b", "b"),
        ("<THINKING>a\n</THINKING>\n b ", "b"),
        ("<think>a</think><think>b</think>c", "c"),
        ("a</think>b", "b"),
        ("a<think>b", "a"),
        ("5 < 6 > 4", "5 < 6 > 4"),
    ],
)
def test_strip_reasoning(text, expected):
    assert strip_reasoning(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (REFUSAL, True),
        ("I’m unable to provide that.", True),
        ("As an AI language model, I have no opinion.", True),
        ("Unfortunately, I cannot answer this.", True),
        ("I can't breathe protests changed policing", False),
        ("I am afraid of sharks", False),
        ("Sorry state of public housing", False),
        ('["I cannot answer for others"]', False),
    ],
)
def test_is_refusal(text, expected):
    assert is_refusal(text) is expected


def test_distinct_ignores_case_space_and_punctuation_and_knows_what_is_taken():
    texts = ["Zoos help!", "zoos  help", "", "?!", "Zoos harm.", "Close zoos"]
    assert distinct(texts, taken=["zoos harm"]) == ["Zoos help!", "Close zoos"]


def test_texts_are_made_distinct_before_anything_is_cut():
    llm = ScriptedLLM([json.dumps({"queries": ["A b", "a B.", "A  b", "c d"]})])
    queries = run(LLMExpander(llm, per_perspective=2).expand(QUESTION, [SIDE]))
    assert [query.text for query in queries] == ["A b", "c d"]


def test_an_empty_json_list_is_an_answer():
    assert parse_texts("[]", ANY, keys=("queries",)).items == ()
