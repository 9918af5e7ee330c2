"""Fine-tuning of a three-class cross-encoder: resumable, deterministic order, early stopping on a
development set.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag.errors import MissingDependency
from perspective_rag.judge.training.data import LABELS, Augmentation, LabelledPair, epoch_batches
from perspective_rag.judge.training.metrics import Floats, evaluate

Report = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """Everything that decides a training run; it is stored with the model.

    ``learning_rate`` falls linearly to zero after ``warmup`` (share of all steps).
    ``evaluate_every`` and ``checkpoint_every`` are seconds. ``max_tokens`` cuts the longer
    of document and statement. The ``frozen_layers`` lowest layers keep their weights (faster).
    """

    base: str
    epochs: float = 2.0
    learning_rate: float = 8e-5
    warmup: float = 0.06
    weight_decay: float = 0.01
    label_smoothing: float = 0.05
    tokens_per_batch: int = 3072
    max_tokens: int = 192
    frozen_layers: int = 0
    seed: int = 13
    checkpoint_every: float = 240.0
    evaluate_every: float = 600.0
    augmentation: Augmentation = field(default_factory=Augmentation)


def train(
    pairs: Sequence[LabelledPair],
    development: Sequence[LabelledPair],
    config: TrainingConfig,
    out: Path,
    report: Report = lambda state: None,
) -> dict[str, float]:
    """Trains, keeps the model with the best development AUC in ``out/model`` and returns its
    development figures.

    A run that was interrupted continues from ``out/checkpoint.pt`` when called again with the same
    configuration and data. ``report`` is called after each step with step, total, loss and seconds.
    """
    try:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError as error:
        raise MissingDependency("judge", "training a judge") from error

    torch.manual_seed(config.seed)
    tokenizer = AutoTokenizer.from_pretrained(config.base)
    model = AutoModelForSequenceClassification.from_pretrained(
        config.base,
        num_labels=len(LABELS),
        id2label=dict(enumerate(LABELS)),
        label2id={label: i for i, label in enumerate(LABELS)},
    )
    # Word vectors of a small data set drift for the words it holds and for no others: left as they
    # are.
    model.get_input_embeddings().weight.requires_grad_(False)
    for number in range(config.frozen_layers):
        for name, parameter in model.named_parameters():
            if f".layer.{number}." in name:
                parameter.requires_grad_(False)
    if config.frozen_layers:
        model.base_model.embeddings.requires_grad_(False)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model.to(device)
    decayed = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    plain = [p for p in model.parameters() if p.requires_grad and p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [
            {"params": decayed, "weight_decay": config.weight_decay},
            {"params": plain, "weight_decay": 0.0},
        ],
        lr=config.learning_rate,
    )
    total = _total_steps(pairs, config)
    warmup = max(1, int(total * config.warmup))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min((step + 1) / warmup, max(0.0, (total - step) / max(1, total - warmup))),
    )
    loss_of = torch.nn.CrossEntropyLoss(label_smoothing=config.label_smoothing)

    out.mkdir(parents=True, exist_ok=True)
    checkpoint = out / "checkpoint.pt"
    fingerprint = json.dumps([asdict(config), len(pairs)], sort_keys=True)
    step, best = 0, {"auc_support_rest": -1.0, "auc_support_oppose": -1.0}
    if checkpoint.exists():
        state = torch.load(checkpoint, map_location=device, weights_only=True)
        if state["fingerprint"] == fingerprint:
            model.load_state_dict(state["model"])
            optimizer.load_state_dict(state["optimizer"])
            schedule.load_state_dict(state["schedule"])
            step, best = state["step"], state["best"]

    def save() -> None:
        partial = checkpoint.with_suffix(".partial")
        torch.save(
            {
                "fingerprint": fingerprint,
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(),
                "step": step,
                "best": best,
            },
            partial,
        )
        partial.replace(checkpoint)

    def assess() -> None:
        nonlocal best
        figures = evaluate(
            predict(model, tokenizer, development, max_tokens=config.max_tokens),
            [p.label for p in development],
        )
        if _merit(figures) > _merit(best):
            best = figures
            model.save_pretrained(out / "model")
            tokenizer.save_pretrained(out / "model")
        with (out / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps({"step": step, "total": total, **figures}) + "\n")

    started = last_saved = last_assessed = time.monotonic()
    position = 0
    for epoch in range(int(np.ceil(config.epochs))):
        for batch in epoch_batches(
            pairs,
            seed=config.seed,
            epoch=epoch,
            tokens_per_batch=config.tokens_per_batch,
            augmentation=config.augmentation,
        ):
            position += 1
            if position <= step:
                continue  # already seen before an interruption
            if position > total:
                break
            model.train()
            inputs = tokenizer(
                [p.document for p in batch],
                [p.statement for p in batch],
                truncation="longest_first",
                max_length=config.max_tokens,
                padding=True,
                return_tensors="pt",
            ).to(device)
            labels = torch.tensor([LABELS.index(p.label) for p in batch], device=device)
            with torch.autocast(device, dtype=torch.bfloat16):
                logits = model(**inputs).logits
            loss = loss_of(logits.float(), labels)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
            step = position
            now = time.monotonic()
            report({"step": step, "total": total, "loss": loss.item(), "seconds": now - started})
            if now - last_saved > config.checkpoint_every:
                save()
                last_saved = now
            if now - last_assessed > config.evaluate_every:
                assess()
                last_assessed = time.monotonic()
    assess()
    save()
    return best


def predict(
    model: Any, tokenizer: Any, pairs: Sequence[LabelledPair], *, max_tokens: int, batch: int = 64
) -> Floats:
    """The model's (n, 3) logits for pairs, in their order; similar lengths go together."""
    import torch

    model.eval()
    order = sorted(
        range(len(pairs)), key=lambda i: len(pairs[i].document) + len(pairs[i].statement)
    )
    logits = np.zeros((len(pairs), len(LABELS)))
    device = next(model.parameters()).device
    with torch.no_grad(), torch.autocast(device.type, dtype=torch.bfloat16):
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            inputs = tokenizer(
                [pairs[i].document for i in rows],
                [pairs[i].statement for i in rows],
                truncation="longest_first",
                max_length=max_tokens,
                padding=True,
                return_tensors="pt",
            ).to(device)
            logits[rows] = model(**inputs).logits.float().cpu().numpy()
    return logits


def _total_steps(pairs: Sequence[LabelledPair], config: TrainingConfig) -> int:
    per_epoch = sum(
        1
        for _ in epoch_batches(
            pairs,
            seed=config.seed,
            epoch=0,
            tokens_per_batch=config.tokens_per_batch,
            augmentation=config.augmentation,
        )
    )
    return max(1, round(per_epoch * config.epochs))


def _merit(figures: dict[str, float]) -> float:
    # A development set without one of the classes has no AUC for it: NaN, which must not win or
    # lose.
    return float(np.nan_to_num([figures["auc_support_rest"], figures["auc_support_oppose"]]).sum())
