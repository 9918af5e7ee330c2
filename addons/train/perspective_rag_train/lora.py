"""LoRA fine-tuning of a causal language model that answers whether a passage supports a statement.

The defaults are those of the judge that BERDS fine-tunes from Mistral-7B (Chen and Choi 2024,
appendix B.5, and the authors' published code).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag import ConfigError, MissingDependency
from perspective_rag.addons import JudgeSettings, PromptTemplate, fence, load_prompt, shorten
from perspective_rag_train.card import model_card, settings_document
from perspective_rag_train.command import DataFile, described_base, prepared
from perspective_rag_train.data import LabelledPair
from perspective_rag_train.fit import Report, fingerprint_of, fit
from perspective_rag_train.metrics import (
    Floats,
    auc,
    best_threshold,
    expected_calibration_error,
    f1,
)

ANSWERS = ("yes", "no")
MODULES = ("q_proj", "k_proj", "v_proj", "o_proj", "up_proj", "down_proj", "gate_proj")


@dataclass(frozen=True, slots=True)
class LoraConfig:
    """Everything that decides a LoRA run; it is stored with the adapter.

    A step takes ``accumulation`` pairs, ``batch_size`` at a time. ``rank`` and ``alpha`` are LoRA's
    r and alpha, ``modules`` the linear layers that get an adapter. ``averaging``,
    ``evaluate_every`` and ``patience`` are those of ``TrainingConfig``. A prompt longer than
    ``max_tokens`` has its passage shortened. ``prompt`` is a file that replaces
    ``prompts/judge_support.txt``. ``negation`` is the probability that a pair with a
    side is shown with its statement negated.
    """

    base: str
    epochs: float = 2.0
    learning_rate: float = 1e-4
    warmup: float = 0.1
    weight_decay: float = 0.001
    averaging: float = 0.0
    batch_size: int = 1
    accumulation: int = 16
    rank: int = 64
    alpha: int = 16
    dropout: float = 0.1
    modules: tuple[str, ...] = MODULES
    max_tokens: int = 1024
    prompt: str | None = None
    negation: float = 0.0
    seed: int = 13
    checkpoint_every: float = 240.0
    evaluate_every: int = 100
    patience: int = 0

    def __post_init__(self) -> None:
        if self.batch_size < 1 or self.accumulation % self.batch_size:
            raise ConfigError(
                f"accumulation ({self.accumulation}) must be a multiple of batch_size "
                f"({self.batch_size})"
            )


def train_adapter(
    data: Sequence[DataFile],
    development: Sequence[DataFile],
    config: LoraConfig,
    out: Path,
    report: Report = lambda state: None,
    *,
    base_licence: str = "not stated",
) -> dict[str, float]:
    """Fine-tunes an adapter, keeps the one with the best development F1, returns its figures.

    ``out`` then holds the adapter as ``peft`` writes it with the tokenizer, ``judge.json`` (the
    threshold, from development pairs alone, and provenance) and ``README.md``. Trained on the
    tokens of the answer alone: "yes" for support, "no" for the rest. The run resumes like that of
    an encoder. Raises ConfigError when the base cannot be loaded or has none of ``modules``.
    """
    pairs, held_out, facts = prepared(data, development, config.seed)
    model, tokenizer = _load(config)
    template = load_prompt("judge_support", config.prompt)
    task = _Answering(model, tokenizer, template, pairs, held_out, config, out)
    settings = {name: value for name, value in asdict(config).items() if name != "checkpoint_every"}
    figures = fit(
        model,
        task,
        config,
        total=max(1, math.ceil(len(pairs) * config.epochs / config.accumulation)),
        fingerprint=fingerprint_of(settings, pairs, held_out),
        out=out,
        report=report,
    )
    threshold = figures["threshold"]
    provenance = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "development": figures,
        "base": described_base(config.base, base_licence),
        "training": {**asdict(config), "base": Path(config.base).name, "pairs": len(pairs)},
        "prompt": template.hash,
        **facts,
    }
    document = settings_document(JudgeSettings(threshold=round(threshold, 4)), provenance)
    (out / "judge.json").write_text(document, encoding="utf-8")
    (out / "README.md").write_text(model_card(out), encoding="utf-8")
    return figures


def _load(config: LoraConfig) -> tuple[Any, Any]:
    try:
        import peft
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise MissingDependency("judge", "LoRA fine-tuning") from error
    torch.manual_seed(config.seed)
    on_gpu = torch.cuda.is_available()
    try:
        tokenizer = AutoTokenizer.from_pretrained(config.base, padding_side="left")
        # The weights that stay are held in half precision where a GPU computes with it.
        model = AutoModelForCausalLM.from_pretrained(
            config.base, dtype=torch.float16 if on_gpu else torch.float32
        )
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"base {config.base!r} cannot be loaded as a causal language model: expected a folder "
            f"with a transformers model and its tokenizer, or a Hugging Face id ({error})"
        ) from error
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    try:
        adapted = peft.get_peft_model(
            model,
            peft.LoraConfig(
                task_type="CAUSAL_LM",
                r=config.rank,
                lora_alpha=config.alpha,
                lora_dropout=config.dropout,
                target_modules=list(config.modules),
            ),
        )
    except ValueError as error:
        raise ConfigError(f"{config.base!r} has no layers {config.modules}: {error}") from error
    return adapted.to("cuda" if on_gpu else "cpu"), tokenizer


@dataclass(frozen=True, slots=True)
class _Answering:
    model: Any
    tokenizer: Any
    template: PromptTemplate
    pairs: Sequence[LabelledPair]
    development: Sequence[LabelledPair]
    config: LoraConfig
    out: Path

    def batches(self, epoch: int) -> Iterator[list[LabelledPair]]:
        rng = random.Random(f"{self.config.seed}-{epoch}")
        order = list(self.pairs)
        rng.shuffle(order)
        shown = [pair.negated() if rng.random() < self.config.negation else pair for pair in order]
        for start in range(0, len(shown), self.config.accumulation):
            yield shown[start : start + self.config.accumulation]

    def losses(self, batch: Sequence[LabelledPair]) -> Iterable[Any]:
        import torch

        device = self.model.device
        for start in range(0, len(batch), self.config.batch_size):
            rows = batch[start : start + self.config.batch_size]
            inputs, answers = self._answered(rows)
            with torch.autocast(device.type, dtype=torch.bfloat16):
                logits = self.model(**inputs.to(device)).logits
            # Position t predicts token t + 1; all but the answer's tokens are ignored.
            each = torch.nn.functional.cross_entropy(
                logits[:, :-1].float().transpose(1, 2),
                answers[:, 1:].to(device),
                reduction="none",
            ).sum(dim=1) / (answers[:, 1:] != -100).sum(dim=1).to(device)
            weight = torch.tensor([pair.weight for pair in rows], device=device)
            yield (weight * each).sum() / len(batch)

    def assess(self) -> dict[str, float]:
        support = self.support(self.development)
        positive = np.array([pair.label == "support" for pair in self.development])
        threshold = best_threshold(support, positive, 1.0)
        predicted = support >= threshold
        return {
            "pairs": float(len(positive)),
            "threshold": threshold,
            "f1_support": f1(predicted, positive),
            "accuracy": float((predicted == positive).mean()),
            "auc_support_rest": auc(support[positive], support[~positive]),
            "calibration_error": expected_calibration_error(support, positive),
        }

    def merit(self, figures: dict[str, float]) -> float:
        return figures["f1_support"]

    def keep(self) -> None:
        self.model.save_pretrained(self.out)
        self.tokenizer.save_pretrained(self.out)

    def support(self, pairs: Sequence[LabelledPair]) -> Floats:
        """P(yes) among yes and no at the first token of the answer, shape (n,)."""
        import torch

        self.model.eval()
        yes, no = (self._answer_tokens(answer)[0] for answer in ANSWERS)
        result = np.zeros(len(pairs))
        with torch.no_grad():
            for row, pair in enumerate(pairs):
                ids = torch.tensor([self._prompt_tokens(pair)], device=self.model.device)
                logits = self.model(input_ids=ids).logits[0, -1].float()
                result[row] = torch.softmax(logits[[yes, no]], dim=0)[0].item()
        return result

    def _answered(self, pairs: Sequence[LabelledPair]) -> tuple[Any, Any]:
        """Padded inputs, and the same tokens with -100 wherever nothing is to be learned."""
        import torch

        rows, answers = [], []
        for pair in pairs:
            prompt = self._prompt_tokens(pair)
            answer = self._answer_tokens(ANSWERS[pair.label != "support"])
            rows.append(prompt + answer)
            answers.append([-100] * len(prompt) + answer)
        inputs = self.tokenizer.pad({"input_ids": rows}, return_tensors="pt")
        width = inputs["input_ids"].shape[1]
        padded = [[-100] * (width - len(answer)) + answer for answer in answers]
        return inputs, torch.tensor(padded)

    def _answer_tokens(self, answer: str) -> list[int]:
        tokens: list[int] = self.tokenizer(answer, add_special_tokens=False)["input_ids"]
        return tokens

    def _prompt_tokens(self, pair: LabelledPair) -> list[int]:
        tokens = self._tokens(pair)
        while len(tokens) > self.config.max_tokens and len(pair.document) > 40:
            keep = int(len(pair.document) * self.config.max_tokens / len(tokens) * 0.95)
            pair = replace(pair, document=shorten(pair.document, max(40, keep)))
            tokens = self._tokens(pair)
        return tokens

    def _tokens(self, pair: LabelledPair) -> list[int]:
        filled = self.template.fill(passage=fence([pair.document]), perspective=pair.statement)
        if self.tokenizer.chat_template:
            # Not every template knows a system turn; one user turn is understood by all.
            turn = [{"role": "user", "content": f"{filled.system}\n\n{filled.user}"}]
            chat = self.tokenizer.apply_chat_template(
                turn, add_generation_prompt=True, tokenize=False
            )
            return list(self.tokenizer(chat, add_special_tokens=False)["input_ids"])
        text = f"{filled.system}\n\n{filled.user}\n\n"
        return list(self.tokenizer(text)["input_ids"])
