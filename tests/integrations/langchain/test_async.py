"""Nothing blocks the event loop, both paths agree, and one retriever serves many loops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from langchain_core.language_models import SimpleChatModel

from langchain_perspective_rag import PerspectiveCompressor, PerspectiveRetriever
from perspective_rag.testing import TableJudge

SIDES = '{"root": "Should zoos be closed?", "perspectives": ["breeding keeps species", "cages"]}'


class SlowModel(SimpleChatModel):
    """A chat model that has no async form of its own."""

    pause: Callable[[], None]

    def _call(self, messages, stop=None, run_manager=None, **kwargs):
        self.pause()
        return SIDES

    @property
    def _llm_type(self):
        return "slow"


@pytest.fixture
def slow_judge(judge, heart):
    pause = heart.pause("judge")
    return TableJudge(judge.table, before=lambda *_: pause())


@pytest.fixture
def filled(documents, debate, heart):
    """A store of a kind; what it and its embeddings do waits for the event loop."""

    def fill(kind):
        embeddings = debate.WordEmbeddings()
        store = getattr(debate, kind)(embeddings)
        store.add_documents(documents)
        embeddings.pause, store.pause = heart.pause("embed"), heart.pause("search")
        return store

    return fill


@pytest.mark.parametrize("kind", ["RecordingStore", "NetworkStore", "AsyncStore"])
async def test_r11_ainvoke_does_not_block(filled, slow_judge, debate, heart, kind):
    retriever = PerspectiveRetriever.wrap(
        filled(kind),
        judge=slow_judge,
        llm=SlowModel(pause=heart.pause("llm")),
        k=3,
        lambda_mult=0.7,
        strict=True,
    )
    assert len(await retriever.ainvoke(debate.question)) == 3
    in_threads = {"llm", "embed", "search", "judge"}
    assert set(heart.pauses) == (in_threads - {"search"} if kind == "AsyncStore" else in_threads)


async def test_r11_a_wrapped_retriever_does_not_block(filled, slow_judge, debate, heart):
    retriever = PerspectiveRetriever(
        retriever=filled("RecordingStore").as_retriever(), judge=slow_judge, strict=True
    )
    assert await retriever.ainvoke(debate.question)
    assert set(heart.pauses) == {"embed", "judge"}  # the store searches by text, and awaits


async def test_r11_acompress_does_not_block(documents, slow_judge, debate, heart):
    compressor = PerspectiveCompressor(
        judge=slow_judge,
        llm=SlowModel(pause=heart.pause("llm")),
        k=2,
        embeddings=debate.WordEmbeddings(heart.pause("embed")),
        options={"strict": True},
    )
    assert len(await compressor.acompress_documents(documents, debate.question)) == 2
    assert set(heart.pauses) == {"llm", "embed", "judge"}


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
        {"mmr_lambda": 0.5},
        {"projection": "pap"},
        {"projection": "pap+", "mmr_lambda": 0.7},
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
