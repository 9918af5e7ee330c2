"""The limiter: a limit that holds across threads and event loops, loses no permit and keeps the order."""

from __future__ import annotations

import asyncio
import copy
import pickle
import random
import threading
import time

import pytest

from perspective_rag import ConfigError, Limiter
from perspective_rag.flow.driver import arun, run
from perspective_rag.flow.limiter import Limits
from perspective_rag.flow.steps import Call


class Counting:
    """A call that counts how many of it run at a time; ``most`` is the highest."""

    def __init__(self, seconds=0.003):
        self.seconds, self.now, self.most, self.made = seconds, 0, 0, 0
        self.lock = threading.Lock()

    def __call__(self):
        self._step(1)
        time.sleep(self.seconds)
        self._step(-1)

    async def awaited(self):
        self._step(1)
        await asyncio.sleep(self.seconds)
        self._step(-1)

    def _step(self, by):
        with self.lock:
            self.now += by
            self.made += by > 0
            self.most = max(self.most, self.now)


def flow(count, work, afunction=None, stage="work"):
    replies = yield [Call(stage, work, afunction=afunction) for _ in range(count)]
    return replies


def test_threads_and_event_loops_together_keep_the_limit():
    limiter, work = Limiter(3), Counting()
    limits = Limits(timeout=30, max_concurrency=4, limiter=limiter)

    async def many(afunction):
        await asyncio.gather(*(arun(flow(4, work, afunction), limits=limits) for _ in range(10)))

    threads = [
        *(threading.Thread(target=lambda: run(flow(4, work), limits=limits)) for _ in range(10)),
        threading.Thread(target=lambda: asyncio.run(many(None))),
        threading.Thread(target=lambda: asyncio.run(many(work.awaited))),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (work.made, work.most) == (120, 3)
    assert limiter.running("work") == 0


def test_who_waited_longest_comes_first():
    limiter, order = Limiter(1), []
    held = limiter.acquire("x")

    async def ask(name):
        permit = await limiter.aacquire("x")
        order.append(name)
        permit.release()

    async def main():
        asked = []
        for name in range(5):
            asked.append(asyncio.create_task(ask(name)))
            await asyncio.sleep(0)
        held.release()
        await asyncio.gather(*asked)

    asyncio.run(main())
    assert order == list(range(5))


@pytest.mark.parametrize("seed", range(5))
async def test_cancelling_at_any_moment_loses_no_place(seed):
    limiter, dice = Limiter(2), random.Random(seed)

    async def ask():
        permit = await limiter.aacquire("x")
        try:
            await asyncio.sleep(dice.random() * 0.002)
        finally:
            permit.release()

    tasks = [asyncio.create_task(ask()) for _ in range(60)]
    for _ in range(40):
        await asyncio.sleep(dice.random() * 0.001)
        dice.choice(tasks).cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0.01)
    assert limiter.running("x") == 0
    (await limiter.aacquire("x")).release()


def test_a_closed_event_loop_takes_no_permit():
    limiter, loop = Limiter(1), asyncio.new_event_loop()
    held = limiter.acquire("x")
    task = loop.create_task(limiter.aacquire("x"))
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
    held.release()
    assert limiter.running("x") == 0
    assert not task.done()


def test_who_waits_in_a_thread_sees_an_interrupt_within_a_second(monkeypatch):
    limiter, waits, plain = Limiter(1), [], threading.Condition.wait
    held = limiter.acquire("x")

    def noted(condition, timeout=None):
        if threading.current_thread() is threading.main_thread():
            waits.append(timeout)
        return plain(condition, timeout)

    threading.Timer(0.1, held.release).start()
    monkeypatch.setattr(threading.Condition, "wait", noted)
    limiter.acquire("x").release()
    assert waits
    assert all(seconds is not None and seconds <= 1.0 for seconds in waits)


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_waiting_for_a_place_is_not_the_calls_time(kind):
    limiter = Limiter(1)
    held = limiter.acquire("work")
    threading.Timer(2.0, held.release).start()
    limits, made = Limits(timeout=1.0, limiter=limiter), flow(2, lambda: "fine")
    replies = run(made, limits=limits) if kind == "sync" else asyncio.run(arun(made, limits=limits))
    assert [reply.value for reply in replies] == ["fine", "fine"]


@pytest.mark.parametrize("timeout", [None, 5.0])
@pytest.mark.parametrize("kind", ["sync", "async"])
def test_a_timeout_of_the_call_itself_is_its_own_error(kind, timeout):
    own = TimeoutError("the server took too long")

    def fails():
        raise own

    limits = Limits(timeout=timeout)
    made = flow(1, fails)
    (reply,) = (
        run(made, limits=limits) if kind == "sync" else asyncio.run(arun(made, limits=limits))
    )
    assert reply.error is own


async def test_a_call_that_cancels_itself_is_an_error_not_the_end():
    async def cancelled():
        raise asyncio.CancelledError

    replies = await arun(flow(1, None, cancelled))
    assert "was cancelled" in str(replies[0].error)


async def test_a_sync_call_may_run_an_event_loop_of_its_own_where_one_runs_already():
    def fetch():
        return asyncio.run(asyncio.sleep(0, "fetched"))

    for timeout in (None, 5.0):
        assert run(flow(1, fetch), limits=Limits(timeout=timeout))[0].value == "fetched"


def test_an_interrupt_makes_no_further_calls():
    made = []

    def interrupt():
        made.append(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(flow(50, interrupt), limits=Limits(timeout=5, max_concurrency=1))
    time.sleep(0.05)
    assert len(made) < 50


def test_copies_are_the_gate_and_a_pickled_one_is_new():
    limiter = Limiter(7)
    held = limiter.acquire("x")
    assert copy.copy(limiter) is copy.deepcopy(limiter) is limiter
    other = pickle.loads(pickle.dumps(limiter))
    assert (other.limit, other.running("x"), limiter.running("x")) == (7, 0, 1)
    held.release()


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, None])
def test_a_limit_that_lets_nobody_through_is_refused(limit):
    with pytest.raises(ConfigError, match="limit"):
        Limiter(limit)
