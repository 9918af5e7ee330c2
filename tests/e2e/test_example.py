"""Every command runs on the sample files as the docs show it."""

from __future__ import annotations

import json
import sys

import pytest

from perspective_rag.cli import main


@pytest.fixture
def here(tmp_path, monkeypatch):
    pytest.importorskip("onnxruntime")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    assert main(["example", "--to", "."]) == 0
    return tmp_path


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("Is remote work good for cities?", ["--corpus", "notes/"]),
        ("Is remote work good for cities?", ["--corpus", "data.csv"]),
        ("Should zoos be closed?", ["--example"]),
    ],
)
def test_both_sides_of_a_question_are_found_in_the_samples(here, capsys, question, source):
    capsys.readouterr()
    assert main(["ask", question, *source, "--json", "--cache", "cache"]) == 0
    assert json.loads(capsys.readouterr().out)["result"]["coverage"]["missing"] == []


def test_the_sample_retriever_is_audited(here):
    arguments = ["questions.txt", "--retriever", "mine:make", "--limit", "1", "--depth", "5"]
    assert main(["audit", *arguments, "--cache", "cache"]) == 0
    assert (here / "audit" / "audit.html").is_file()
