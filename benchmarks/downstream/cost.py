"""What a run will take, said before it starts."""

from __future__ import annotations

import ipaddress
import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from rich.console import Console
from rich.prompt import Confirm

from perspective_rag import ConfigError, Prompt

OVERHEAD = 12
"""Tokens that a chat's format adds to a request."""


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars for a million tokens; None where they are not known."""

    prompt: float | None = None
    completion: float | None = None

    def __post_init__(self) -> None:
        for value in (self.prompt, self.completion):
            if value is not None and not 0.0 <= value < math.inf:
                raise ConfigError(f"a price is in dollars from 0, got {value!r}")

    def of(self, prompt_tokens: int, completion_tokens: int) -> float | None:
        """The price of so many tokens in dollars."""
        if self.prompt is None or self.completion is None:
            return None
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / 1e6


@dataclass(frozen=True, slots=True)
class Estimate:
    """An upper bound: every reply as long as allowed, no reply known from another run.

    ``dollars`` is None where prices are not known, ``tokens_per_second`` what ``seconds`` rests on.
    """

    requests: int
    prompt_tokens: int
    completion_tokens: int
    dollars: float | None
    seconds: float
    tokens_per_second: float

    def __str__(self) -> str:
        price = "price unknown" if self.dollars is None else f"at most ${self.dollars:.4f}"
        price = "free" if self.dollars == 0 else price
        return (
            f"{self.requests:,} requests, about {self.prompt_tokens:,} tokens in and at most "
            f"{self.completion_tokens:,} out: {price}, about {_duration(self.seconds)} "
            f"at {self.tokens_per_second:g} tokens a second for each reply"
        )


def tokens_in(text: str) -> int:
    """About how many tokens a text is: the larger of characters / 4 and words * 4 / 3."""
    return math.ceil(max(len(text) / 4, len(text.split()) * 4 / 3))


def estimate(
    prompts: Sequence[Prompt], prices: Prices, *, tokens_per_second: float, concurrency: int
) -> Estimate:
    """What prompts will take; equal ones are asked once.

    ``tokens_per_second`` is the speed of one reply, ``concurrency`` how many are written at once.
    """
    if not tokens_per_second > 0 or concurrency < 1:
        raise ConfigError(
            "tokens_per_second above 0 and concurrency from 1 are needed, got "
            f"{tokens_per_second!r} and {concurrency!r}"
        )
    asked = set(prompts)
    prompt_tokens = sum(tokens_in(each.system) + tokens_in(each.user) + OVERHEAD for each in asked)
    completion_tokens = sum(each.max_tokens for each in asked)
    return Estimate(
        len(asked),
        prompt_tokens,
        completion_tokens,
        prices.of(prompt_tokens, completion_tokens),
        completion_tokens / tokens_per_second / concurrency,
        tokens_per_second,
    )


def is_paid(base_url: str | None) -> bool:
    """Whether requests leave this machine: they may then cost money.

    None is OPENAI_BASE_URL where that is set, and else OpenAI's own server.
    """
    url = base_url or os.environ.get("OPENAI_BASE_URL")
    host = urlsplit(url).hostname if url else None
    if host is None or host == "localhost":
        return host is None
    try:
        return not ipaddress.ip_address(host).is_loopback
    except ValueError:
        return True


def agreed(expected: Estimate, *, paid: bool, yes: bool, console: Console) -> bool:
    """Shows what a run takes; a paid one starts with ``yes`` or when the person at the terminal
    says so.
    """
    console.print(f"To ask: {expected}", highlight=False)
    if not paid or yes or not expected.requests:
        return True
    if sys.stdin is not None and sys.stdin.isatty():
        return Confirm.ask("This may cost money. Go on?", console=console, default=False)
    console.print("This may cost money: give --yes to go on (--price-in, --price-out: its price).")
    return False


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
