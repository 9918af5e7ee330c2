"""Which passages are the same one."""

from __future__ import annotations

import subprocess
import sys

import pytest

from perspective_rag.errors import ConfigError
from perspective_rag.types import Passage, identity_by, normalised_text, passage_key


def key(text="Zoos teach.", id="", **metadata):
    return passage_key(Passage(id, text, metadata))


def test_the_id_is_the_identity():
    assert key(id="doc-7") == "doc-7"
    assert key("one text", id="doc-7") == key("another text", id="doc-7", source="elsewhere")
    assert key(id="doc-7") != key(id="doc-8")


@pytest.mark.parametrize("blank", ["", "  ", "\n\t", None])
def test_a_blank_id_is_no_id(blank):
    assert key(id=blank) == key(id="")
    assert key("one", id=blank) != key("another", id=blank)


def test_same_source_and_text_are_one_passage():
    assert key(source="a.txt") == key(source="a.txt")
    assert key("Zoos  teach.\n", source="a.txt") == key(" zoos\u00a0TEACH.", source="a.txt")
    assert key("ﬁnance ①", source="a") == key("finance 1", source="a")
    assert key("e\u0301tude") == key("\u00e9tude")
    assert key("Straße") == key("STRASSE")


def test_other_words_are_another_passage():
    assert key("zoos teach") != key("zoos teach.")
    assert key("zoos teach") != key("zoosteach")


def test_the_same_text_from_two_sources_stays_two():
    assert key(source="a.txt") != key(source="b.txt")
    assert key(source="a.txt") != key()
    assert key(source="A.txt") != key(source="a.txt")


def test_source_and_text_cannot_run_into_each_other():
    assert key("bc", source="a") != key("c", source="ab")
    assert key("2:bb", source="") != key("bb", source="2:")


def test_no_source_is_one_thing():
    assert key() == key(source=None) == key(source="")


def test_other_metadata_never_counts_and_need_not_be_hashable():
    assert key(source="a", page=1, tags=["x"], nested={"k": {}}) == key(source="a", page=2)
    assert key(source=["a", {"b": 1}]).startswith("sha256:")


def test_the_key_is_the_same_in_every_process():
    code = (
        "from perspective_rag.identity import passage_key\n"
        "from perspective_rag.types import Passage\n"
        "print(passage_key(Passage('', 'Zoos teach.', {'source': 'a'})))"
    )
    for seed in ("1", "2"):
        output = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        )
        assert output.stdout.strip() == key(source="a")


def test_a_broken_surrogate_does_not_raise():
    assert key("half a pair \ud83d") != key("half a pair")


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
