"""Every effect is a step: what a step alone, or a component of one's own, may and may not do."""

from __future__ import annotations

import threading
import traceback

import numpy as np
import pytest

from perspective_rag.errors import ConfigError, PerspectiveRAGError, RetrievalError
from perspective_rag.flow.driver import run
from perspective_rag.flow.request import Recorder, degrade, note
from perspective_rag.flow.steps import call
from perspective_rag.judge.support import judge as judge_step
from perspective_rag.local.stores import NumpyStore
from perspective_rag.perspectives.find import extract
from perspective_rag.perspectives.queries import expand
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.search.candidates import merge
from perspective_rag.search.search import search
from perspective_rag.testing import HashEmbedder
from perspective_rag.types import Passage, Perspective, Query

QUESTION = "Should zoos be closed?"
TEXTS = ["Zoos should be closed.", "Zoos should not be closed.", "Zoos sell tickets."]


def corpus():
    passages = [Passage(str(i), text) for i, text in enumerate(TEXTS)]
    return NumpyStore(passages, HashEmbedder().embed_passages(TEXTS))


def pipeline(**given):
    return PerspectivePipeline(corpus(), embedder=HashEmbedder(), k=2, **given)


class PlainJudge:
    """A judge whose ``judge`` is a plain function that returns ``value(perspectives, passages)``."""

    name = "mine"
    threshold = 0.5

    def __init__(self, value):
        self.value = value

    def judge(self, perspectives, passages):
        return self.value(perspectives, passages)


def halves(perspectives, passages):
    """The passages support the first and the second perspective in turn."""
    table = np.full((len(passages), len(perspectives)), 0.25)
    for i in range(len(passages)):
        table[i, i % len(perspectives)] = 0.75
    return table


@pytest.mark.parametrize("convert", [np.asarray, lambda rows: rows.tolist()], ids=["array", "list"])
def test_a_judge_may_return_its_table(convert):
    result = pipeline(judge=PlainJudge(lambda *asked: convert(halves(*asked)))).retrieve(QUESTION)
    assert result.coverage.judged
    assert result.coverage.complete
    assert set(result.candidates[0].support.values()) == {0.25, 0.75}


class Returns:
    """An extractor and an expander that return what they were given."""

    def __init__(self, found):
        self.found = found

    def extract(self, question):
        return self.found

    def expand(self, question, perspectives):
        return self.found


async def coroutine(*asked):
    return halves(*asked)


def rows(*asked):
    yield from halves(*asked)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"judge": PlainJudge(lambda *asked: "yes")}, "judge 'mine' returned .*numbers of shape"),
        ({"judge": PlainJudge(lambda *asked: [["?"]])}, "judge 'mine' returned .*numbers of shape"),
        ({"judge": PlainJudge(coroutine)}, "coroutine.*plain function or a flow"),
        ({"judge": PlainJudge(rows)}, "a flow yields lists of Call"),
        ({"extractor": Returns(7)}, "extractor Returns returned 7; expected an Extraction"),
        ({"expander": Returns(None)}, "expander Returns returned None; expected a list of Query"),
    ],
)
def test_what_a_component_must_not_return_is_an_error_that_says_what_it_must(parts, words):
    with pytest.raises(ConfigError, match=words):
        pipeline(**parts).retrieve(QUESTION)


def test_extractors_and_expanders_may_return_texts():
    extractor = Returns(["Zoos should be closed.", Perspective("keep", "Zoos should stay open.")])
    expander = Returns(["zoo tickets", Query("animals")])
    result = pipeline(extractor=extractor, expander=expander).retrieve(QUESTION)
    assert [p.id for p in result.perspectives] == ["p1", "keep"]
    assert [q.text for q in result.trace.queries] == [QUESTION, "zoo tickets", "animals"]


