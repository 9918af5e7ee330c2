"""Fingerprints: different inputs never share one, and every process computes the same."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError
from perspective_rag.storage.fingerprint import (
    cache_key,
    file_sha256,
    fingerprint,
    model_fingerprint,
)

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(), max_size=4)
    | st.binary(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=3)
    ),
    max_leaves=6,
)


def told_apart(value):
    """A value that equals another's exactly if both are the same input."""
    if isinstance(value, dict):
        items = [(told_apart(key), told_apart(held)) for key, held in value.items()]
        return ("dict", sorted(items, key=repr))
    if isinstance(value, list):
        return ("list", [told_apart(each) for each in value])
    return (type(value).__name__, repr(value))  # 1, 1.0, True and 0.0, -0.0 are different


@settings(deadline=None)
@given(st.lists(VALUES, max_size=4), st.lists(VALUES, max_size=4))
def test_different_parts_have_different_fingerprints(one, other):
    same = told_apart(one) == told_apart(other)
    assert (fingerprint(*one, digits=64) == fingerprint(*other, digits=64)) == same


@dataclass
class One:
    a: int = 1


@dataclass
class Two:
    a: int = 1


def test_values_that_look_alike():
    assert fingerprint("a", "bc") != fingerprint("ab", "c")
    assert fingerprint("a\x1fb", "c") != fingerprint("a", "b\x1fc")
    assert fingerprint("s1:a") != fingerprint("a") != fingerprint(["a"])
    assert fingerprint("None") != fingerprint(None)
    assert fingerprint("1") != fingerprint(1) != fingerprint(1.0) != fingerprint(True)
    assert fingerprint(One()) == fingerprint(One(1)) != fingerprint(One(2))
    assert fingerprint(One()) != fingerprint(Two()) != fingerprint({"a": 1})


def test_a_mappings_order_does_not_count_and_a_sequences_does():
    assert fingerprint({"a": 1, "b": [2]}) == fingerprint({"b": (2,), "a": 1})
    assert fingerprint("a", "b") != fingerprint("b", "a")
    assert fingerprint(iter(["a", "b"])) == fingerprint(["a", "b"])
    assert fingerprint(np.float64(0.5), np.int64(3)) == fingerprint(0.5, 3)
    assert cache_key("a", 1).hex() == fingerprint("a", 1, digits=64)


@pytest.mark.parametrize("value", [object(), {1, 2}, range(3), int])
def test_what_has_no_fingerprint_is_refused_with_what_has(value):
    with pytest.raises(ConfigError, match=f"{type(value).__name__} has no fingerprint: expected"):
        fingerprint("a", value)


def test_every_process_computes_the_same_and_the_format_stands():
    code = (
        "from perspective_rag.storage.fingerprint import fingerprint;"
        "print(fingerprint('ä', 1, [None, {'k': 0.5}], b'x', '\\ud800'))"
    )
    command = [sys.executable, "-c", code]
    found = {subprocess.check_output(command, text=True).strip() for _ in range(2)}
    assert found == {fingerprint("ä", 1, [None, {"k": 0.5}], b"x", "\ud800")}
    # Caches and resume files are keyed by it: another value here makes all of them anew.
    assert found == {"ee41edd0436cca2d"}


def test_a_models_fingerprint_changes_with_its_files(tmp_path):
    (tmp_path / "a").write_bytes(b"one")
    (tmp_path / "b").write_bytes(b"two")
    before = model_fingerprint(tmp_path)
    assert model_fingerprint(tmp_path / "a") == before  # a file stands for its folder
    (tmp_path / "b").rename(tmp_path / "c")
    renamed = model_fingerprint(tmp_path)
    (tmp_path / "c").write_bytes(b"tow")
    assert len({before, renamed, model_fingerprint(tmp_path)}) == 3


def test_the_sha256_of_a_file_is_that_of_its_bytes(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert file_sha256(path) == known
