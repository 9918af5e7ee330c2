"""Plain functions as components."""

from __future__ import annotations

import asyncio
from functools import partial

import numpy as np
import pytest

from perspective_rag.errors import CapabilityError, ConfigError, LLMReplyError
from perspective_rag.local.callables import CallableEmbedder, CallableLLM, CallableStore
from perspective_rag.protocols import LLM, Embedder, Store
from perspective_rag.types import Completion, Hit, Passage, Prompt

PASSAGE = Passage("a", "text a")


def store_of(result, **options):
    return CallableStore(lambda query, k: result, **options)


# Embedder


def test_an_embedder_from_a_function():
    embedder = CallableEmbedder(lambda texts: [[len(text), 1] for text in texts], name="lengths")
    assert isinstance(embedder, Embedder)
    assert embedder.name == "lengths"
    np.testing.assert_array_equal(embedder.embed_passages(("a", "bb")), [[1.0, 1.0], [2.0, 1.0]])
    np.testing.assert_array_equal(embedder.embed_queries(["abc"]), [[3.0, 1.0]])
    assert len(embedder.embed_queries([])) == 0
    two = CallableEmbedder(lambda texts: np.zeros((1, 2)), lambda texts: np.ones((1, 2)))
    assert two.embed_queries(["x"]).all()
    assert not two.embed_passages(["x"]).any()


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([[1.0, 2.0]], "1 rows for 2 texts"),
        ([1.0, 2.0], r"shape \(n, d\)"),
        ([[1.0], [1.0, 2.0]], "equal row length"),
        ([[1.0], [float("nan")]], "NaN"),
        (None, "embedding function"),
        ("ab", "embedding function"),
    ],
)
def test_rows_that_cannot_be_used(result, message):
    with pytest.raises(ConfigError, match=message):
        CallableEmbedder(lambda texts: result).embed_passages(["a", "b"])


# Store


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ([Hit(PASSAGE, 0.5)], [("text a", 0.5)]),
        ([PASSAGE], [("text a", None)]),
        (["one", "two"], [("one", None), ("two", None)]),
        ([("one", 2), ["two", np.float32(0.5)]], [("one", 2.0), ("two", 0.5)]),
        (((PASSAGE, 0.1),), [("text a", 0.1)]),
        ([], []),
    ],
)
def test_what_a_store_function_may_return(result, expected):
    store = store_of(result)
    assert isinstance(store, Store)
    hits = store.search("q", None, k=5)
    assert [(hit.passage.text, hit.score) for hit in hits] == expected
    assert asyncio.run(store.asearch("q", None, k=5)) == hits


def test_passages_are_handed_on_untouched_and_texts_get_ids_of_their_own():
    hit = Hit(PASSAGE, 0.5, np.ones(2))
    assert store_of([hit]).search("q", None, k=1)[0] is hit
    assert store_of([PASSAGE]).search("q", None, k=1)[0].passage is PASSAGE
    generated = CallableStore(lambda text, k: (f"{text} {i % 2}" for i in range(100)))
    one, two, again = generated.search("q", None, k=3)
    assert one.passage.text == "q 0"
    assert one.passage.id == again.passage.id != two.passage.id


@pytest.mark.parametrize(
    "result",
    [
        None,
        "one text",
        {"a": 1},
        5,
        [1],
        [("a", "b")],
        [("a", 1.0, 2)],
        [("a", float("nan"))],
        [None],
    ],
)
def test_anything_else_is_refused_with_what_it_was(result):
    with pytest.raises(ConfigError, match=r"must return a sequence of Hits.*got \w+"):
        store_of(result).search("q", None, k=3)


def test_vector_or_text():
    asked = []

    def search(query, k):
        asked.append((query, k))
        return []

    vector = np.ones(2)
    CallableStore(search).search("q", vector, k=3)
    CallableStore(search, takes_vector=True).search("q", vector, k=4)
    assert asked[0] == ("q", 3)
    assert asked[1][0] is vector
    with pytest.raises(ConfigError, match="pass an embedder"):
        CallableStore(search, takes_vector=True).search("q", None, k=4)


@pytest.mark.parametrize("style", ["keyword", "options", "partial"])
def test_filters_are_handed_on(style):
    def keyword(text, k, filter=None):
        return [str(filter)]

    def options(text, k, **rest):
        return [str(rest.get("filter"))]

    def partly(prefix, text, k, *, filter=None):
        return [str(filter)]

    function = {"keyword": keyword, "options": options, "partial": partial(partly, "p")}[style]
    store = CallableStore(function)
    assert store.search("q", None, k=1, filter={"a": 1})[0].passage.text == "{'a': 1}"
    assert store.search("q", None, k=1)[0].passage.text == "None"


def test_a_function_without_filter_says_so():
    with pytest.raises(CapabilityError, match="named filter"):
        store_of(["one"]).search("q", None, k=1, filter={"a": 1})
    with pytest.raises(CapabilityError, match="named filter"):
        asyncio.run(store_of(["one"]).asearch("q", None, k=1, filter={"a": 1}))


def test_the_asynchronous_function_is_awaited():
    async def search(text, k=0):
        await asyncio.sleep(0)
        return [f"async {text}"]

    store = CallableStore(lambda text, k: [f"sync {text}"], search)
    assert store.search("q", None, k=1)[0].passage.text == "sync q"
    assert asyncio.run(store.asearch("q", None, k=1))[0].passage.text == "async q"
    with pytest.raises(ConfigError, match="afunction"):
        CallableStore(search).search("q", None, k=1)
    with pytest.raises(ConfigError, match="asynchronous"):
        CallableEmbedder(search).embed_queries(["a"])


# Language model


def test_a_language_model_from_a_function():
    llm = CallableLLM(lambda prompt: prompt.upper(), name="shouting")
    assert isinstance(llm, LLM)
    assert llm.name == "shouting"
    assert llm.complete(Prompt("p", "user")) == Completion("USER")
    assert llm.complete(Prompt("p", "user", system="system")).text == "SYSTEM\n\nUSER"
    assert asyncio.run(llm.acomplete(Prompt("p", "user"))).text == "USER"

    async def reply(prompt):
        await asyncio.sleep(0)
        return "async"

    two = CallableLLM(lambda prompt: "sync", reply)
    assert two.complete(Prompt("p", "u")).text == "sync"
    assert asyncio.run(two.acomplete(Prompt("p", "u"))).text == "async"
    with pytest.raises(ConfigError, match="afunction"):
        CallableLLM(reply).complete(Prompt("p", "u"))


def test_a_reply_that_is_no_text():
    with pytest.raises(LLMReplyError, match="got dict") as caught:
        CallableLLM(lambda prompt: {"text": "x"}).complete(Prompt("extract", "u"))
    assert caught.value.prompt == "extract"