@pytest.mark.parametrize("error", [StopIteration("x"), GeneratorExit(), RecursionError()])
@pytest.mark.parametrize("as_flow", [False, True])
@pytest.mark.parametrize("drive", ["sync", "async"])
async def test_no_stop_of_a_component_passes_as_a_result(error, as_flow, drive):
    def raises(*asked):
        raise error

    def flow(*asked):
        raise error
        yield

    def called(*asked):
        reply = yield from call("judge", raises)
        raise reply.error

    for value in (flow, called) if as_flow else (raises,):
        one = pipeline(judge=PlainJudge(value))
        if isinstance(error, GeneratorExit) and value is raises:
            with pytest.raises(GeneratorExit):  # raised by a plain function: never a result
                one.retrieve(QUESTION)
            continue
        result = one.retrieve(QUESTION) if drive == "sync" else await one.aretrieve(QUESTION)
        assert len(result.passages) == 2
        assert {d.stage for d in result.trace.degradations} == {"judge"}


def test_a_step_run_alone_has_the_time_out_and_the_trace_of_the_request():
    release = threading.Event()

    class Stuck(PlainJudge):
        def judge(self, perspectives, passages):
            reply = yield from call("judge", release.wait)
            if reply.error is not None:
                raise reply.error
            return halves(perspectives, passages)

    one = pipeline(judge=Stuck(None), timeout=0.05)
    request = one.request(QUESTION)
    extraction = one.run_step(extract(request, one.extractor), request)
    queries = one.run_step(expand(request, one.expander, extraction), request)
    rankings = one.run_step(search(request, extraction, queries), request)
    candidates = one.run_step(merge(request, rankings), request)
    judged = one.run_step(judge_step(request, extraction, candidates), request)
    release.set()
    assert not any(c.support for c in judged)
    trace = request.recorder.trace()
    assert trace.queries == tuple(queries)
    assert trace.calls["judge"] == 1
    assert "did not answer within" in str(trace.degradations[0].error)


def test_notes_add_counts_and_decisions_without_a_call():
    def flow():
        note(counts={"seen": 2}, decision={"stage": "x"})
        note(counts={"seen": 1}, queries=[Query("q")])
        degrade("x", "one")
        degrade("x", "two")
        yield []

    recorder = Recorder()
    run(flow(), recorder)
    trace = recorder.trace()
    assert (trace.counts, trace.calls, trace.decisions) == ({"seen": 3}, {}, ({"stage": "x"},))
    assert trace.queries == (Query("q"),)
    assert [each.message for each in trace.degradations] == ["one", "two"]


def test_one_dedup_key_that_fails_is_recorded_once_and_strict_mode_raises_it():
    def broken(passage):
        raise KeyError("url")

    one = pipeline(dedup_key=broken, judge=PlainJudge(halves))
    result = one.retrieve(QUESTION)
    assert [d.stage for d in result.trace.degradations] == ["merge"]
    assert len({p.id for p in result.passages}) == 2
    with pytest.raises(PerspectiveRAGError, match="dedup_key failed"):
        one.retrieve(QUESTION, strict=True)


def test_a_store_that_is_bound_to_a_thread_is_searched_in_the_callers_thread_in_turn():
    seen = []

    class Bound(NumpyStore):
        thread_bound = True

        def search(self, text, vector, *, k, filter=None):
            seen.append(threading.get_ident())
            return super().search(text, vector, k=k, filter=filter)

    passages = [Passage(str(i), text) for i, text in enumerate(TEXTS)]
    store = Bound(passages, HashEmbedder().embed_passages(TEXTS))
    one = PerspectivePipeline(store, embedder=HashEmbedder(), k=2)
    assert len(one.retrieve(QUESTION).passages) == 2
    assert set(seen) == {threading.get_ident()}
    assert len(seen) == 3


@pytest.mark.parametrize("drive", ["sync", "async"])
async def test_the_traceback_of_a_failing_store_names_the_steps_to_it(drive):
    class Down(NumpyStore):
        def search(self, text, vector, *, k, filter=None):
            raise ConnectionError("down")

    passages = [Passage(str(i), text) for i, text in enumerate(TEXTS)]
    store = Down(passages, HashEmbedder().embed_passages(TEXTS))
    one = PerspectivePipeline(store, embedder=HashEmbedder())
    with pytest.raises(RetrievalError) as caught:
        one.retrieve(QUESTION) if drive == "sync" else await one.aretrieve(QUESTION)
    steps = [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert steps.index("_retrieve") < steps.index("search")
    cause = traceback.extract_tb(caught.value.__cause__.__traceback__)
    assert cause[-1].line == 'raise ConnectionError("down")'
