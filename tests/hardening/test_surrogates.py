"""Halves of surrogate pairs, which nothing can encode, cost neither an answer nor other passages."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from perspective_rag import (
    CrossEncoderJudge,
    OnnxMiniLM,
    Passage,
    Perspective,
    PerspectivePipeline,
    Prompt,
    Query,
    local_pipeline,
    run,
)
from perspective_rag.cli import main
from perspective_rag.local.corpus import Corpus
from perspective_rag.local.corpus.records import decoded
from perspective_rag.prompts import fence
from perspective_rag.testing import SAMPLE, HashEmbedder, MemoryStore
from perspective_rag.text import valid

HALF = "\ud800"
QUESTION = "Should zoos be closed?"


def encodes(value):
    return value.encode("utf-8")


@pytest.mark.parametrize("text", ["a\ud800b", "\udfff", "é\udc80", "\ud83d\udc69"])
def test_a_valid_text_can_be_encoded_and_keeps_its_length(text):
    assert encodes(valid(text))
    assert len(valid(text)) == len(text)
    assert valid("日本 👩 é") == "日本 👩 é"


def test_what_flows_through_the_library_is_valid():
    source = object()
    passage = Passage(HALF, HALF, {"title": HALF}, source)
    assert encodes(passage.id + passage.text + passage.title)
    assert passage.source is source
    side = Perspective(HALF, HALF, "support", HALF)
    assert encodes(side.id + side.text + str(side.claim))
    prompt = Prompt("p", HALF, HALF)
    assert encodes(prompt.user + prompt.system + Query(HALF).text)


def test_one_such_passage_costs_no_other_its_verdict():
    judge = CrossEncoderJudge()
    sides = [Perspective("support", f"Zoos should be closed {HALF}")]
    passages = [Passage("1", "Zoos should be closed."), Passage("2", f"Zoos are cruel. {HALF}")]
    table = run(judge.judge(sides, passages))
    assert not np.isnan(table).any()


def test_an_embedder_gives_every_text_of_a_request_its_row(tmp_path):
    passages = [Passage(str(n), f"Zoos {HALF} should be closed {n}.") for n in range(3)]
    pipeline = local_pipeline(Corpus(passages), cache=tmp_path, embedder=OnnxMiniLM())
    result = pipeline.retrieve(f"Should zoos {HALF} be closed?")
    assert len(result.candidates) == 3
    assert not result.trace.degradations


async def test_a_question_with_half_a_pair_is_asked(tmp_path):
    pipeline = PerspectivePipeline(MemoryStore(SAMPLE), embedder=HashEmbedder())
    question = f"Should zoos {HALF} be closed?"
    assert pipeline.retrieve(question).candidates
    assert encodes((await pipeline.aretrieve(question)).question)


@pytest.fixture
def corpus(tmp_path):
    folder = tmp_path / "corpus"
    folder.mkdir()
    rows = [
        {"id": f"{n}", "text": f"Zoos should be closed, they are cruel {n}.", "title": "x\ud800",
         "more": {"\udc00": ["\ud800"]}}
        for n in range(6)
    ]  # fmt: skip
    rows += [{"id": "\ud800", "text": f"Zoos save animals \ud800 {n}."} for n in range(3)]
    (folder / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    page = "<title>caf\xe9</title><p>Zoos should stay open, children learn there.</p>"
    for charset in ("iso-8859-1", "utf-7", "unicode_escape", "idna", "punycode", "rot13", "x\x00"):
        markup = f'<meta charset="{charset}">{page}'.encode("latin-1")
        (folder / f"{len(charset)}-{charset[:4].strip(chr(0))}.html").write_bytes(markup)
    if sys.platform == "linux":
        name = os.fsencode(folder) + b"/caf\xe9.txt"
        Path(os.fsdecode(name)).write_text("Zoos are a place of learning for the young.")
        other = os.fsencode(folder) + b"/caf\xea.txt"
        Path(os.fsdecode(other)).write_text("Zoos are places where animals suffer.")
    return folder


def test_a_corpus_of_them_has_valid_and_different_ids(corpus):
    passages = Corpus.load(corpus).passages
    assert len({p.id for p in passages}) == len(passages) >= 16
    encodes("".join(p.id + p.text for p in passages))
    encodes(json.dumps([dict(p.metadata) for p in passages], ensure_ascii=False))


def test_ask_answers_and_writes_json(corpus, tmp_path, capsys):
    command = ["ask", f"{QUESTION} \udce9", f"--corpus={corpus}", f"--cache={tmp_path / 'c'}"]
    assert main(command) == 0
    assert encodes(capsys.readouterr().out)
    assert main([*command, "--json"]) == 0
    assert json.loads(encodes(capsys.readouterr().out))["result"]["candidates"]


def test_an_audit_is_written(corpus, tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    questions = tmp_path / "questions\udce9.jsonl"
    questions.write_text(json.dumps({"id": "\ud800", "question": f"{QUESTION} \ud800"}))
    out = tmp_path / "out"
    command = ["audit", str(questions), f"--corpus={corpus}", f"--out={out}"]
    command += [f"--cache={tmp_path / 'c'}", "--judge=hostile_parts:judge"]
    assert main(command) == 0, capsys.readouterr().err
    assert json.loads((out / "audit.json").read_bytes())["questions"]
    assert (out / "audit.html").read_bytes().decode("utf-8")
    assert encodes(capsys.readouterr().out)


@pytest.mark.parametrize("charset", ["idna", "punycode", "unicode_escape", "utf-7", "undefined"])
def test_encodings_that_are_no_pages_are_not_used(charset):
    problems = []
    text = decoded(b"a\\ud800 \xe9", lambda line, said: problems.append(said), charset)
    assert text == "a\\ud800 \ufffd"
    assert problems


def test_a_fence_around_them_is_made():
    assert fence(["a\ud800", "b"])
