"""Probabilities of a prompt's choices from the log-probabilities of a chat completion."""

from __future__ import annotations

import math
from typing import Any

# With less than this on the choices the model was about to say something else.
_LEAST_MASS = 0.05


def choice_probabilities(choices: tuple[str, ...], choice: Any) -> dict[str, float] | None:
    """P of each choice, normalised over the choices; None where it cannot be told.

    ``choice`` is a choice of a chat completion. Its first token that is not white space decides:
    every alternative there that begins a choice counts for it, so "y" and " Yes" count for "yes".
    """
    tokens = getattr(getattr(choice, "logprobs", None), "content", None) if choices else None
    first = next((token for token in tokens or [] if _bare(token.token)), None)
    if first is None:
        return None
    mass = dict.fromkeys(choices, 0.0)
    for token in {each.token: each for each in [first, *(first.top_logprobs or [])]}.values():
        chosen = _begun(_bare(token.token), choices)
        if chosen and token.logprob is not None and token.logprob <= 0.0:  # False for NaN
            mass[chosen] += math.exp(token.logprob)
    total = sum(mass.values())
    return {name: value / total for name, value in mass.items()} if total > _LEAST_MASS else None


def _begun(token: str, choices: tuple[str, ...]) -> str | None:
    """The one choice that a token is or begins; None for no choice and for several."""
    exact = [choice for choice in choices if choice.casefold() == token]
    begun = [choice for choice in choices if token and choice.casefold().startswith(token)]
    found = exact or begun
    return found[0] if len(found) == 1 else None


def _bare(token: str) -> str:
    return token.strip(" \t\r\n\"'*`.,▁ĠĊ").casefold()
