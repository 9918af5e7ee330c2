"""The default embedder, with its real model."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perspective_rag.errors import ConfigError, MissingDependency
from perspective_rag.local import onnx_minilm
from perspective_rag.local.onnx_minilm import OnnxMiniLM, length_batches
from perspective_rag.protocols import Embedder

TEXTS = [
    "Nuclear power is safe.",
    "Atomic energy poses little danger.",
    "My cat likes to sleep in the sun.",
    "A considerably longer text about the weather, which goes on for a while, so that it has to"
    " share its batch with shorter ones and those are padded to its length.",
    "Why?",
]

# The first 16 values of sentence-transformers' all-MiniLM-L6-v2 in float32 for the first two texts.
ORIGINAL = np.array(
    """
    0.0291 0.0987 -0.0293 0.0615 0.0337 0.0213 -0.0137 -0.0122
    -0.0620 0.0525 0.0175 0.0912 0.0760 0.0179 -0.0494 0.0301
    0.0593 0.1157 -0.0328 0.1116 0.0333 0.0207 -0.0498 0.0222
    0.0190 0.0276 0.0738 -0.0364 -0.0087 -0.0239 -0.0421 -0.0247
    """.split(),
    dtype=float,
).reshape(2, 16)


@pytest.fixture(scope="module")
def embedder():
    return OnnxMiniLM(threads=1)


def test_shape_and_norm(embedder):
    assert isinstance(embedder, Embedder)
    rows = embedder.embed_passages(TEXTS)
    assert rows.shape == (5, 384)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.3  # synonyms are closer
    odd = embedder.embed_passages(["half \ud83d pair", "核能", "\x00", "🙂" * 600])
    assert np.isfinite(odd).all()


def test_a_model_that_is_missing_or_damaged_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(onnx_minilm, "_packaged_model", lambda: tmp_path / "model.onnx")
    embedder = OnnxMiniLM()
    for ask in (lambda: embedder.name, lambda: embedder.embed_passages(["x"])):
        with pytest.raises(ConfigError, match=r"model\.onnx cannot be read: install"):
            ask()
    (tmp_path / "model.onnx").write_bytes(b"damaged")
    with pytest.raises(ConfigError, match=r"model\.onnx cannot be read: install"):
        embedder.embed_passages(["x"])


def test_the_values_of_the_original_model(embedder):
    rows = embedder.embed_queries(TEXTS[:2])
    for row, expected in zip(rows, ORIGINAL, strict=True):
        head = row[:16]
        cosine = head @ expected / np.linalg.norm(head) / np.linalg.norm(expected)
        assert cosine > 0.99


def test_neither_order_nor_batch_matters(embedder):
    rows = embedder.embed_passages(TEXTS)
    np.testing.assert_allclose(embedder.embed_passages(TEXTS[::-1])[::-1], rows, atol=1e-5)
    alone = np.concatenate([embedder.embed_passages([text]) for text in TEXTS])
    np.testing.assert_allclose(alone, rows, atol=1e-5)
    pairs = OnnxMiniLM(threads=1, batch_size=2).embed_passages(TEXTS)
    np.testing.assert_allclose(pairs, rows, atol=1e-5)


def test_blank_texts_have_zero_rows(embedder):
    rows = embedder.embed_passages(["", TEXTS[0], " \n"])
    assert not rows[[0, 2]].any()
    np.testing.assert_allclose(rows[1], embedder.embed_passages([TEXTS[0]])[0], atol=1e-5)
    assert embedder.embed_passages([]).shape == (0, 384)


def test_texts_are_cut_at_max_tokens(embedder):
    long = "word " * 1000
    rows = embedder.embed_passages([long, "word " * 254, "word " * 100 + "energy " * 100])
    np.testing.assert_allclose(rows[0], rows[1], atol=1e-5)
    assert rows[0] @ rows[2] < 0.99
    short = OnnxMiniLM(threads=1, max_tokens=8).embed_passages([TEXTS[3], TEXTS[3][:200]])
    np.testing.assert_allclose(short[0], short[1], atol=1e-5)


def test_threads_share_a_model_loaded_once(monkeypatch):
    import onnxruntime

    loaded = []
    session = onnxruntime.InferenceSession

    def counting(*args, **kwargs):
        loaded.append(1)
        return session(*args, **kwargs)

    monkeypatch.setattr(onnxruntime, "InferenceSession", counting)
    embedder = OnnxMiniLM(threads=1)
    assert loaded == []
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(lambda _: embedder.embed_passages(TEXTS), range(6)))
    assert loaded == [1]
    for rows in results[1:]:
        np.testing.assert_allclose(rows, results[0], atol=1e-5)


def test_the_name_tells_settings_apart():
    name = OnnxMiniLM().name
    assert name.startswith("all-MiniLM-L6-v2-int8@")
    assert OnnxMiniLM(threads=2, batch_size=3).name == name
    assert OnnxMiniLM(max_tokens=128).name != name


@pytest.mark.parametrize("options", [{"max_tokens": 0}, {"batch_size": 0}, {"threads": 0}])
def test_bad_options(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        OnnxMiniLM(**options)


@pytest.mark.parametrize("module", ["onnxruntime", "tokenizers", None])
def test_what_is_missing_is_named(monkeypatch, module):
    if module is None:
        monkeypatch.setattr(onnx_minilm, "_PACKAGE", "no_such_package_at_all")
    else:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependency, match=r"perspective-rag\[local\]"):
        OnnxMiniLM().embed_queries(["x"])


@given(st.lists(st.integers(1, 256), max_size=60), st.integers(1, 10), st.integers(1, 600))
def test_every_text_is_in_one_batch_that_is_not_too_large(lengths, most, tokens):
    batches = length_batches(lengths, most, tokens)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) <= most
        longest = max(lengths[place] for place in batch)
        assert len(batch) == 1 or len(batch) * longest <= tokens
    assert length_batches([3, 10, 4, 10], 8, 12) == [[1], [3], [2, 0]]  # of like length together
