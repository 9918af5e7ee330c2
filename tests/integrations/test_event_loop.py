"""The event loop is never blocked, never patched and never remembered; sync calls work inside it."""

from __future__ import annotations

import asyncio
import threading

import pytest

from perspective_rag import Limiter

LOOPS = ["asyncio", "uvloop"]


def run_in(kind, main):
    """Runs a coroutine function in a new event loop of a kind, as ``asyncio.run`` would."""
    if kind == "uvloop":
        loop = pytest.importorskip("uvloop").new_event_loop()
    else:
        loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(main())
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def beating(kind, heart, main):
    """Runs ``main`` while the heart beats in the same loop."""

    async def both():
        beat = asyncio.ensure_future(heart.beat())
        try:
            return await main()
        finally:
            beat.cancel()

    return run_in(kind, both)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("awaits", [False, True], ids=["threads", "awaits"])
def test_r11_model_store_and_judge_never_block_the_event_loop(wrapped, load, loop, awaits):
    heart = load.Heart()
    probe = load.Probe(pause=lambda kind: heart.pause(kind)())
    # Strict: a part that fails because it ran in the loop would be a degradation otherwise.
    made = wrapped(probe, awaits=awaits, llm=True, mmr_lambda=0.7, strict=True)
    found = beating(loop, heart, lambda: made.aask(load.question))
    assert len(found) == 5
    assert set(probe.made) == {"llm", "embed", "store", "judge"}
    assert set(heart.pauses) == ({"embed", "judge"} if awaits else set(probe.made))


@pytest.mark.parametrize("loop", LOOPS)
def test_r11_choosing_among_documents_does_not_block_either(load, loop):
    documents = pytest.importorskip("langchain_core.documents")
    from langchain_perspective_rag import PerspectiveCompressor

    heart = load.Heart()
    probe = load.Probe(pause=lambda kind: heart.pause(kind)())
    given = [documents.Document(text, id=name) for name, text in load.texts.items()]
    compressor = PerspectiveCompressor(judge=load.judge(probe), k=3, options={"strict": True})
    found = beating(loop, heart, lambda: compressor.acompress_documents(given, load.question))
    assert len(found) == 3
    assert set(heart.pauses) == {"judge"}


@pytest.mark.parametrize("loop", LOOPS)
def test_r11_choosing_among_nodes_does_not_block_either(load, loop):
    schema = pytest.importorskip("llama_index.core.schema")
    from llama_index.retrievers.perspective_rag import PerspectivePostprocessor

    heart = load.Heart()
    probe = load.Probe(pause=lambda kind: heart.pause(kind)())
    given = [
        schema.NodeWithScore(node=schema.TextNode(id_=name, text=text))
        for name, text in load.texts.items()
    ]
    chooser = PerspectivePostprocessor(judge=load.judge(probe), k=3, strict=True)
    main = lambda: chooser.apostprocess_nodes(given, query_str=load.question)
    assert len(beating(loop, heart, main)) == 3
    assert set(heart.pauses) == {"judge"}


@pytest.mark.parametrize("loop", LOOPS)
def test_r11_ranking_documents_does_not_block_either(load, loop):
    haystack = pytest.importorskip("haystack")
    from haystack_integrations.components.rankers.perspective_rag import PerspectiveRanker

    heart = load.Heart()
    probe = load.Probe(pause=lambda kind: heart.pause(kind)())
    given = [haystack.Document(id=name, content=text) for name, text in load.texts.items()]
    ranker = PerspectiveRanker(judge=load.judge(probe), k=3, strict=True)
    found = beating(loop, heart, lambda: ranker.run_async(load.question, given))
    assert len(found["documents"]) == 3
    assert set(heart.pauses) == {"judge"}


@pytest.mark.parametrize("loop", LOOPS)
def test_the_heart_notices_a_blocked_loop(load, loop):
    heart = load.Heart(patience=0.05)

    async def main():
        heart.pause("this")()

    with pytest.raises(AssertionError, match="ran in the event loop"):
        beating(loop, heart, main)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("timeout", [None, 60.0])
def test_r13_sync_calls_work_inside_a_running_loop(wrapped, load, loop, timeout):
    made = wrapped(llm=True, timeout=timeout)
    outside = made.ask(load.question)

    async def main():
        inside = made.ask(load.question)  # as in a notebook, or in a handler that is not async
        assert inside == await made.aask(load.question)
        with pytest.raises(RuntimeError, match="running event loop"):
            asyncio.run(asyncio.sleep(0))  # the loop is as strict as it was: nobody patched it
        return inside

    with pytest.warns(RuntimeWarning, match="never awaited"):
        assert run_in(loop, main) == outside


@pytest.mark.parametrize("timeout", [None, 60.0])
@pytest.mark.parametrize("way", ["sync", "async"])
async def test_r13_parts_that_run_a_loop_of_their_own_work_too(wrapped, load, timeout, way):
    probe = load.Probe(pause=lambda kind: asyncio.run(asyncio.sleep(0)))
    made = wrapped(probe, llm=True, timeout=timeout, strict=True)
    found = made.ask(load.question) if way == "sync" else await made.aask(load.question)
    assert len(found) == 5
    assert set(probe.made) == {"llm", "embed", "store", "judge"}


def test_r13_one_retriever_serves_loops_one_after_the_other_and_side_by_side(wrapped, load):
    kept = []

    async def build():
        kept.append(wrapped(load.Probe(seconds=0.001), awaits=True, llm=True, limiter=Limiter(2)))
        return await kept[0].aask(load.question)

    first = run_in("asyncio", build)  # and this loop is closed now
    (made,) = kept

    async def many():
        return await asyncio.gather(*(made.aask(load.question) for _ in range(5)))

    assert run_in("asyncio", many) == run_in("uvloop", many) == [first] * 5
    answers = {}

    def serve(number):
        answers[number] = run_in(LOOPS[number % 2], many)

    threads = [threading.Thread(target=serve, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert answers == {number: [first] * 5 for number in range(6)}


@pytest.mark.parametrize("loop", LOOPS)
def test_a_question_that_is_cancelled_leaves_the_others_alone(wrapped, load, loop):
    made = wrapped(load.Probe(seconds=0.005), awaits=True, llm=True, limiter=Limiter(2))

    async def main():
        asked = [asyncio.ensure_future(made.aask(load.question)) for _ in range(20)]
        await asyncio.sleep(0.01)
        for task in asked[::2]:
            task.cancel()
        return await asyncio.gather(*asked, return_exceptions=True)

    answers = run_in(loop, main)
    assert all(isinstance(answer, asyncio.CancelledError) for answer in answers[::2])
    assert answers[1::2] == [made.ask(load.question)] * 10
