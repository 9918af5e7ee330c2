"""Functions mapped in threads: order, context, and how many at a time."""

from __future__ import annotations

import contextvars
import threading

import pytest

from perspective_rag.extend import map_in_threads

SAID = contextvars.ContextVar("SAID", default="nothing")


def test_results_are_in_order_and_each_sees_the_callers_context():
    SAID.set("by the caller")

    def one(item):
        before = SAID.get()
        SAID.set(f"by {item}")  # stays in its own copy
        return item * 2, before

    assert map_in_threads(one, range(5), most=3) == [(2 * i, "by the caller") for i in range(5)]
    assert SAID.get() == "by the caller"


@pytest.mark.parametrize(("most", "items"), [(1, 3), (4, 1), (4, 0)])
def test_one_at_a_time_needs_no_thread(most, items):
    threads = map_in_threads(lambda item: threading.current_thread(), range(items), most=most)
    assert set(threads) <= {threading.current_thread()}


def test_at_most_so_many_run_at_once():
    begun, limit = threading.Barrier(2), 2  # two must be there for either to go on
    running, seen, lock = [0], [], threading.Lock()

    def one(item):
        with lock:
            running[0] += 1
            seen.append(running[0])
        begun.wait(timeout=30)
        with lock:
            running[0] -= 1

    map_in_threads(one, range(4), most=limit)
    assert max(seen) == limit


def test_what_one_raises_is_raised():
    def one(item):
        raise KeyError(item)

    with pytest.raises(KeyError):
        map_in_threads(one, [1, 2], most=2)
