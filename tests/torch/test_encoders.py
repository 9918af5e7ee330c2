"""The papers' encoders and cross-encoder on tiny random models of the same architectures."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from benchmarks.berds.tart import TartFull
from benchmarks.core.encoders import ENCODERS, TransformersEncoder, encoder_spec
from perspective_rag import ConfigError, Passage

WORDS = (
    "[PAD] [UNK] [CLS] [SEP] [MASK] zoo animal child ban law the tax instruct query : a ?".split()
)
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 32,
}
TEXTS = ["the zoo", "a law the tax child animal ban", "zoo"]


def tokenizer(folder):
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(WORDS))
    made = transformers.BertTokenizerFast(
        vocab_file=str(vocabulary), vocab={w: i for i, w in enumerate(WORDS)}
    )
    made.save_pretrained(folder)
    return made


@pytest.fixture
def bert(tmp_path):
    folder = tmp_path / "bert"
    folder.mkdir()
    torch.manual_seed(0)
    config = transformers.BertConfig(vocab_size=len(WORDS), max_position_embeddings=64, **SIZES)
    transformers.BertModel(config).eval().save_pretrained(folder)
    tokenizer(folder)
    return folder


@pytest.fixture
def dpr(tmp_path):
    torch.manual_seed(1)
    config = transformers.DPRConfig(vocab_size=len(WORDS), max_position_embeddings=64, **SIZES)
    folders = []
    for name, kind in (
        ("passages", transformers.DPRContextEncoder),
        ("queries", transformers.DPRQuestionEncoder),
    ):
        folder = tmp_path / name
        folder.mkdir()
        kind(config).eval().save_pretrained(folder)
        tokenizer(folder)
        folders.append(folder)
    return folders


def tokens(folder, text):
    return transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")


def test_contriever_is_the_mean_of_the_tokens_unscaled(bert):
    encoder = TransformersEncoder(
        "contriever", encoder_spec(f"contriever-msmarco={bert}"), device="cpu", batch_size=2
    )
    rows = encoder.embed_passages(TEXTS)
    model = transformers.BertModel.from_pretrained(bert).eval()
    with torch.no_grad():
        for text, row in zip(TEXTS, rows, strict=True):
            expected = model(**tokens(bert, text)).last_hidden_state[0].mean(0).numpy()
            assert row == pytest.approx(expected, abs=1e-5)
    assert rows.dtype == np.float32
    assert encoder.embed_passages([]).shape == (0, 16)
    assert encoder.embed_queries(["zoo"]) == pytest.approx(
        encoder.embed_passages(["zoo"]), abs=1e-6
    )


@pytest.mark.parametrize("pooling", ["cls", "pooler", "mean"])
def test_pooling_as_asked_for(bert, pooling):
    encoder = TransformersEncoder(
        "x", encoder_spec(f"contriever={bert}", pooling=pooling), device="cpu"
    )
    model = transformers.BertModel.from_pretrained(bert).eval()
    with torch.no_grad():
        output = model(**tokens(bert, "the zoo"))
    hidden = output.last_hidden_state[0]
    expected = {"cls": hidden[0], "pooler": output.pooler_output[0], "mean": hidden.mean(0)}[
        pooling
    ]
    assert encoder.embed_passages(["the zoo"])[0] == pytest.approx(expected.numpy(), abs=1e-5)
    assert encoder.name == f"x:{pooling}"


def test_simcse_gives_unit_rows_and_tart_dual_an_instruction_before_queries(bert):
    rows = TransformersEncoder("s", encoder_spec(f"simcse={bert}"), device="cpu").embed_passages(
        TEXTS
    )
    assert np.linalg.norm(rows, axis=1) == pytest.approx(np.ones(3), abs=1e-5)
    spec = encoder_spec(f"tart-dual={bert}")
    encoder = TransformersEncoder("t", spec, device="cpu")
    assert encoder.embed_queries(["zoo"]) == pytest.approx(
        encoder.embed_passages([spec.query_prefix + "zoo"]), abs=1e-6
    )
    assert spec.query_prefix.endswith("[SEP] ")


def test_dpr_has_an_encoder_for_each_side_whose_weights_are_the_stored_ones(dpr):
    passages, queries = dpr
    encoder = TransformersEncoder("dpr", encoder_spec(f"dpr={passages},{queries}"), device="cpu")
    with torch.no_grad():
        context = transformers.DPRContextEncoder.from_pretrained(passages).eval()
        asked = transformers.DPRQuestionEncoder.from_pretrained(queries).eval()
        expected = [
            context(**tokens(passages, "the zoo")).pooler_output[0].numpy(),
            asked(**tokens(queries, "the zoo")).pooler_output[0].numpy(),
        ]
    assert encoder.embed_passages(["the zoo"])[0] == pytest.approx(expected[0], abs=1e-5)
    assert encoder.embed_queries(["the zoo"])[0] == pytest.approx(expected[1], abs=1e-5)
    assert not np.allclose(expected[0], expected[1], atol=1e-3)
    read = encoder.spec.passage_text(Passage("1", "law", {"title": "zoo"}))
    assert read == "zoo [SEP] law"
    assert tokens(passages, read)["input_ids"][0].tolist() == [
        2,
        WORDS.index("zoo"),
        3,
        WORDS.index("law"),
        3,
    ]


def test_a_model_with_its_own_encode_is_given_its_instruction(bert):
    class Own:
        def encode(self, texts, *, instruction, max_length):
            self.asked = (texts, instruction, max_length)
            return torch.ones(len(texts), 4)

    own = Own()
    encoder = TransformersEncoder("nv-embed-v2", encoder_spec("nv-embed-v2"), device="cpu")
    encoder._models[False] = (None, own)
    assert encoder.embed_queries(["zoo"])[0] == pytest.approx([0.5] * 4)
    assert own.asked[0] == ["zoo"]
    assert own.asked[1].startswith("Instruct: ")
    encoder.embed_passages(["zoo"])
    assert own.asked[1] == ""


def test_names_that_do_not_exist_are_told_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'contriever'"):
        encoder_spec("contreiver")
    with pytest.raises(ConfigError, match="pooling"):
        encoder_spec("simcse", pooling="median")
    assert set(ENCODERS) >= {"dpr", "contriever-msmarco", "nv-embed-v2", "tart-dual"}


def test_tart_full_reads_question_and_passage_together(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    names = [
        "<pad>",
        "</s>",
        "<unk>",
        *"zoo animal law [SEP] retrieve passages that hold an opinion or argument on this question".split(),
    ]
    raw = Tokenizer(models.WordLevel({word: i for i, word in enumerate(names)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    raw.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(tmp_path)
    config = transformers.T5Config(
        vocab_size=len(names), d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2
    )
    torch.manual_seed(2)
    encoder = transformers.T5EncoderModel(config).eval()
    head = torch.nn.Linear(16, 2)
    # In the form of the published checkpoint: the encoder's own names, and "classifier".
    state = {**encoder.state_dict(), "classifier.weight": head.weight, "classifier.bias": head.bias}
    encoder.save_pretrained(tmp_path, state_dict=state)
    tart = TartFull(str(tmp_path), device="cpu", batch_size=2)
    passages = [
        Passage(str(i), text) for i, text in enumerate(["zoo law", "animal", "law law law"])
    ]
    scores = tart.scores("zoo", passages)
    read = transformers.AutoTokenizer.from_pretrained(tmp_path)
    with torch.no_grad():
        for passage, score in zip(passages, scores, strict=True):
            pair = read(f"{tart._task} [SEP] zoo", passage.text, return_tensors="pt")
            hidden = encoder(
                input_ids=pair["input_ids"], attention_mask=pair["attention_mask"]
            ).last_hidden_state
            assert score == pytest.approx(float(head(hidden[:, 0]).softmax(-1)[0, 1]), abs=1e-5)
    assert len(set(scores)) == 3
    assert tart.scores("zoo", []) == []
