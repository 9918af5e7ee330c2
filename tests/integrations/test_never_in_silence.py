"""What a wrapper cannot do as asked, it says: at construction, in the log, or to whoever listens."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

QUESTION = "Should zoos be closed?"
WITHOUT_RUNTIME = """
import sys
sys.modules["{missing}"] = None
from perspective_rag import MissingDependency
{make}
for build in builders:
    try:
        build("default")
    except MissingDependency as error:
        assert "perspective-rag[packaged-judge]" in str(error), error
    else:
        raise AssertionError(f"{{build}} was silent")
    build(None)
"""
BUILDERS = {
    "langchain": """
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_perspective_rag import PerspectiveCompressor, PerspectiveRetriever
store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
builders = [
    lambda judge: PerspectiveRetriever.wrap(store, judge=judge),
    lambda judge: PerspectiveCompressor(judge=judge),
]
""",
    "llama_index": """
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.schema import TextNode
from llama_index.retrievers.perspective_rag import PerspectivePostprocessor, PerspectiveRetriever
index = VectorStoreIndex([TextNode(text="a")], embed_model=MockEmbedding(4))
builders = [
    lambda judge: PerspectiveRetriever(index, judge=judge),
    lambda judge: PerspectivePostprocessor(judge=judge),
]
""",
    "haystack": """
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack_integrations.components.rankers.perspective_rag import PerspectiveRanker
from haystack_integrations.components.retrievers.perspective_rag import PerspectiveRetriever
store = InMemoryDocumentStore()
builders = [
    lambda judge: PerspectiveRetriever(document_store=store, judge=judge),
    lambda judge: PerspectiveRanker(judge=judge),
]
""",
}


@pytest.mark.parametrize("missing", ["onnxruntime", "tokenizers"])
def test_without_what_the_packaged_judge_runs_on_construction_raises(framework, missing):
    program = WITHOUT_RUNTIME.format(missing=missing, make=BUILDERS[framework])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Failing(Exception):
    """What a model or store raises here."""


def failing(kind):
    def pause(called):
        if called == kind:
            raise Failing(f"{kind} is down")

    return pause


def records(caplog):
    return [each for each in caplog.records if each.name == "perspective_rag"]


async def test_a_degradation_is_logged_once_in_a_request(wrapped, load, caplog):
    asking = wrapped(load.Probe(failing("judge")))
    for ask in (asking.ask, asking.aask):
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="perspective_rag"):
            found = ask(QUESTION)
            found = found if isinstance(found, list) else await found
        assert found, "the chain goes on"
        told = [each.perspective_rag["message"] for each in records(caplog)]
        assert told, "it says so"
        assert len(told) == len(set(told))
        assert all(each.levelno == logging.WARNING for each in records(caplog))
        assert {each.perspective_rag["stage"] for each in records(caplog)} == {"judge"}
        assert "judge is down" in records(caplog)[0].getMessage()


def test_strict_mode_raises_and_logs_nothing(wrapped, load, caplog):
    asking = wrapped(load.Probe(failing("judge")), strict=True)
    with pytest.raises(Exception, match="judge is down"):
        asking.ask(QUESTION)
    assert not records(caplog)


def test_a_question_that_the_rules_cannot_read_is_logged(wrapped, caplog):
    with caplog.at_level(logging.WARNING, logger="perspective_rag"):
        wrapped(strict=True).ask("Sollten die Zoos der Stadt geschlossen werden?")
    assert ["not English" in each.getMessage() for each in records(caplog)] == [True]


def one_connection(calls):
    """A store's pause: it takes one call at a time and refuses what comes meanwhile."""
    import threading
    import time

    busy = threading.Lock()

    def pause(kind):
        if kind != "store":
            return
        calls.append(kind)
        if not busy.acquire(blocking=False):
            raise RuntimeError("the connection is busy")
        time.sleep(0.05)
        busy.release()

    return pause


def test_searches_that_collide_are_made_again_in_turn(wrapped, load):
    calls = []
    report = wrapped(load.Probe(one_connection(calls)), guard_searches=0).report(QUESTION)
    assert not report.trace.degradations
    assert report.trace.decisions[-1]["stage"] == "search"
    assert len(calls) > len(report.trace.queries) == 3


def test_a_store_that_is_down_is_not_asked_again_and_again(wrapped, load):
    from perspective_rag import RetrievalError

    probe = load.Probe(failing("store"))
    with pytest.raises(RetrievalError, match="store is down"):
        wrapped(probe).ask(QUESTION)
    assert probe.made["store"] <= 4


def test_max_queries_is_one_budget_for_all_searches(wrapped):
    sides = ["Cages are iron.", "Tickets cost money.", "Lions sleep.", "Bears swim."]
    for most in (1, 2, 4, 6):
        result = wrapped(max_queries=most).report(QUESTION, perspectives=sides)
        assert result.trace.calls["search"] <= most
        assert len(result.trace.queries) <= most


def test_words_for_a_side_become_statements_about_the_question(wrapped):
    result = wrapped().report(QUESTION, perspectives=["yes", "no"])
    assert [each.text for each in result.perspectives] == [
        "Zoos should be closed",
        "Zoos should not be closed",
    ]
    texts = ["Cages are cruel.", "Breeding"]
    kept = wrapped().report(QUESTION, perspectives=texts)
    assert [each.text for each in kept.perspectives] == texts
    best = wrapped().report("Which is the best source of power?", perspectives=["nuclear"])
    assert best.perspectives[0].text == "Nuclear is the best source of power"
    open_question = wrapped().report("What should we do about zoos?", perspectives=["Close them."])
    assert open_question.perspectives[0].text == "Close them."


@pytest.mark.parametrize("name", ["score_threshold", "similarity_cutoff"])
def test_a_cut_off_is_told_its_name_here(wrapped, name):
    with pytest.raises(Exception, match="relevance_floor says"):
        wrapped(**{name: 0.5})
