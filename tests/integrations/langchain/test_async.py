"""Nothing blocks the event loop, both paths agree, and one retriever serves many loops."""

from __future__ import annotations

import asyncio
import time

import pytest
from langchain_core.language_models import SimpleChatModel

from langchain_perspective_rag import PerspectiveCompressor, PerspectiveRetriever
from perspective_rag.testing import TableJudge

SIDES = '{"root": "Should zoos be closed?", "perspectives": ["breeding keeps species", "cages"]}'


class SlowModel(SimpleChatModel):
    """A chat model that has no async form of its own."""

    def _call(self, messages, stop=None, run_manager=None, **kwargs):
        time.sleep(0.1)
        return SIDES

    @property
    def _llm_type(self):
        return "slow"


async def longest_pause(awaitable):
    """The longest time between two ticks of a task that wants to run every 2 ms."""
    pauses, stop = [], asyncio.Event()

    async def beat():
        while not stop.is_set():
            before = time.perf_counter()
            await asyncio.sleep(0.002)
            pauses.append(time.perf_counter() - before)

    beating = asyncio.create_task(beat())
    started = time.perf_counter()
    result = await awaitable
    elapsed = time.perf_counter() - started
    stop.set()
    await beating
    return result, max(pauses), elapsed


@pytest.fixture
def slow_judge(judge):
    return TableJudge(judge.table, delay=0.1)


@pytest.mark.parametrize("kind", ["RecordingStore", "NetworkStore", "AsyncStore"])
async def test_r11_ainvoke_does_not_block(documents, slow_judge, debate, kind):
    store = getattr(debate, kind)(debate.WordEmbeddings(delay=0.1), delay=0.1)
    store.add_documents(documents)
    retriever = PerspectiveRetriever.wrap(
        store, judge=slow_judge, llm=SlowModel(), k=3, lambda_mult=0.7
    )
    found, pause, elapsed = await longest_pause(retriever.ainvoke(debate.question))
    assert len(found) == 3
    assert elapsed > 0.4, "extraction, embedding, search and judging are slow"
    assert pause < 0.09


async def test_r11_a_wrapped_retriever_does_not_block(documents, slow_judge, debate):
    store = debate.RecordingStore(debate.WordEmbeddings(delay=0.1), delay=0.1)
    store.add_documents(documents)
    retriever = PerspectiveRetriever(retriever=store.as_retriever(), judge=slow_judge)
    _, pause, elapsed = await longest_pause(retriever.ainvoke(debate.question))
    assert elapsed > 0.2
    assert pause < 0.09


async def test_r11_acompress_does_not_block(documents, slow_judge, debate):
    compressor = PerspectiveCompressor(
        judge=slow_judge, llm=SlowModel(), k=2, embeddings=debate.WordEmbeddings(delay=0.1)
    )
    coming = compressor.acompress_documents(documents, debate.question)
    found, pause, elapsed = await longest_pause(coming)
    assert len(found) == 2
    assert elapsed > 0.3
    assert pause < 0.09


async def test_a_network_store_is_awaited_and_another_runs_in_a_thread(
    documents, embeddings, debate
):
    for kind, awaited in ((debate.AsyncStore, True), (debate.NetworkStore, False)):
        store = kind(embeddings)
        store.add_documents(documents)
        found = await PerspectiveRetriever.wrap(store, judge=None).ainvoke(debate.question)
        assert len(found) == 5
        assert {call["awaited"] for call in store.calls} == {awaited}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"relevance_weight": 0.5},
        {"projection": "pap"},
        {"projection": "pap+", "relevance_weight": 0.7},
        {"fusion": "round-robin"},
        {"coverage": "off"},
        {"guard_searches": 0, "judge_k": 2},
        {"perspectives": ["breeding", "cages are cruel"]},
    ],
    ids=str,
)
async def test_r12_both_paths_agree(store, judge, debate, options):
    retriever = PerspectiveRetriever.wrap(store, judge=judge, k=4)
    assert await retriever.ainvoke(debate.question, **options) == retriever.invoke(
        debate.question, **options
    )


async def test_r12_and_report_the_same(store, judge, debate):
    retriever = PerspectiveRetriever.wrap(store, judge=judge, k=4)
    sync, other = retriever.retrieve(debate.question), await retriever.aretrieve(debate.question)
    one, two = sync.to_dict(), other.to_dict()
    del one["trace"]["seconds"], two["trace"]["seconds"]
    assert one == two


async def test_r13_the_sync_form_works_inside_a_running_loop(store, judge, debate):
    retriever = PerspectiveRetriever.wrap(store, judge=judge, k=3)
    assert retriever.invoke(debate.question) == await retriever.ainvoke(debate.question)


def test_r13_one_retriever_serves_several_event_loops(store, judge, debate):
    retriever = PerspectiveRetriever.wrap(store, judge=judge, k=3)
    first = asyncio.run(retriever.ainvoke(debate.question))
    assert asyncio.run(retriever.ainvoke(debate.question)) == first
