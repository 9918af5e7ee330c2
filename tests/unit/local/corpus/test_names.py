"""Ids told apart in little memory."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.local.corpus import names as module
from perspective_rag.local.corpus.names import Names


class Plain:
    """The same with a set of all names."""

    def __init__(self):
        self.taken = set()
        self.last = {}

    def distinct(self, id, line, report):
        name, count = id, self.last.get(id, 1)
        while name in self.taken:
            count += 1
            name = f"{id}~{count}"
        if name != id:
            self.last[id] = count
            report(line, name)
        self.taken.add(name)
        return name


@pytest.mark.parametrize("buffered", [1, 3, 1 << 16])
@given(
    ids=st.lists(
        st.one_of(
            st.integers(0, 12).map(str),
            st.builds("a:{}".format, st.integers(0, 5)),
            st.sampled_from(["", "0", "00", "01", "a", "a~2", "a:0~2", "9" * 30, "-1", "x1y"]),
        ),
        max_size=40,
    )
)
def test_ids_are_told_apart_as_by_a_set_of_all(buffered, ids):
    before = module._BUFFERED
    module._BUFFERED = buffered
    try:
        told, expected = [], []
        kept, plain = Names(), Plain()
        for line, id in enumerate(ids):
            assert kept.distinct(id, line, lambda *said: told.append(said)) == plain.distinct(
                id, line, lambda *said: expected.append(said)
            )
        assert [line for line, _ in told] == [line for line, _ in expected]
    finally:
        module._BUFFERED = before


@pytest.mark.parametrize(("prefix", "bytes_each"), [("", 0.1), ("a.jsonl:", 0.1)])
def test_ids_that_count_on_take_no_memory(prefix, bytes_each):
    kept = Names()
    tracemalloc.start()
    try:
        for number in range(1, 20_001):
            kept.distinct(f"{prefix}{number}", number, pytest.fail)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 20_000 * bytes_each + 2_000


@pytest.mark.slow
def test_other_ids_take_eight_bytes(monkeypatch):
    monkeypatch.setattr(module, "_BUFFERED", 1024)
    kept = Names()
    tracemalloc.start()
    try:
        for number in range(32_768):
            kept.distinct(f"{number * 7}-id", number, pytest.fail)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 32_768 * 10 + 20_000
    assert kept.distinct("7-id", 0, lambda *said: None) == "7-id~2"
