"""Files and texts of JSON from outside: read, or refused with an error of the library.

A good document of each kind has each of its values, at any depth, replaced by each of what JSON can
hold; and each reader is given texts that are no JSON, or no such document at all.
"""

from __future__ import annotations

import ast
import copy
import json
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import perspective_rag
from benchmarks.web.corpora import WebCorpus
from benchmarks.web.search_results import WebResult
from perspective_rag import PerspectivePipeline, PerspectiveRAGError
from perspective_rag.annotations import REPORT, annotations_of
from perspective_rag.audit.questions import read_audit_questions, with_perspectives
from perspective_rag.errors import CorpusError
from perspective_rag.extend import report_in
from perspective_rag.judge.settings import JudgeSettings, TwoSidedSettings
from perspective_rag.judge.windows import windows
from perspective_rag.local.corpus import Corpus
from perspective_rag.options import Calibration
from perspective_rag.perspectives.reading import RuleExtractor
from perspective_rag.testing import SAMPLE, HashEmbedder, MemoryStore, RuleJudge
from perspective_rag.text import from_json
from perspective_rag.types import PACKAGED, ListingRule
from perspective_rag_train.append_log import AppendLog
from perspective_rag_train.calibrate.marks import read_rows

DEEP = "[" * 100_000
TEXTS = [
    "", " ", "null", "1", '"text"', "[]", "{}", "[1, 2]", DEEP, DEEP + "]" * 100_000,
    '{"a":' * 100_000, "9" * 10_000, "NaN", '{"a": NaN}', '"\\ud800"', "{'a': 1}", "\x00", "\ufeff{}",
    '{"a": 1', '{"a": 1e999}',
]  # fmt: skip
VALUES = [
    None, True, 0, -1, 10**30, 1.5, -0.5, 1e308, float("nan"), float("inf"), "", "text", "\ud800",
    "for", [], [1], ["a", 2], {}, {"a": 1}, [[]],
]  # fmt: skip

MARKED = {
    "mark": "for",
    "question": "Should zoos be closed?",
    "for": "Zoos should be closed",
    "against": "Zoos should stay",
    "title": "A title",
    "text": "Zoos are cruel.",
    "passage": "p1",
    "stands_for": 2.5,
}
QUESTION = {
    "id": "q1",
    "question": "Should zoos be closed?",
    "perspectives": [{"id": "a", "text": "Zoos are cruel", "stance": "support"}, "Zoos teach"],
    "wordings": {"support": "why close zoos", "oppose": "why keep zoos"},
}
CALIBRATION = Calibration(
    "encoder", "judge", PACKAGED, PACKAGED, ListingRule(0.7, 0.5), {"marks": {"marked": 3}}
).to_dict()
WEIGHED = {"weights": {"own": 1.0, "bias": 0.1}, "listing": 0.7, "searching": 0.5}
JUDGE = {
    "threshold": 0.5,
    "temperature": 1.5,
    "max_words": 100,
    "version": "1",
    "listing": 0.6,
    "overlap": 10,
}
CORPUS = {"id": "1", "title": "A title", "text": "Zoos are cruel.", "year": 1999}


def a_file(name, read):
    def reader(text, folder):
        path = folder / name
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        return read(path)

    return reader


def used(calibration):
    judge = RuleJudge(lambda passage, perspective: 0.5)
    pipeline = PerspectivePipeline(
        MemoryStore(SAMPLE), embedder=HashEmbedder(), judge=judge, calibration=calibration
    )
    json.dumps(calibration.to_dict())
    return pipeline.retrieve("Should zoos be closed?")


def questions(path):
    found = read_audit_questions(path)
    return with_perspectives(found, RuleExtractor())


def logged(path):
    log = AppendLog(path.parent / "log", "a", {"of": "this"})
    log.close()
    head = log.path.read_bytes()
    log.path.write_bytes(head + path.read_bytes() + b"\n")
    with AppendLog(path.parent / "log", "a", {"of": "this"}) as again:
        return dict(again.values)


def report(text, folder):
    found = report_in({REPORT: text})
    return "; ".join(found["perspectives"])


def rows(path):
    found = read_rows(path)
    assert all(0.0 < row.stands_for < float("inf") for row in found)
    return [(row.to_dict(), {row.sides: row.question}) for row in found]


def settings(path):
    found = JudgeSettings.of(path.parent)
    assert np.isfinite([found.threshold / 2, found.temperature / 2, found.neutral_bias / 2]).all()
    assert found.max_tokens + found.long_words >= 0
    return windows("Zoos are cruel. " * 50, max(1, found.max_words))


