"""The two-sided judge's network: an encoder, and one score for each statement from its own words.

``<s> first </s> second </s> passage </s>``; the encoder's last states are averaged over each
statement's tokens. A statement's score is ``f(its mean, the first token's state)`` with one ``f``
for both, so that what is learned of a side is learned for either place.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import nn
from transformers import AutoConfig, AutoModel

START, PAD, SEPARATOR = 0, 1, 2
WIDTH = 256
_KEPT_TEXTS = 500_000  # a training sees its texts again


class TwoSided(nn.Module):  # type: ignore[misc]
    """Logits of (first, second, neither, both): ids (n, tokens) -> (n, 4)."""

    def __init__(self, encoder: nn.Module, hidden: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.side = nn.Sequential(nn.Linear(2 * hidden, WIDTH), nn.GELU(), nn.Linear(WIDTH, 1))
        self.rest = nn.Sequential(nn.Linear(hidden, WIDTH), nn.GELU(), nn.Linear(WIDTH, 2))

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """ids (n, tokens) and mask (n, tokens, 1 where a token stands) -> logits (n, 4)."""
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        ends = (ids == SEPARATOR).long()
        # How many separators stand before a token: 0 in the first statement, 1 in the second.
        place = torch.cumsum(ends, dim=1) - ends
        inside = (1 - ends) * mask * (ids != START).long()
        whole = states[:, 0]
        one = _mean(states, inside * (place == 0).long())
        two = _mean(states, inside * (place == 1).long())
        sides = [self.side(torch.cat([each, whole], dim=1)) for each in (one, two)]
        return torch.cat([*sides, self.rest(whole)], dim=1)


def _mean(states: torch.Tensor, inside: torch.Tensor) -> torch.Tensor:
    weights = inside.unsqueeze(-1).float()
    return (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)


def from_base(base: Path, *, attention: str | None = None) -> TwoSided:
    """A network whose encoder is the transformers model in ``base``; its heads are new.

    ``attention`` is transformers' ``attn_implementation`` (None: its own choice).
    """
    config = _config(base)
    encoder = AutoModel.from_pretrained(base, config=config, attn_implementation=attention)
    return TwoSided(encoder, config.hidden_size)


def from_config(base: Path) -> TwoSided:
    """A network of ``base``'s shape without its weights."""
    config = _config(base)
    return TwoSided(AutoModel.from_config(config, attn_implementation="eager"), config.hidden_size)


def _config(base: Path) -> Any:
    config = AutoConfig.from_pretrained(base)
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.05
    return config


def autocast(device: torch.device) -> torch.autocast:
    """Products in bfloat16, unless a processor without such instructions would emulate them, a
    hundred times slower than 32-bit floats.
    """
    slow = device.type == "cpu" and not torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=not slow)


class Encoding:
    """Texts as the network's ids."""

    def __init__(self, tokenizer: Path, max_tokens: int = 192) -> None:
        self.tokenizer = Tokenizer.from_file(str(tokenizer))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.max_tokens = max_tokens
        self._of = lru_cache(_KEPT_TEXTS)(self._encoded)

    def ids(self, first: str, second: str, document: str) -> list[int]:
        """The ids of a passage beside two statements; a long passage loses its end."""
        one, two, text = map(self._of, (first, second, document))
        one, two = one[:40], two[:40]
        text = text[: self.max_tokens - len(one) - len(two) - 4]
        return [START, *one, SEPARATOR, *two, SEPARATOR, *text, SEPARATOR]

    def _encoded(self, text: str) -> array[int]:
        return array("H", self.tokenizer.encode(text, add_special_tokens=False).ids)


def read(
    network: TwoSided, encoding: Encoding, texts: Sequence[tuple[str, str, str]]
) -> NDArray[np.float64]:
    """Probabilities (n, 4) of (first, second, document), both orders averaged."""
    one = probabilities(network, encoding, texts)
    two = probabilities(network, encoding, [(b, a, text) for a, b, text in texts])
    return (one + two[:, [1, 0, 2, 3]]) / 2


def probabilities(
    network: TwoSided, encoding: Encoding, texts: Sequence[tuple[str, str, str]]
) -> NDArray[np.float64]:
    """Probabilities (n, 4) of (first, second, document) as they stand."""
    encoded = [encoding.ids(*each) for each in texts]
    order = sorted(range(len(encoded)), key=lambda at: len(encoded[at]))
    found = np.empty((len(encoded), 4))
    device = next(network.parameters()).device
    size = 16 if device.type == "cpu" else 256
    with torch.no_grad(), autocast(device):
        for start in range(0, len(order), size):
            at = order[start : start + size]
            ids, mask = (
                torch.from_numpy(each).to(device) for each in padded([encoded[i] for i in at])
            )
            found[at] = torch.softmax(network(ids, mask).float(), dim=1).cpu().numpy()
    return found


def padded(rows: list[list[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of ids as one array (n, longest) and its mask."""
    ids = np.full((len(rows), max(map(len, rows))), PAD, dtype=np.int64)
    mask = np.zeros_like(ids)
    for at, row in enumerate(rows):
        ids[at, : len(row)] = row
        mask[at, : len(row)] = 1
    return ids, mask
