"""Reading a text takes time in proportion to its length, whatever the text is.

Each function of the library that reads texts is run on a catalogue of shapes of 10^3, 10^4 and 10^5
characters. Ten times the text may take 30 times as long: linear with room for measuring, far from
the 100 of a quadratic function. The shapes that take longest at 10^4 go on to 10^5 (`make test-slow`).
"""

from __future__ import annotations

import contextlib
import heapq
import inspect
import json
import pkgutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import perspective_rag
from perspective_rag import PerspectivePipeline
from perspective_rag.annotations import REPORT, annotations_of, report_in
from perspective_rag.answer.answer import misquoted
from perspective_rag.answer.extractive import ExtractiveAnswerer
from perspective_rag.answer.grounded import GroundedAnswerer, claims_in
from perspective_rag.answer.passages import without_headings, without_marks
from perspective_rag.answer.sentences import (
    argues,
    demands,
    is_reported,
    nearest,
    only_reports,
    polished,
    quotable,
    restates,
    stands_alone,
    tellable,
    tells,
)
from perspective_rag.answer.standing import standing
from perspective_rag.commands.ask import write_json
from perspective_rag.errors import PerspectiveRAGError, unknown_name
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import degrade
from perspective_rag.flow.steps import Reply
from perspective_rag.judge.llm_list import find_quote
from perspective_rag.judge.settings import personal
from perspective_rag.judge.windows import telling, titled_pieces, windows
from perspective_rag.local.chat import bare_token, choice_of
from perspective_rag.local.corpus.documents import html_record, markdown_record, text_record
from perspective_rag.local.corpus.records import csv_records, jsonl_records
from perspective_rag.local.corpus.splitting import count_words, split_text
from perspective_rag.maths.vectors import first_copies
from perspective_rag.perspectives import reading as rules
from perspective_rag.perspectives.cleaning import caution
from perspective_rag.perspectives.discover import stand_alone
from perspective_rag.perspectives.find import as_statement_about
from perspective_rag.perspectives.follow_up import follow_up
from perspective_rag.perspectives.kinds import is_chat
from perspective_rag.perspectives.queries import unique_queries
from perspective_rag.perspectives.reading import extract_by_rule
from perspective_rag.perspectives.sides import both_sides
from perspective_rag.perspectives.statements import as_statement, negate, negation_of, statement_of
from perspective_rag.perspectives.words import bare, mid_sentence, upper_first
from perspective_rag.prompts import PromptTemplate, fence, read_prompt, shorten
from perspective_rag.prompts.markers import markers_of, without_markers
from perspective_rag.prompts.replies import (
    distinct,
    is_refusal,
    is_usable,
    parse_list,
    parse_texts,
    parse_yes_no,
    reply_text,
    strip_reasoning,
)
from perspective_rag.redaction import public_address, redacted, without_secrets
from perspective_rag.storage.files import json_object
from perspective_rag.testing import SAMPLE, HashEmbedder, MemoryStore
from perspective_rag.text import (
    escaped,
    from_json,
    nfkc,
    printable,
    seen_keys,
    shares_words,
    split_sentences,
    text_key,
    topic_words,
    valid,
    words,
)
from perspective_rag.types import (
    Answer,
    Candidate,
    Claim,
    Completion,
    Coverage,
    ListingRule,
    Passage,
    Prompt,
    Query,
    RetrievalResult,
    Trace,
    normalised_text,
    passage_key,
)
from perspective_rag_scale.sinks.documents import without_nul
from perspective_rag_serve.view import span_of
from perspective_rag_serve.writing import plain
from perspective_rag_train.append_log import slug
from perspective_rag_train.dataset.review import read_decisions
from tests.hardening.shapes import shapes

SHORT, MIDDLE = 1_000, 10_000  # each also at ten times the length
SLOWEST = 2
GROWTH = 30
LEAST = 0.003  # seconds; less is measured badly
PROMPT = Prompt("a_prompt", "what the user says")


