"""The larger judge is found where its distribution is installed, and used where it is asked for."""

from __future__ import annotations

import logging
import sys
import types

import pytest

from perspective_rag import Corpus, CrossEncoderJudge, local_pipeline
from perspective_rag.local.wrapping import PACKAGE, larger_judge, second_judge_of
from perspective_rag.testing import HashEmbedder, TableJudge
from perspective_rag.types import Passage

SAID = "pip install perspective-rag-judge"


@pytest.fixture(autouse=True)
def fresh():
    larger_judge.cache_clear()
    yield
    larger_judge.cache_clear()


@pytest.fixture
def installed(monkeypatch, small_larger_judge):
    package = types.ModuleType(PACKAGE)
    package.weights = lambda: small_larger_judge
    monkeypatch.setitem(sys.modules, PACKAGE, package)


def corpus():
    texts = ["zoos teach children", "zoos: animals suffer there", "trams run here"]
    return Corpus([Passage(str(i), text) for i, text in enumerate(texts)])


def test_where_it_is_not_installed_nothing_is_read_again_and_that_is_said_once(caplog):
    with caplog.at_level(logging.INFO, "perspective_rag"):
        assert second_judge_of("default") is None
        made = local_pipeline(corpus(), embedder=HashEmbedder())
        local_pipeline(corpus(), embedder=HashEmbedder())
    assert made.second_judge is None
    assert [SAID in each.getMessage() for each in caplog.records] == [True]
    assert "read_again" not in made.retrieve("Should zoos be closed?").trace.counts


def test_a_distribution_without_its_weights_counts_as_absent(caplog, monkeypatch, tmp_path):
    package = types.ModuleType(PACKAGE)
    package.weights = lambda: tmp_path
    monkeypatch.setitem(sys.modules, PACKAGE, package)
    with caplog.at_level(logging.INFO, "perspective_rag"):
        assert larger_judge() is None
    assert "no model.onnx" in caplog.text


def test_the_local_pipeline_reads_again_where_the_larger_judge_is_installed(installed):
    made = local_pipeline(corpus(), embedder=HashEmbedder(), relevance_floor=-1.0)
    assert made.second_judge is larger_judge() is second_judge_of("default")
    result = made.retrieve("Do zoos teach children?")
    assert result.trace.counts["read_again"] > 0
    assert result.trace.seconds["second_reading"] > 0
    once = made.retrieve("Do zoos teach children?", reread_k=0)
    assert "second_reading" not in once.trace.calls


def test_a_judge_of_ones_own_is_not_read_behind(installed):
    assert second_judge_of(TableJudge({})) is None
    assert second_judge_of(None) is None
    own = local_pipeline(corpus(), embedder=HashEmbedder(), judge=TableJudge({}))
    assert own.second_judge is None
    asked = local_pipeline(corpus(), embedder=HashEmbedder(), llm_judge=CrossEncoderJudge())
    assert asked.second_judge is None
