"""Encoders of the hub as judges: tiny ones made from configurations."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from perspective_rag.errors import ConfigError
from perspective_rag.flow.driver import run
from perspective_rag.local.judges import load_judge
from perspective_rag.testing.judges import JUDGE_CHECKS, JudgeCase
from perspective_rag.types import Passage, Perspective

WORDS = "<pad> [CLS] [SEP] <unk> zoos close should stay a b c d e".split()
PRO = Perspective("pro", "zoos should close", "support", "zoos should close")
CON = Perspective("con", "zoos should stay", "oppose", "zoos should close")
PASSAGES = [Passage("a", "a b c d e"), Passage("b", "zoos stay"), Passage("c", "close " * 150)]
KINDS = ["DebertaV2", "Roberta"]


def tiny(folder, kind, labels):
    """The same weights whatever the order of the labels: the head's rows move with them."""
    torch.manual_seed(3)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(WORDS),
        intermediate_size=32,
        max_position_embeddings=66,
        pad_token_id=0,
        type_vocab_size=2 if kind == "DebertaV2" else 1,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
        **shape,
    )
    model = getattr(transformers, f"{kind}ForSequenceClassification")(config)
    head = model.classifier if kind == "DebertaV2" else model.classifier.out_proj
    with torch.no_grad():
        names = sorted(labels, key=str.lower)
        head.weight.copy_(torch.randn(3, 16)[[names.index(label) for label in labels]] * 3)
    model.save_pretrained(folder)
    raw = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1" if kind == "DebertaV2" else "[CLS] $A [SEP] $B [SEP]",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    names = ["input_ids", "attention_mask"] + ["token_type_ids"] * (kind == "DebertaV2")
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw,
        pad_token="<pad>",
        unk_token="<unk>",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_input_names=names,
    ).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_the_labels_comes_from_the_configuration(kind, tmp_path):
    orders = [
        ("entailment", "neutral", "contradiction"),
        ("contradiction", "neutral", "entailment"),
        ("NEUTRAL", "ENTAILMENT", "CONTRADICTION"),
    ]
    tables = [
        run(
            load_judge("deberta-v3-base-nli", model=tiny(tmp_path / str(i), kind, labels)).judge(
                [PRO, CON], PASSAGES
            )
        )
        for i, labels in enumerate(orders)
    ]
    assert np.ptp(tables[0]) > 0.01
    for table in tables[1:]:
        np.testing.assert_allclose(table, tables[0], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_are_those_of_a_plain_forward_pass(kind, tmp_path):
    labels = ("contradiction", "neutral", "entailment")
    folder = tiny(tmp_path, kind, labels)
    found = run(load_judge("deberta-v3-base-nli", model=folder).judge([PRO, CON], PASSAGES[:2]))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    for row, passage in enumerate(PASSAGES[:2]):
        with torch.no_grad():
            logits = model(**tokenizer(passage.text, PRO.claim, return_tensors="pt")).logits[0]
        expected = torch.softmax(logits, -1)[[2, 0]].numpy()
        np.testing.assert_allclose(found[row], expected, atol=1e-5)


@pytest.mark.parametrize("check", JUDGE_CHECKS)
def test_they_conform(check, tmp_path):
    folder = tiny(tmp_path, "DebertaV2", ("entailment", "neutral", "contradiction"))
    JUDGE_CHECKS[check](JudgeCase(lambda: load_judge("deberta-v3-large-nli", model=folder)))


def test_a_model_whose_labels_say_nothing_is_refused(tmp_path):
    folder = tiny(tmp_path, "Roberta", ("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(ConfigError, match="id2label"):
        run(load_judge("roberta-large-mnli", model=folder).judge([PRO], PASSAGES[:1]))