def seconds(function: Callable[[str], Any], text: str) -> float:
    """Processor time of this thread, so that a busy machine does not count."""
    started = time.thread_time()
    with contextlib.suppress(PerspectiveRAGError):
        function(text)
    return time.thread_time() - started


def expect_linear(function: Callable[[str], Any], shape: str, length: int) -> float:
    """Seconds for a shape of ten times the length; fails where that is too many."""
    for last in (False, False, True):
        short = seconds(function, shapes(length)[shape])
        long = seconds(function, shapes(10 * length)[shape])
        growth = long / max(short, LEAST)
        if growth <= GROWTH:
            return long
        assert not last, f"{shape}: {10 * length} characters took {growth:.0f} times as long"
    raise AssertionError


def check(function: Callable[[str], Any], *, long: bool) -> None:
    """All shapes of 10^4 characters; ``long``: those that took longest, of 10^5."""
    seconds(function, "Should zoos be closed?")  # what is read once is read now
    times = {shape: expect_linear(function, shape, SHORT) for shape in shapes(1)}
    if long:
        for shape in heapq.nlargest(SLOWEST, times, key=times.__getitem__):
            expect_linear(function, shape, MIDDLE)


def _file(reader: Callable[..., Any], name: str) -> Callable[[str], Any]:
    """A reader of files, given a text."""

    def read(text: str, folder: Path) -> None:
        path = folder / name
        path.write_text(text, encoding="utf-8", errors="replace", newline="")
        list(reader(path, lambda line, problem: None))

    return read


def _result(text: str) -> RetrievalResult:
    extraction = extract_by_rule("Should zoos be closed?")
    found = Candidate(Passage("1", text, {"title": text}), 1.0)
    return RetrievalResult(text, (found,), extraction.perspectives, None, Trace())


def _candidates(text: str) -> list[Candidate]:
    return [Candidate(Passage("1", text), 1.0)]


def _judged_result(text: str) -> RetrievalResult:
    """The passage and its like, each listed under one of two sides."""
    plain = _result(text)
    found = tuple(
        Candidate(Passage(each, text, {"title": text, "source": text}), 1.0, {"relevance": 0.5})
        for each in "ab"
    )
    rule = ListingRule(0.5, 0.5)
    coverage = Coverage(plain.perspectives, np.array([[0.9, 0.1], [0.1, 0.9]]), rule)
    return replace(plain, question="Should zoos be closed?", candidates=found, coverage=coverage)


def from_json_or_not(text: str) -> None:
    """What is no JSON is told."""
    with contextlib.suppress(ValueError):
        from_json(text)


def _grounded(text: str) -> Answer:
    flow = GroundedAnswerer(_Replies(text)).answer(_result(text[:1_000]))
    return run(flow)


class _Replies:
    name = "replies"

    def __init__(self, text: str) -> None:
        self._text = text

    def complete(self, prompt: Prompt) -> Completion:
        return Completion(self._text)

    async def acomplete(self, prompt: Prompt) -> Completion:
        return Completion(self._text)


def _growing(text: str) -> None:
    whole = '{"claims": [' + json.dumps({"text": text}) + text
    list(claims_in(whole[start : start + 8] for start in range(0, len(whole), 8)))


def _filled(text: str) -> Prompt:
    return PromptTemplate("own", text, f"{{{{question}}}} {text}", "hash").fill(
        question=text, a="b"
    )


