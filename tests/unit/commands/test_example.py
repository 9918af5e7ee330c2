"""The sample files come with the package, and every command runs on them as the docs show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from perspective_rag import Corpus
from perspective_rag.cli import main
from perspective_rag.commands.example import write_example
from perspective_rag.errors import ConfigError
from perspective_rag.local.corpus.loading import EXAMPLE_DATA

ROOT = Path(__file__).parents[3]


def test_the_files_are_those_of_the_package(tmp_path):
    names = write_example(tmp_path / "new")
    assert {str(n) for n in names} >= {"questions.txt", "data.csv", "mine.py", "sources.jsonl"}
    for name in names:
        assert (tmp_path / "new" / name).read_bytes() == (EXAMPLE_DATA / name).read_bytes()
    assert write_example(tmp_path / "new") == names, "equal files are left as they are"


def test_a_file_of_ones_own_is_never_overwritten(tmp_path):
    (tmp_path / "questions.txt").write_text("mine\n")
    with pytest.raises(ConfigError, match=r"questions\.txt exists and is not the sample file"):
        write_example(tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == ["questions.txt"]


def test_all_sample_files_are_in_the_wheel():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    depths = {len(path.relative_to(EXAMPLE_DATA).parts) for path in EXAMPLE_DATA.rglob("*.*")}
    assert all(f'"local/corpus/example_data/{"/".join("*" * depth)}"' in text for depth in depths)


def test_the_sample_debates_are_a_corpus_and_lie_in_examples_too():
    corpus = Corpus.example()
    assert (len(corpus), corpus.problems) == (227, [])
    in_checkout = Corpus.load(ROOT / "examples" / "debates" / "passages.jsonl")
    assert in_checkout.fingerprint == corpus.fingerprint


def test_corpus_and_example_exclude_each_other(capsys):
    with pytest.raises(SystemExit):
        main(["ask", "Why?", "--example", "--corpus", "notes/"])
    assert "not allowed with" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["ask", "Why?"])
    assert "--corpus --example --index is required" in capsys.readouterr().err
