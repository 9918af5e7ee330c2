"""Which passages are the same one."""

from __future__ import annotations

import pytest

from perspective_rag.errors import ConfigError
from perspective_rag.types import Passage, identity_by, normalised_text, passage_key


def key(text="Zoos teach.", id="", **metadata):
    return passage_key(Passage(id, text, metadata))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (key("one text", id="doc-7"), key("another text", id="doc-7", source="elsewhere")),
        (key(id=" \n"), key(id="")),
        (key(id=None), key(id="")),
        (key(source="a.txt"), key(source="a.txt")),
        (key("Zoos  teach.\n", source="a.txt"), key(" zoos\u00a0TEACH.", source="a.txt")),
        (key("ﬁnance ①", source="a"), key("finance 1", source="a")),
        (key("e\u0301tude"), key("\u00e9tude")),
        (key("Straße"), key("STRASSE")),
        (key(), key(source=None)),
        (key(), key(source="")),
        (key(source="a", page=1, tags=["x"], nested={"k": {}}), key(source="a", page=2)),
    ],
)
def test_passages_that_are_one(one, other):
    assert one == other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (key(id="doc-7"), key(id="doc-8")),
        (key("one", id=" "), key("another", id=" ")),
        (key("zoos teach"), key("zoos teach.")),
        (key("zoos teach"), key("zoosteach")),
        (key(source="a.txt"), key(source="b.txt")),
        (key(source="a.txt"), key()),
        (key(source="A.txt"), key(source="a.txt")),
        (key("bc", source="a"), key("c", source="ab")),
        (key("2:bb", source=""), key("bb", source="2:")),
        (key("half a pair \ud83d"), key("half a pair")),
    ],
)
def test_passages_that_are_two(one, other):
    assert one != other


def test_the_key_is_the_same_in_every_process():
    found = "sha256:a48890a1e7b1d90f05aa6b85f31730bf3dca88cfa50c46988fe917f256eef627"
    assert key(source="a") == found


def test_normalised_text_is_its_own_normal_form():
    for text in ("ŉ İstanbul ﬁ", " A\u3000b ", "\u0345\u0300x", "ẞ"):
        once = normalised_text(text)
        assert normalised_text(once) == once


@pytest.mark.parametrize("given", ["url", lambda passage: passage.metadata.get("url")])
def test_a_key_of_ones_own_takes_the_place_of_the_id(given):
    identity = identity_by(given)
    one, other = Passage("1", "a", {"url": "x"}), Passage("2", "b", {"url": "x"})
    assert identity(one) == identity(other)
    assert identity(one) != identity(Passage("1", "a", {"url": "y"}))
    assert identity(one) != identity(Passage("x", "a"))  # a url is no id
    for blank in ({}, {"url": None}, {"url": " "}):
        assert identity(Passage("3", "c", blank)) == "3"
    assert identity_by(None) is passage_key


@pytest.mark.parametrize("given", ["", 7, ["url"]])
def test_what_is_no_key_is_refused(given):
    with pytest.raises(ConfigError, match="dedup_key"):
        identity_by(given)
