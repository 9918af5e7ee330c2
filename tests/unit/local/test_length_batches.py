"""Texts of like length in batches."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.local.onnx_minilm import cores, length_batches


def test_a_known_case():
    assert length_batches([3, 10, 4, 10], 2, 20) == [[1, 3], [2, 0]]
    assert length_batches([3, 10, 4, 10], 8, 12) == [[1], [3], [2, 0]]
    assert length_batches([], 8, 12) == []
    assert length_batches([50, 50], 8, 12) == [[0], [1]]


@given(st.lists(st.integers(1, 256), max_size=60), st.integers(1, 10), st.integers(1, 600))
def test_every_text_is_in_one_batch_that_is_not_too_large(lengths, most, tokens):
    batches = length_batches(lengths, most, tokens)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) <= most
        longest = max(lengths[place] for place in batch)
        assert len(batch) == 1 or len(batch) * longest <= tokens


def test_there_is_a_core():
    assert cores() >= 1