READERS = {
    "marks": (a_file("marks.jsonl", rows), MARKED),
    "questions": (a_file("q.jsonl", questions), QUESTION),
    "calibration": (a_file("c.json", lambda path: used(Calibration.of(path))), CALIBRATION),
    "judge": (a_file("judge.json", settings), JUDGE),
    "two sides": (
        a_file("judge.json", lambda path: TwoSidedSettings.of(path.parent)),
        {"two_sides": {"alone": WEIGHED, "relevant": WEIGHED}},
    ),
    "corpus": (a_file("c.jsonl", lambda path: Corpus.load(path)), CORPUS),
    "log": (a_file("log.txt", logged), ["id", {"value": 1}]),
    "report": (report, None),
}


def a_report():
    judge = RuleJudge(lambda passage, perspective: 0.9 if perspective.stance == "support" else 0.1)
    pipeline = PerspectivePipeline(MemoryStore(SAMPLE), embedder=HashEmbedder(), judge=judge)
    result = pipeline.retrieve("Should zoos be closed?")
    return json.loads(annotations_of(result)[0][REPORT])


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in items if isinstance(value, (dict, list)) else ():
        if isinstance(each, (dict, list)):
            yield from places(each, (*path, key))
        else:
            yield (*path, key)


def replaced(document, path, value):
    if not path:
        return value
    made = copy.deepcopy(document)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return made


def check(reader, text, folder):
    try:
        reader(text, folder)
    except PerspectiveRAGError as refused:
        error = refused
    else:
        return
    assert 0 < len(str(error)) < 2_000


@pytest.mark.parametrize("name", READERS)
@pytest.mark.filterwarnings("ignore")
def test_any_value_in_the_place_of_any_other_is_read_or_refused(name, tmp_path):
    reader, document = READERS[name]
    document = document or a_report()
    reader(json.dumps(document), tmp_path)
    for path in list(places(document)):
        for value in VALUES:
            check(reader, json.dumps(replaced(document, path, value)), tmp_path)


@pytest.mark.parametrize("name", READERS)
def test_a_text_that_is_no_such_document_is_read_or_refused(name, tmp_path):
    reader, _ = READERS[name]
    for text in TEXTS:
        check(reader, text, tmp_path)


@pytest.mark.parametrize("given", [None, 5, b"{}", {}, [], float("nan"), object()])
def test_a_report_that_is_no_text_is_refused(given):
    with pytest.raises(PerspectiveRAGError, match="holds no report"):
        report_in({REPORT: given})


class Web:
    """An engine, a fetcher and a reader of one page."""

    name = "web"

    def find(self, question, count):
        return [WebResult("http://a.example/", "A")]

    def fetch(self, url):
        return url

    def read(self, page):
        return "A title", "Zoos are cruel. " * 30


@pytest.mark.parametrize("kind", ["search", "page"])
def test_what_was_kept_of_the_web_and_is_damaged_is_fetched_anew(kind, tmp_path):
    corpus = WebCorpus(Web(), tmp_path, fetcher=Web())
    corpus.reader = Web()
    wanted = corpus.passages("q")
    [kept] = (tmp_path / kind).rglob("*.json")
    good = json.loads(kept.read_text())
    odd = [replaced(good, path, value) for path in places(good) for value in VALUES]
    for text in [*TEXTS, *map(json.dumps, odd)]:
        kept.write_bytes(text.encode("utf-8", "surrogatepass"))
        with suppress(CorpusError):  # a search without results, a page without a text
            corpus.passages("q")
    kept.write_text("{}")
    assert corpus.passages("q") == wanted
    assert json.loads(kept.read_text()) == good


def test_json_is_read_at_one_place():
    """A text that is nested too deep is no ValueError of ``json``, and so would be forgotten."""
    folder = Path(perspective_rag.__file__).parent
    calls = [
        f"{path.relative_to(folder)}:{node.lineno}"
        for path in sorted(folder.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr in ("loads", "load")
        and isinstance(node.value, ast.Name)
        and node.value.id == "json"
    ]
    assert [call.partition(":")[0] for call in calls] == ["text.py"]


@pytest.mark.parametrize("text", [DEEP, DEEP.encode()])
def test_what_is_nested_too_deep_is_a_value_error(text):
    with pytest.raises(ValueError, match=r"deep|Expecting"):
        from_json(text)
