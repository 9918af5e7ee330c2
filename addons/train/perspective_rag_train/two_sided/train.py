"""The long training: on one core or a GPU, resumable, with a checkpoint every ten minutes."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from perspective_rag_train.two_sided.assess import assess
from perspective_rag_train.two_sided.data import Row, mixed, sources
from perspective_rag_train.two_sided.network import (
    Encoding,
    TwoSided,
    autocast,
    from_base,
    from_config,
    padded,
    read,
)
from perspective_rag_train.two_sided.recipe import CHECKPOINT, CURVE, Recipe
from perspective_rag_train.two_sided.weights import load_onnx

RISING_STEPS = 40
AHEAD = 16
"""Batches that are made while the network learns from those before."""


class Run:
    """A training in ``folder``: gone on with where a checkpoint lies there; else begun from the
    exported judge in ``weights``, else from ``base``.
    """

    def __init__(
        self,
        folder: Path,
        data: Path,
        base: Path,
        recipe: Recipe,
        weights: Path | None = None,
    ) -> None:
        self.folder, self.data, self.recipe = folder, data, recipe
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "recipe.json").write_text(json.dumps(asdict(recipe), indent=1), encoding="utf-8")
        torch.manual_seed(recipe.seed)
        self.encoding = Encoding(base / "tokenizer.json", recipe.max_tokens)
        self.device = torch.device(recipe.device)
        self.network = from_base(base) if weights is None else from_config(base)
        saved = folder / CHECKPOINT
        if weights is not None:
            load_onnx(self.network, weights / "model.onnx")
        self.network.to(self.device).train()
        frozen = [self.network.encoder.embeddings]
        frozen += list(self.network.encoder.encoder.layer[: recipe.frozen_layers])
        for part in frozen:
            for parameter in part.parameters():
                parameter.requires_grad_(False)
        named = [(n, p) for n, p in self.network.named_parameters() if p.requires_grad]
        self.learned = named
        heads = [p for n, p in named if not n.startswith("encoder.")]
        body = [p for n, p in named if n.startswith("encoder.")]
        self.optimizer = torch.optim.AdamW(
            [{"params": body, "rate": recipe.learning_rate},
             {"params": heads, "rate": recipe.head_rate}],
            lr=recipe.learning_rate, betas=(0.9, 0.98), weight_decay=0.01,
        )  # fmt: skip
        self.average = {n: p.detach().clone() for n, p in named}
        self.seconds, self.steps, self.rows = 0.0, 0, 0
        if saved.is_file():
            self._load(saved)
        elif weights is not None:
            # Rows count over every session, so that mix and schedule go on where they stood.
            document = json.loads((weights / "judge.json").read_text(encoding="utf-8"))
            spent = document.get("provenance", {})
            self.seconds = spent.get("hours", 0.0) * 3600
            self.steps, self.rows = spent.get("steps", 0), spent.get("rows", 0)
        self.started = self.steps

    @property
    def progress(self) -> float:
        """The share of the planned rows that has been read."""
        return min(1.0, self.rows / self.recipe.rows)

    def train(self) -> None:
        """Trains until the planned rows are read; Ctrl-C keeps what was learned."""
        recipe = self.recipe
        if self.progress == 1.0:
            self._say("every planned row has been read: plan more with --rows")
        batches = _ahead(self._batches())
        clock = time.process_time if self.device.type == "cpu" else time.perf_counter
        saved = assessed = self.seconds
        losses: list[float] = []
        try:
            while self.progress < 1.0:
                begun = clock()
                losses.append(self._step(next(batches)))
                self.seconds += clock() - begun
                if self.steps % 50 == 0:
                    self._say(f"loss {np.mean(losses[-100:]):.4f}")
                if self.seconds - saved > recipe.checkpoint_minutes * 60:
                    saved = self.seconds
                    self._save()
                if self.seconds - assessed > recipe.assess_minutes * 60:
                    assessed = self.seconds
                    self._assess(float(np.mean(losses[-200:])))
        finally:
            self._save()
        self._assess(float(np.mean(losses[-200:])) if losses else math.nan)

    def averaged(self) -> TwoSided:
        """The network with its averaged weights."""
        with torch.no_grad():
            for name, parameter in self.learned:
                parameter.copy_(self.average[name])
        self.network.eval()
        return self.network

    def read(self, texts: Sequence[tuple[str, str, str]]) -> NDArray[np.float64]:
        """Probabilities (n, 4) of the averaged network, both orders averaged."""
        current = {n: p.detach().clone() for n, p in self.learned}
        network = self.averaged()
        found = read(network, self.encoding, texts)
        with torch.no_grad():
            for name, parameter in self.learned:
                parameter.copy_(current[name])
        self.network.train()
        return found

    def _batches(self) -> Iterator[list[tuple[list[int], Row]]]:
        """Batches of rows of like length, about ``tokens_per_step`` tokens each."""
        rows = mixed(sources(self.data), self.recipe.seed + self.steps, lambda: self.progress)
        rng = np.random.default_rng(self.recipe.seed + self.steps)
        while True:
            drawn = [next(rows) for _ in range(self.recipe.tokens_per_step // 6)]
            pool = [(self.encoding.ids(r.first, r.second, r.document), r) for r in drawn]
            pool.sort(key=lambda each: len(each[0]))
            batches: list[list[tuple[list[int], Row]]] = [[]]
            for each in pool:
                if len(each[0]) * (len(batches[-1]) + 1) > self.recipe.tokens_per_step:
                    batches.append([])
                batches[-1].append(each)
            for at in rng.permutation(len(batches)):
                yield batches[at]

    def _step(self, batch: list[tuple[list[int], Row]]) -> float:
        ids, mask = (
            torch.from_numpy(each).to(self.device) for each in padded([i for i, _ in batch])
        )
        target = torch.tensor([row.target for _, row in batch], device=self.device)
        with autocast(self.device):
            logits = self.network(ids, mask)
        loss = -(target * torch.log_softmax(logits.float(), dim=1)).sum(dim=1).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for _, p in self.learned], 1.0)
        for group in self.optimizer.param_groups:
            group["lr"] = group["rate"] * self._schedule()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.steps += 1
        self.rows += len(batch)
        keep = min(self.recipe.averaging, (self.steps + 1) / (self.steps + 10))
        with torch.no_grad():
            for name, parameter in self.learned:
                self.average[name].lerp_(parameter, 1 - keep)
        return float(loss.detach())

    def _schedule(self) -> float:
        """Up in ``warmup``, level, then down to nothing in ``cooldown`` of the planned rows.

        A run that begins with an optimizer that has seen nothing rises over its first steps too.
        """
        rising = self.progress / self.recipe.warmup
        falling = (1 - self.progress) / self.recipe.cooldown
        anew = (self.steps - self.started + 1) / RISING_STEPS
        return max(0.01, min(1.0, rising, falling, anew))

    def _assess(self, loss: float) -> None:
        """A sample of the side-taking passages of every set; ``assess`` reads them all."""
        sets = assess(self.read, self.data, at_most=100)
        line = {
            "hours": round(self.seconds / 3600, 3), "steps": self.steps, "rows": self.rows,
            "loss": round(loss, 4), **sets,
        }  # fmt: skip
        with (self.folder / CURVE).open("a", encoding="utf-8") as curve:
            curve.write(json.dumps(line) + "\n")
        for name, each in sets.items():
            self._say(f"{name} {each['auc']:.3f} right {each['right']:.3f}")

    def _save(self) -> None:
        state = {
            "learned": {n: p.detach() for n, p in self.learned},
            "average": self.average,
            "optimizer": self.optimizer.state_dict(),
            "seconds": self.seconds, "steps": self.steps, "rows": self.rows,
        }  # fmt: skip
        partial = self.folder / (CHECKPOINT + ".partial")
        torch.save(state, partial)
        os.replace(partial, self.folder / CHECKPOINT)

    def _load(self, path: Path) -> None:
        state = torch.load(path, weights_only=True, map_location=self.device)
        with torch.no_grad():
            for name, parameter in self.learned:
                parameter.copy_(state["learned"][name])
        self.average = state["average"]
        self.optimizer.load_state_dict(state["optimizer"])
        self.seconds, self.steps, self.rows = state["seconds"], state["steps"], state["rows"]
        self._say("resumed")

    def _say(self, text: str) -> None:
        hours = self.seconds / 3600
        line = f"rows {self.rows} of {self.recipe.rows}  step {self.steps}  {hours:.2f} h  {text}"
        sys.stderr.write(line + "\n")
        sys.stderr.flush()


def _ahead(batches: Iterator[list[tuple[list[int], Row]]]) -> Iterator[list[tuple[list[int], Row]]]:
    """The same batches, made in a thread: a GPU must not wait for the tokenizer."""
    with ThreadPoolExecutor(1) as maker:
        made = deque(maker.submit(next, batches) for _ in range(AHEAD))
        while True:
            made.append(maker.submit(next, batches))
            yield made.popleft().result()
