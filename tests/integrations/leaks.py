"""Prints what the requests of one framework leave in memory, as JSON.

Run in an interpreter of its own (``python -m tests.integrations.leaks langchain``): in one that
has run other tests, theirs would be counted too.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from perspective_rag.flow.request import Request
from perspective_rag.types import Candidate, RetrievalResult
from tests.integrations.conftest import MAKERS, Probe
from tests.integrations.samples import QUESTION

REQUESTS = 100
ROUNDS = 3


def count():
    """Blocks of memory in use, and objects of ours that are still there."""
    gc.collect()
    kinds = (Request, RetrievalResult, Candidate)
    return sys.getallocatedblocks(), sum(isinstance(o, kinds) for o in gc.get_objects())


def left_by(ask):
    """Blocks a request leaves, objects of ours that all leave, and threads after ten seconds.

    The blocks are those of the best of three rounds: what leaks does so in every round, while a
    module that a framework imports in a thread of its own grows one of them.
    """
    ask(20)  # caches fill, modules are imported
    before, already = count()
    grown = []
    for _ in range(ROUNDS):
        ask(REQUESTS)
        after, objects = count()
        grown.append((after - before) / REQUESTS)
        before = after
    patience = time.monotonic() + 10
    while (threads := waiting()) and time.monotonic() < patience:
        time.sleep(0.01)
    return {
        "blocks": min(grown),
        "objects": (objects - already) / ROUNDS,
        "threads": threads,
    }


def waiting():
    return sum(thread.name == "perspective-rag-call" for thread in threading.enumerate())


def main(framework):
    wrap = MAKERS[framework]
    settings = {"mmr_lambda": 0.7, "projection": "pap+"}
    made = wrap(Probe(), awaits=False, llm=True, judged=True, options=settings)

    def sync(times):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: made.ask(QUESTION) and None, range(times)))

    def awaited(times):
        async def gathered():
            await asyncio.gather(*(made.aask(QUESTION) for _ in range(times)))

        asyncio.run(gathered())

    def fail(kind):
        if kind == "store":
            raise ConnectionError("the store cannot be reached")

    broken = wrap(Probe(pause=fail), awaits=False, llm=False, judged=True, options={})
    failed = []

    def failing(times):
        for number in range(times):
            try:
                broken.ask(f"Should {number} zoos be closed?")
            except Exception as error:
                failed.append("searches failed" in str(error))

    kept = []

    def keeping(times):
        kept.extend(made.report(QUESTION) for _ in range(times))

    found = {
        "sync": left_by(sync),
        "async": left_by(awaited),
        "failing": left_by(failing),
        "keeping": left_by(keeping),
    }
    assert failed == [True] * (20 + ROUNDS * REQUESTS)
    assert broken.retriever_limiter.running("search") == 0
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
