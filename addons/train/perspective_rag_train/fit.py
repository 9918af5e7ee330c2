"""One optimisation run that can be killed at any time and goes on as if it had not been."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from perspective_rag import ConfigError
from perspective_rag.addons import fingerprint

Report = Callable[[dict[str, Any]], None]
Figures = dict[str, float]


class Settings(Protocol):
    """What the optimiser and the interruptions need to know of a run's configuration."""

    @property
    def learning_rate(self) -> float: ...
    @property
    def warmup(self) -> float: ...
    @property
    def weight_decay(self) -> float: ...
    @property
    def averaging(self) -> float: ...
    @property
    def seed(self) -> int: ...
    @property
    def evaluate_every(self) -> int: ...
    @property
    def patience(self) -> int: ...
    @property
    def checkpoint_every(self) -> float: ...


class Task(Protocol):
    """What is learned: batches, their loss, and how good the model is now."""

    def batches(self, epoch: int) -> Iterator[Any]:
        """One epoch, in an order that depends on the configuration and ``epoch`` alone."""
        ...

    def losses(self, batch: Any) -> Iterable[Any]:
        """Scalar tensors whose gradients add up to the batch's."""
        ...

    def assess(self) -> Figures:
        """The model's development figures."""
        ...

    def merit(self, figures: Figures) -> float:
        """What to keep the best model by; higher is better."""
        ...

    def keep(self) -> None:
        """Stores the model as the best so far."""
        ...


def fit(
    model: Any,
    task: Task,
    settings: Settings,
    *,
    total: int,
    fingerprint: str,
    out: Path,
    report: Report,
) -> Figures:
    """Takes ``total`` AdamW steps, keeps the best model by ``task.merit``, returns its figures.

    The learning rate rises over the first ``warmup`` share of the steps and falls linearly to zero.
    The model is assessed every ``evaluate_every`` steps (0: only at the end); after ``patience``
    assessments in a row without a better one the run ends (0: never). Every random draw depends on
    seed and step, so a run that continues from ``out/checkpoint.pt`` ends with the weights it
    would have had. ``fingerprint`` names configuration and data: another run's checkpoint is put
    aside as ``checkpoint-<its name>.pt`` and comes back when that run does.

    With ``averaging`` a in (0, 1) the weights assessed and kept are the moving average
    w <- a w + (1 - a) w_step, a at most n / (n + 1) in step n: the noise that small batches bring
    into single steps is averaged out. Raises ConfigError for another a than [0, 1).
    """
    import torch

    if not 0.0 <= settings.averaging < 1.0:
        raise ConfigError(f"averaging is 0 (off) or a share below 1, got {settings.averaging!r}")
    trainable = {name: p for name, p in model.named_parameters() if p.requires_grad}
    optimizer = _optimizer(trainable, settings)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, _slope(total, settings.warmup))
    device = next(model.parameters()).device
    average = {n: p.detach().clone() for n, p in trainable.items()} if settings.averaging else {}
    state: dict[str, Any] = {"step": 0, "best": None, "stale": 0, "finished": False}
    checkpoint = _claimed(out, fingerprint)
    if checkpoint.is_file():
        stored = torch.load(checkpoint, map_location=device, weights_only=True)
        with torch.no_grad():
            for name, value in stored["model"].items():
                trainable[name].copy_(value)
            for name, value in stored["average"].items():
                average[name].copy_(value)
        optimizer.load_state_dict(stored["optimizer"])
        schedule.load_state_dict(stored["schedule"])
        state = stored["state"]
    if state["finished"]:
        return dict(state["best"])

    def save() -> None:
        partial = checkpoint.with_suffix(".partial")
        weights = {name: p.detach() for name, p in trainable.items()}
        torch.save(
            {
                "fingerprint": fingerprint,
                "model": weights,
                "average": average,
                "optimizer": optimizer.state_dict(),
                "schedule": schedule.state_dict(),
                "state": state,
            },
            partial,
        )
        partial.replace(checkpoint)

    def assess() -> None:
        with _in_place_of(trainable, average):
            figures = task.assess()
            if state["best"] is None or task.merit(figures) > task.merit(state["best"]):
                task.keep()
                state["best"], state["stale"] = figures, 0
            else:
                state["stale"] += 1
        with (out / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps({"step": state["step"], "total": total, **figures}) + "\n")
        report({"step": state["step"], "total": total, "development": figures})

    started = last_saved = time.monotonic()
    for position, batch in enumerate(itertools.islice(_epochs(task), total), start=1):
        if position <= state["step"]:
            continue  # already seen before an interruption
        torch.manual_seed(settings.seed * 1_000_003 + position)
        model.train()
        loss = 0.0
        for part in task.losses(batch):
            part.backward()
            loss += part.item()
        torch.nn.utils.clip_grad_norm_(trainable.values(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        share = max(1.0 - settings.averaging, 1.0 / (position + 1))
        for name, value in average.items():
            value.lerp_(trainable[name].detach(), share)
        state["step"] = position
        now = time.monotonic()
        report({"step": position, "total": total, "loss": loss, "seconds": now - started})
        assessed = bool(settings.evaluate_every) and position % settings.evaluate_every == 0
        if assessed and position < total:
            assess()
            if settings.patience and state["stale"] >= settings.patience:
                break
        if assessed or now - last_saved > settings.checkpoint_every:
            save()
            last_saved = time.monotonic()
    else:
        assess()
    state["finished"] = True
    save()
    return dict(state["best"])


def fingerprint_of(config: Any, *sets: Sequence[object]) -> str:
    """16 hexadecimal digits that change with the configuration and with any pair or question."""
    return fingerprint(config, sets)


def _epochs(task: Task) -> Iterator[Any]:
    for epoch in itertools.count():
        yield from task.batches(epoch)


@contextmanager
def _in_place_of(trainable: dict[str, Any], other: dict[str, Any]) -> Iterator[None]:
    """The model with the other weights, as long as the context lasts."""
    own = {name: trainable[name].data for name in other}
    for name, value in other.items():
        trainable[name].data = value
    try:
        yield
    finally:
        for name, value in own.items():
            trainable[name].data = value


def _optimizer(trainable: dict[str, Any], settings: Settings) -> Any:
    import torch

    decayed = [p for p in trainable.values() if p.ndim > 1]
    plain = [p for p in trainable.values() if p.ndim <= 1]
    groups = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": plain, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate)


def _slope(total: int, warmup_share: float) -> Callable[[int], float]:
    warmup = max(1, int(total * warmup_share))

    def factor(step: int) -> float:
        return min((step + 1) / warmup, max(0.0, (total - step) / max(1, total - warmup)))

    return factor


def _claimed(out: Path, fingerprint: str) -> Path:
    """``out/checkpoint.pt``, this run's or absent; another run's is put aside under its name."""
    import torch

    out.mkdir(parents=True, exist_ok=True)
    checkpoint, own = out / "checkpoint.pt", out / f"checkpoint-{fingerprint}.pt"
    if checkpoint.is_file():
        stored = torch.load(checkpoint, map_location="cpu", weights_only=True)
        name = str(stored["fingerprint"])
        if name == fingerprint:
            return checkpoint
        checkpoint.replace(out / f"checkpoint-{name}.pt")
        if (out / "log.jsonl").is_file():
            (out / "log.jsonl").replace(out / f"log-{name}.jsonl")
    if own.is_file():
        own.replace(checkpoint)
        if (out / f"log-{fingerprint}.jsonl").is_file():
            (out / f"log-{fingerprint}.jsonl").replace(out / "log.jsonl")
    return checkpoint
