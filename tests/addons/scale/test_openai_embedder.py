"""Embeddings over HTTP, against a server that says what it was asked."""

from __future__ import annotations

import numpy as np
import pytest

from perspective_rag import ConfigError, RetrievalError
from perspective_rag.protocols import Embedder
from perspective_rag.testing import HashEmbedder
from perspective_rag_scale import OpenAICompatibleEmbedder
from tests.contract import openai_server as fake

pytest.importorskip("openai")

TEXTS = ["cages are cruel", "zoos save species", "parks", "zoos and parks", "species"]


def embeds(body, _):
    rows = 3.0 * HashEmbedder().embed_passages(body["input"])
    data = [
        {"object": "embedding", "index": i, "embedding": row.tolist()} for i, row in enumerate(rows)
    ]
    data.reverse()  # the order is the index's, not the reply's
    return 200, {"object": "list", "data": data, "model": "m", "usage": {}}


def test_texts_go_out_in_batches_and_come_back_as_unit_rows_in_their_order():
    with fake.OpenAIServer(embeds) as server:
        embedder = OpenAICompatibleEmbedder("m", base_url=server.url, batch_size=4)
        assert isinstance(embedder, Embedder)
        rows = embedder.embed_passages([*TEXTS, "  "])
        np.testing.assert_allclose(rows[:-1], HashEmbedder().embed_passages(TEXTS), atol=1e-6)
        assert not rows[-1].any()
        assert [len(body["input"]) for body in server.bodies] == [4, 1]
        np.testing.assert_array_equal(embedder.embed_queries(TEXTS), rows[:-1])


def test_nothing_to_embed_costs_no_request():
    with fake.OpenAIServer(embeds) as server:
        embedder = OpenAICompatibleEmbedder("m", base_url=server.url)
        assert embedder.embed_passages([]).shape == (0, 0)
        assert server.bodies == []


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda body, _: (500, {"error": "no"}), "gave no embeddings"),
        (lambda body, _: embeds({"input": body["input"][1:]}, _), "shape .* for 2 texts"),
    ],
)
def test_a_server_that_gives_something_else_is_a_clear_error(answer, message):
    with fake.OpenAIServer(answer) as server:
        embedder = OpenAICompatibleEmbedder("m", base_url=server.url, max_retries=0)
        with pytest.raises(RetrievalError, match=message):
            embedder.embed_queries(TEXTS[:2])


def test_the_key_of_the_environment_goes_to_a_server_of_ones_own_too(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-mine")
    with fake.OpenAIServer(embeds) as server:
        OpenAICompatibleEmbedder("m", base_url=server.url).embed_queries(TEXTS[:1])
        assert server.keys == ["Bearer sk-mine"]


def test_without_a_key_openai_itself_is_not_asked(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        OpenAICompatibleEmbedder("m")


def test_a_batch_holds_at_least_one_text():
    with pytest.raises(ConfigError, match="batch_size must be a whole number, at least 1"):
        OpenAICompatibleEmbedder("m", base_url="http://127.0.0.1:1", batch_size=0)


@pytest.mark.parametrize(("name", "value"), [("timeout", 0.0), ("max_retries", -1)])
def test_what_no_client_can_do_is_refused(name, value):
    with pytest.raises(ConfigError, match=f"{name} must be a .*got {value!r}"):
        OpenAICompatibleEmbedder("m", base_url="http://127.0.0.1:1", **{name: value})
