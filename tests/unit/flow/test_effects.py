"""Every effect is a step: what a step alone, or a component of one's own, may and may not do."""

from __future__ import annotations

import threading
import traceback

import numpy as np
import pytest

from perspective_rag.errors import ConfigError, JudgeError, PerspectiveRAGError, RetrievalError
from perspective_rag.flow.driver import arun, run
from perspective_rag.flow.request import Recorder, degrade, note
from perspective_rag.flow.steps import call, complete
from perspective_rag.judge.cache import CachedJudge
from perspective_rag.judge.support import judge as judge_step
from perspective_rag.local.indexes import NumpyStore
from perspective_rag.perspectives.find import extract
from perspective_rag.perspectives.queries import expand
from perspective_rag.pipeline import PerspectivePipeline
from perspective_rag.search.candidates import merge
from perspective_rag.search.search import search
from perspective_rag.testing import HashEmbedder
from perspective_rag.types import Extraction, Passage, Perspective, Query

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


@pytest.mark.parametrize("value", [None, "yes", {"a": 1}, object(), [["?"]]])
def test_what_is_no_table_is_an_error_that_names_the_judge_and_what_it_must_return(value):
    with pytest.raises(ConfigError, match=r"judge 'mine' returned .*expected numbers of shape"):
        pipeline(judge=PlainJudge(lambda *asked: value)).retrieve(QUESTION)


def test_a_coroutine_is_an_error_that_says_what_to_use():
    class Async(PlainJudge):
        async def judge(self, perspectives, passages):
            return halves(perspectives, passages)

    with pytest.raises(ConfigError, match=r"coroutine.*plain function or a flow"):
        pipeline(judge=Async(None)).retrieve(QUESTION)


def test_a_generator_that_yields_no_steps_is_an_error():
    def rows(perspectives, passages):
        yield from halves(perspectives, passages)

    with pytest.raises(ConfigError, match="a flow yields lists of Call"):
        pipeline(judge=PlainJudge(rows)).retrieve(QUESTION)


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


def test_an_extractor_may_return_perspectives_or_an_extraction():
    class Named:
        def __init__(self, found):
            self.found = found

        def extract(self, question):
            return self.found

    sides = ["Zoos should be closed.", Perspective("keep", "Zoos should stay open.")]
    assert [p.id for p in pipeline(extractor=Named(sides)).retrieve(QUESTION).perspectives] == [
        "p1",
        "keep",
    ]
    whole = Extraction(QUESTION, (Perspective("one", "Zoos teach."),))
    assert len(pipeline(extractor=Named(whole)).retrieve(QUESTION).perspectives) == 1
    with pytest.raises(ConfigError, match="extractor Named returned 7; expected an Extraction"):
        pipeline(extractor=Named(7)).retrieve(QUESTION)


def test_an_expander_may_return_queries_or_strings():
    class Words:
        def __init__(self, found):
            self.found = found

        def expand(self, question, perspectives):
            return self.found

    result = pipeline(expander=Words(["zoo tickets", Query("animals")])).retrieve(QUESTION)
    assert [q.text for q in result.trace.queries] == [QUESTION, "zoo tickets", "animals"]
    with pytest.raises(ConfigError, match="expander Words returned None; expected a list of Query"):
        pipeline(expander=Words(None)).retrieve(QUESTION)


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


def test_a_step_run_alone_is_strict_where_the_request_is():
    def broken(*asked):
        raise ValueError("no weights")

    one = pipeline(judge=PlainJudge(broken))
    request = one.request(QUESTION, strict=True)
    extraction = one.run_step(extract(request, one.extractor), request)
    candidates = [*one.retrieve(QUESTION, coverage="off").candidates]
    with pytest.raises(JudgeError, match="no weights"):
        one.run_step(judge_step(request, extraction, candidates), request)


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


def test_a_plain_component_notes_too_and_outside_of_a_request_it_is_logged(caplog):
    def noting(perspectives, passages):
        note(counts={"seen": 1})
        degrade("judge", "half asleep")
        return halves(perspectives, passages)

    trace = pipeline(judge=PlainJudge(noting)).retrieve(QUESTION).trace
    assert trace.counts["seen"] == 1
    assert {each.message for each in trace.degradations} == {"half asleep"}
    caplog.clear()
    degrade("judge", "nobody asked")
    assert "nobody asked" in caplog.text


def test_counting_verdicts_from_a_cache_makes_no_call_of_its_own(tmp_path):
    class Known(PlainJudge):
        revision = "1"

    cached = CachedJudge(Known(halves), tmp_path / "verdicts.sqlite")
    result = pipeline(judge=cached).retrieve(QUESTION)
    assert result.trace.counts["cached_pairs"] == 0
    assert result.trace.calls["judge_cache"] == 2  # one to read, one to write


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


async def test_plain_values_pass_through_both_drivers():
    assert run(complete(7, "x", "y")) == 7
    assert await arun(complete(7, "x", "y")) == 7
    assert run(7) == 7


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