QUESTIONS: dict[str, Callable[[str], Any]] = {
    "extract_by_rule": extract_by_rule,
    "both_sides": both_sides,
    "negate": negate,
    "negation_of": lambda text: negation_of(text, trusted=True),
    "statement_of": statement_of,
    "as_statement": lambda text: as_statement(text, trusted=True),
    "as_statement_about a label": lambda text: as_statement_about("Should zoos close?", text),
    "as_statement_about a question": lambda text: as_statement_about(text, "yes"),
    "stand_alone": stand_alone,
    "topic_words": topic_words,
    "caution": lambda text: caution(text, found=False, judge=None),
    "upper_first": upper_first,
    "mid_sentence": mid_sentence,
    "bare": bare,
    "follow_up": lambda text: follow_up(text, "Should zoos be closed?"),
    "follow_up of a question": lambda text: follow_up("and in Europe?", text),
    "is_chat": is_chat,
    "unique_queries": lambda text: unique_queries(text, [Query(text + "x", "p1")], limit=4),
}
PASSAGES: dict[str, Callable[[str], Any]] = {
    "split_sentences": split_sentences,
    "words": words,
    "text_key": text_key,
    "seen_keys": seen_keys,
    "printable": printable,
    "normalised_text": normalised_text,
    "without_nul": without_nul,
    "nfkc": nfkc,
    "passage_key": lambda text: passage_key(Passage("", text, {"source": text})),
    "personal": personal,
    "windows": lambda text: windows(text, 60),
    "telling": lambda text: telling(windows(text, 60), text),
    "titled_pieces": lambda text: titled_pieces(Passage("1", text, {"title": text}), text),
    "shares_words": lambda text: shares_words(text, text + "x"),
    "standing": lambda text: standing(_judged_result(text)),
    "nearest": lambda text: nearest([text[:1_000]], quotable(_candidates(text), [0]), 5),
    "judged answer": lambda text: run(ExtractiveAnswerer().answer(_judged_result(text))),
    "annotations": lambda text: annotations_of(_judged_result(text)),
    "count_words": count_words,
    "plain": plain,
    "span_of": lambda text: span_of(text[:100], text),
    "find_quote": lambda text: find_quote(text[1:400], text),
    "split_text": split_text,
    "first_copies": lambda text: first_copies([text, text]),
    "is_reported": is_reported,
    "only_reports": only_reports,
    "without_markers": without_markers,
    "markers_of": markers_of,
    "valid": valid,
    "escaped": escaped,
    "quotable": lambda text: quotable([Candidate(Passage("1", text), 1.0)], [0]),
    "extractive answer": lambda text: run(ExtractiveAnswerer().answer(_result(text))),
    "without_marks": without_marks,
    "without_headings": without_headings,
    "tellable": lambda text: tellable([Candidate(Passage("1", text), 1.0)], [0]),
    "polished": polished,
    "stands_alone": stands_alone,
    "restates": lambda text: restates(text, text + " because"),
    "demands": demands,
    "argues": argues,
    "tells": tells,
    "fence": lambda text: fence([text]),
    "shorten": lambda text: shorten(text, 50_000),
    "fill": _filled,
    "result in lines": lambda text: str(_result(text)),
    "write_json": lambda text: write_json(_result(text), Answer(())),
    "slug": slug,
    "redacted": redacted,
    "without_secrets": lambda text: without_secrets(text, [text[: len(text) // 2], "another"]),
    "degrade": lambda text: degrade("judge", text, ValueError(text)),
    "unknown_name": lambda text: unknown_name(text, ["judge", "k"], "option"),
    "public_address": public_address,
}
REPLIES: dict[str, Callable[[str], Any]] = {
    "reply_text": lambda text: reply_text(Reply(Completion(text)), PROMPT),
    "strip_reasoning": strip_reasoning,
    "is_refusal": is_refusal,
    "is_usable": is_usable,
    "parse_list": parse_list,
    "parse_texts": lambda text: parse_texts(text, PROMPT, keys=("perspectives",)),
    "parse_yes_no": parse_yes_no,
    "distinct": lambda text: distinct([text, text]),
    "bare_token": bare_token,
    "choice_of": lambda text: choice_of(text, ["yes", "no"]),
    "from_json": from_json_or_not,
    "json_object": lambda text: json_object(text, "a.jsonl:1"),
    "report_in": lambda text: report_in({REPORT: text}),
    "grounded answer": _grounded,
    "claims_in": _growing,
    "misquoted": lambda text: misquoted(Claim(text, ()), [text]),
}
FILES: dict[str, Callable[[str, Path], Any]] = {
    "text file": _file(text_record, "a.txt"),
    "Markdown file": _file(markdown_record, "a.md"),
    "HTML file": _file(html_record, "a.html"),
    "JSON lines": _file(jsonl_records, "a.jsonl"),
    "CSV": _file(csv_records, "a.csv"),
    "prompt file": _file(lambda path, report: [read_prompt(path)], "a.txt"),
    "review file": _file(lambda path, report: read_decisions(path), "a.md"),
}


LONG = pytest.mark.parametrize(
    "long", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["10^4", "10^5"]
)
WHOLE_ANSWERS = {"extractive answer", "grounded answer", "judged answer"}
"""What takes long at 10^4 as well; their parts are tested by themselves."""


def names(functions: Mapping[str, Any]) -> list[Any]:
    """Those of the functions, of which whole answers are slow tests."""
    return [
        pytest.param(name, marks=pytest.mark.slow) if name in WHOLE_ANSWERS else name
        for name in functions
    ]


@LONG
@pytest.mark.parametrize("name", QUESTIONS)
def test_what_reads_questions(name, long):
    check(QUESTIONS[name], long=long)


@LONG
@pytest.mark.parametrize("name", names(PASSAGES))
def test_what_reads_passages(name, long, capsys):
    check(PASSAGES[name], long=long)


@LONG
@pytest.mark.parametrize("name", names(REPLIES))
def test_what_reads_replies_of_models(name, long):
    check(REPLIES[name], long=long)


@LONG
@pytest.mark.parametrize("name", FILES)
def test_what_reads_files(name, long, tmp_path):
    check(lambda text: FILES[name](text, tmp_path), long=long)


@pytest.mark.parametrize("given", [None, ["Zoos are cruel", "Zoos teach"]])
@pytest.mark.parametrize("times", [1, 100])
async def test_a_question_is_not_read_in_the_event_loop(given, times, monkeypatch):
    readers = []

    def noted(*args, **kwargs):
        readers.append(threading.get_ident())
        return read(*args, **kwargs)

    read = rules.read
    monkeypatch.setattr(rules, "read", noted)
    pipeline = PerspectivePipeline(MemoryStore(SAMPLE), embedder=HashEmbedder())
    await pipeline.aretrieve("Should zoos be closed? " * times, perspectives=given)
    assert readers
    assert threading.get_ident() not in readers


# Names and arguments of a command are short; the parts of ``extract`` get what ``cleaning.shortened``
# left of a question, 2,000 characters at most.
SHORT_TEXTS = (
    "perspective_rag.__main__",
    "perspective_rag.commands.",
    "perspective_rag.perspectives.",
    "perspective_rag.judge.llm",
    "perspective_rag.testing.",
)


OF_NAMES = {
    "check_labels",
    "check_of",
    "described_base",
    "has_part",
    "is_language",
    "is_public",
    "is_secret",
    "key_of",
    "load_prompt",
    "load_torch",
    "make_sink",
    "part",
}
TEXTS = {"str", "str | bytes", "list[str]", "Sequence[str]", "Iterable[str]"}
"""What a function of texts takes, besides options."""


def test_every_function_of_a_text_is_tested():
    tested = {*QUESTIONS, *PASSAGES, *REPLIES, *FILES, *OF_NAMES}
    missing = []
    for module in pkgutil.walk_packages(perspective_rag.__path__, "perspective_rag."):
        if module.name.startswith(SHORT_TEXTS):
            continue
        for name, function in vars(import_module(module.name)).items():
            if not inspect.isfunction(function) or function.__module__ != module.name:
                continue
            needed = {
                each.annotation
                for each in inspect.signature(function).parameters.values()
                if each.default is each.empty
            }
            of_texts = needed and needed <= TEXTS and not needed <= {"Sequence[str]"}
            if of_texts and not name.startswith("_") and name not in tested:
                missing.append(f"{module.name}.{name}")
    assert missing == []
