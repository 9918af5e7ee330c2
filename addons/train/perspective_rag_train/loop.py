"""Fine-tuning of a three-class cross-encoder: resumable, early stopping on a development set."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from perspective_rag import ConfigError, MissingDependency
from perspective_rag.addons import class_columns
from perspective_rag_train.batches import epoch_batches
from perspective_rag_train.data import LABELS, Augmentation, LabelledPair
from perspective_rag_train.fit import Report, fingerprint_of, fit
from perspective_rag_train.listwise import question_loss
from perspective_rag_train.metrics import Floats, evaluate
from perspective_rag_train.questions import Question, Shown, question_batches

_PART = 8  # pairs of a question that are read together
_LAYER = re.compile(r"\.layers?\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class TrainingConfig:
    """Everything that decides a training run; it is stored with the model.

    ``learning_rate`` rises over the first ``warmup`` share of the steps and falls linearly to zero.
    ``max_tokens`` cuts the longer of document and statement. The ``frozen_layers`` lowest layers
    keep their weights (faster). ``dropout`` replaces the base's own (None: as it is). ``averaging``
    near 1 (0.998) keeps the average of about the last 1 / (1 - averaging) steps instead of the last
    one (0). The model is assessed every ``evaluate_every`` steps (0: at the end only); after
    ``patience`` assessments without a better one training ends (0: never). ``checkpoint_every`` is
    in seconds and has no influence on the result.

    Where whole questions are given a step is one question with ``others_each`` other pairs, and
    ``list_weight`` and ``side_weight`` are those of the losses that ``listwise`` adds to that of
    the classes.
    """

    base: str
    epochs: float = 2.0
    learning_rate: float = 8e-5
    warmup: float = 0.06
    weight_decay: float = 0.01
    averaging: float = 0.0
    label_smoothing: float = 0.05
    tokens_per_batch: int = 3072
    max_tokens: int = 192
    frozen_layers: int = 0
    dropout: float | None = None
    seed: int = 13
    checkpoint_every: float = 240.0
    evaluate_every: int = 500
    patience: int = 0
    others_each: int = 4
    list_weight: float = 0.25
    side_weight: float = 0.4
    augmentation: Augmentation = field(default_factory=Augmentation)


def train(
    pairs: Sequence[LabelledPair],
    development: Sequence[LabelledPair],
    config: TrainingConfig,
    out: Path,
    report: Report = lambda state: None,
    *,
    questions: Sequence[Question] = (),
) -> dict[str, float]:
    """Trains, keeps the model with the best development AUC in ``out/model`` and returns its
    development figures.

    A run that was interrupted continues from ``out/checkpoint.pt`` when called again with the same
    configuration and data, and a finished one returns at once. ``report`` is called after each
    step with step, total, loss and seconds, and after each assessment with step, total and
    development. Raises ConfigError when the base cannot be loaded.
    """
    try:
        import torch
    except ImportError as error:
        raise MissingDependency("judge", "training a judge") from error
    torch.manual_seed(config.seed)
    model, tokenizer = _load(config)
    settings = {name: value for name, value in asdict(config).items() if name != "checkpoint_every"}
    task = _CrossEncoding(model, tokenizer, pairs, development, config, out)
    if questions:
        task = _WholeQuestions(model, tokenizer, pairs, development, config, out, questions)
    return fit(
        model,
        task,
        config,
        total=max(1, round(sum(1 for _ in task.batches(0)) * config.epochs)),
        fingerprint=fingerprint_of(
            settings, pairs, development, *([questions] if questions else [])
        ),
        out=out,
        report=report,
    )


def _load(config: TrainingConfig) -> tuple[Any, Any]:
    import torch
    from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

    device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        tokenizer = AutoTokenizer.from_pretrained(config.base)
        names = AutoConfig.from_pretrained(config.base).id2label
        model = AutoModelForSequenceClassification.from_pretrained(
            config.base,
            num_labels=len(LABELS),
            id2label=dict(enumerate(LABELS)),
            label2id={label: i for i, label in enumerate(LABELS)},
            ignore_mismatched_sizes=True,  # a head of other classes starts anew
            dtype=torch.float32,
            # On a CPU the backward pass of the fused attention takes longer than all the rest.
            attn_implementation="eager" if device == "cpu" else None,
        )
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"base {config.base!r} cannot be loaded as an encoder: expected a folder with a "
            f"transformers model and its tokenizer, or a Hugging Face id ({error})"
        ) from error
    _reorder_head(model, [names[index] for index in sorted(names)])
    inputs = accepted_inputs(model, tokenizer)
    tokenizer.model_input_names = tokenizer.init_kwargs["model_input_names"] = inputs
    # Word vectors of a small data set drift for the words it holds and for no others: left as they
    # are.
    model.get_input_embeddings().weight.requires_grad_(False)
    for each in model.modules():
        if isinstance(each, torch.nn.Dropout) and config.dropout is not None:
            each.p = config.dropout
    if config.frozen_layers:
        model.base_model.embeddings.requires_grad_(False)
        for name, parameter in model.named_parameters():
            layer = _LAYER.search(name)
            if layer and int(layer[1]) < config.frozen_layers:
                parameter.requires_grad_(False)
    return model.to(device), tokenizer


def _reorder_head(model: Any, labels: Sequence[str]) -> None:
    """Puts the classes of a base that knows all three, as models of entailment do, in our order."""
    import torch

    try:
        columns = class_columns(labels)
    except ConfigError:  # other classes: their outputs are learned anew
        return
    if len(labels) != len(LABELS) or set(columns) != set(LABELS):
        return
    order = [columns[label] for label in LABELS]
    linear = [each for each in model.modules() if isinstance(each, torch.nn.Linear)][-1]
    with torch.no_grad():
        for parameter in linear.parameters():
            parameter.copy_(parameter[order].clone())


def accepted_inputs(model: Any, tokenizer: Any) -> list[str]:
    """The tokenizer's outputs that the model reads: a tokenizer may give token types to a model
    that has none, or only one of them.
    """
    known = set(inspect.signature(model.forward).parameters)
    if getattr(model.config, "type_vocab_size", 2) < 2:
        known.discard("token_type_ids")
    return [name for name in tokenizer.model_input_names if name in known]


@dataclass(frozen=True, slots=True)
class _CrossEncoding:
    model: Any
    tokenizer: Any
    pairs: Sequence[LabelledPair]
    development: Sequence[LabelledPair]
    config: TrainingConfig
    out: Path

    def batches(self, epoch: int) -> Iterator[Any]:
        return epoch_batches(
            self.pairs,
            seed=self.config.seed,
            epoch=epoch,
            tokens_per_batch=self.config.tokens_per_batch,
            augmentation=self.config.augmentation,
        )

    def losses(self, batch: Any) -> Iterable[Any]:
        yield self.loss_of_classes(self.logits(batch), batch)

    def logits(self, batch: Sequence[LabelledPair]) -> Any:
        device = self.model.device
        inputs = _encoded(self.tokenizer, batch, self.config.max_tokens).to(device)
        with _mixed_precision(device):
            return self.model(**inputs).logits.float()

    def loss_of_classes(self, logits: Any, batch: Sequence[LabelledPair]) -> Any:
        import torch

        smoothing, device = self.config.label_smoothing, logits.device
        target = torch.tensor([pair.target(smoothing) for pair in batch], device=device)
        weight = torch.tensor([pair.weight for pair in batch], device=device)
        loss = torch.nn.functional.cross_entropy(logits, target, reduction="none")
        return (weight * loss).mean()

    def assess(self) -> dict[str, float]:
        logits = predict(
            self.model, self.tokenizer, self.development, max_tokens=self.config.max_tokens
        )
        return evaluate(logits, [pair.label for pair in self.development])

    def merit(self, figures: dict[str, float]) -> float:
        # A development set without one of the classes has no AUC for it: NaN, which must not win
        # or lose.
        aucs = [figures["auc_support_rest"], figures["auc_support_oppose"]]
        return float(np.nan_to_num(aucs).sum())

    def keep(self) -> None:
        self.model.save_pretrained(self.out / "model")
        self.tokenizer.save_pretrained(self.out / "model")


@dataclass(frozen=True, slots=True)
class _WholeQuestions(_CrossEncoding):
    questions: Sequence[Question]

    def batches(self, epoch: int) -> Iterator[tuple[Shown, tuple[LabelledPair, ...]]]:
        return question_batches(
            self.questions,
            self.pairs,
            seed=self.config.seed,
            epoch=epoch,
            others_each=self.config.others_each,
            augmentation=self.config.augmentation,
        )

    def losses(self, batch: tuple[Shown, tuple[LabelledPair, ...]]) -> Iterable[Any]:
        import torch

        shown, others = batch
        pairs = [*shown.pairs, *others]
        order = sorted(range(len(pairs)), key=lambda i: len(pairs[i].document))
        # Short texts apart from long ones: less is padded.
        parts = [order[start : start + _PART] for start in range(0, len(order), _PART)]
        found = torch.cat([self.logits([pairs[i] for i in part]) for part in parts])
        logits = found[torch.tensor(order).argsort()]
        yield self.loss_of_classes(logits, pairs) + question_loss(
            logits[: len(shown.pairs)],
            shown,
            lists=self.config.list_weight,
            sides=self.config.side_weight,
        )


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
    with torch.no_grad(), _mixed_precision(model.device):
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            inputs = _encoded(tokenizer, [pairs[i] for i in rows], max_tokens).to(model.device)
            logits[rows] = model(**inputs).logits.float().cpu().numpy()
    return logits


def _mixed_precision(device: Any) -> Any:
    """bfloat16 where the processor multiplies it; elsewhere it takes eight times as long."""
    import torch

    fast = device.type != "cpu" or torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=fast)


def _encoded(tokenizer: Any, pairs: Sequence[LabelledPair], max_tokens: int) -> Any:
    """Document and statement in one sequence; which inputs there are (token types or none) is the
    tokenizer's to say.
    """
    return tokenizer(
        [pair.document for pair in pairs],
        [pair.statement for pair in pairs],
        truncation="longest_first",
        max_length=max_tokens,
        padding=True,
        return_tensors="pt",
    )
