"""The chatbot as a user runs it: the real embedder, the real judge, the sample debates."""

from __future__ import annotations

import gzip
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "debate_assistant.py"


@pytest.fixture(scope="module")
def assistant():
    spec = importlib.util.spec_from_file_location("debate_assistant", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["debate_assistant"] = module
    spec.loader.exec_module(module)
    return module


def ask(assistant, capsys, tmp_path, *arguments):
    code = assistant.main(["--cache", str(tmp_path), *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_the_demo_shows_both_sides_with_citations(assistant, capsys, tmp_path):
    code, out, _ = ask(
        assistant,
        capsys,
        tmp_path,
        "--question",
        "Should social media be banned for children?",
        "--json",
    )
    assert code == 0
    document = json.loads(out)
    result, answer = document["result"], document["answer"]
    assert [p["id"] for p in result["perspectives"]] == ["support", "oppose"]
    returned = {c["id"] for c in result["candidates"]}
    assert len(returned) == 6
    assert answer["claims"]
    for claim in answer["claims"]:
        assert claim["citations"]
        assert set(claim["citations"]) <= returned
    assert result["trace"]["degradations"] == []


def test_a_question_without_sides_and_sides_of_ones_own(assistant, capsys, tmp_path):
    code, out, _ = ask(assistant, capsys, tmp_path, "--question", "What is a basic income?")
    assert code == 0
    assert "Passages" in out
    clear = "Private cars should be banned from city centres."
    sides = ["--perspective", clear, "--perspective", "Submarines are good pets."]
    code, out, _ = ask(assistant, capsys, tmp_path, "--question", "What about cars?", *sides)
    assert code == 0
    assert "Submarines are good pets." in out


def test_malformed_lines_are_reported_and_the_rest_is_used(assistant, capsys, tmp_path):
    corpus = tmp_path / "mixed.jsonl.gz"
    with gzip.open(corpus, "wt", encoding="utf-8") as file:
        file.write('{"id": "a", "text": "Zoos should be closed because cages are cruel."}\n')
        file.write("{broken\n")
        file.write('{"id": "b", "text": "Zoos should not be closed: they protect rare species."}\n')
    code, out, _ = ask(
        assistant, capsys, tmp_path, "--corpus", str(corpus), "--question", "Should zoos be closed?"
    )
    assert code == 0
    assert "mixed.jsonl.gz" in out
    assert "2" in out
    assert "cages are cruel" in out
    assert "rare species" in out


@pytest.mark.parametrize(
    "arguments", [["--corpus", "nowhere.jsonl"], ["--question", " "], ["-k", "0"]]
)
def test_bad_input_is_one_clear_line(assistant, capsys, tmp_path, arguments):
    code, out, err = ask(
        assistant,
        capsys,
        tmp_path,
        *["--question", "Should zoos be closed?"][: 0 if "--question" in arguments else 2],
        *arguments,
    )
    assert code == 2
    assert "Traceback" not in out + err
    assert out.strip()


def test_the_dense_index_is_kept_and_refused_for_another_corpus(assistant, capsys, tmp_path):
    arguments = ["--dense", "--question", "Should zoos be closed?", "--json"]
    first = ask(assistant, capsys, tmp_path, *arguments)
    second = ask(assistant, capsys, tmp_path, *arguments)
    assert first[0] == second[0] == 0
    ids = [[c["id"] for c in json.loads(run[1])["result"]["candidates"]] for run in (first, second)]
    assert ids[0] == ids[1]


def test_the_chat_answers_keeps_going_after_a_mistake_and_ends():
    lines = "Should zoos be closed?\n/what\n/sides Zoos teach children | Zoos are cruel\nzoos\n/auto\n\n/quit\n"
    done = subprocess.run(
        [sys.executable, str(SCRIPT)],
        input=lines,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert "Zoos should not be closed" in done.stdout
    assert "Commands:" in done.stdout
    assert "Zoos are cruel" in done.stdout
