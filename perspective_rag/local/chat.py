"""Messages to a chat model, and the log-probabilities of its reply."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from perspective_rag.prompts.markers import markers_of, without_markers
from perspective_rag.types import Prompt


def messages_of(
    prompt: Prompt,
    *,
    show_schema: bool,
    own_system: bool = True,
    markers: re.Pattern[str] | None = None,
) -> list[dict[str, str]]:
    """The system message, where there is one, and the user's.

    ``show_schema`` writes the JSON schema into the system text, for models that cannot be held to
    one; without ``own_system`` the system text opens the user's message. ``markers`` are broken.
    """
    system, user = prompt.system, prompt.user
    if markers is not None:
        system, user = without_markers(system, markers), without_markers(user, markers)
    if show_schema and prompt.schema is not None:
        schema = json.dumps(dict(prompt.schema))
        system = f"{system}\n\nAnswer in JSON only, following this JSON schema:\n{schema}".strip()
    if not own_system:
        return [{"role": "user", "content": f"{system}\n\n{user}".strip()}]
    before = [{"role": "system", "content": system}] if system else []
    return [*before, {"role": "user", "content": user}]


def markers_in(tokenizer: Any) -> re.Pattern[str]:
    """What a tokenizer with a chat template reads as its own, in any text."""
    added: dict[str, int] = getattr(tokenizer, "get_added_vocab", dict)()
    tokens = [*getattr(tokenizer, "all_special_tokens", ()), *added]
    return markers_of(str(tokenizer.chat_template), map(str, tokens))


# With less than this on the choices the model was about to say something else.
LEAST_MASS = 0.05


def choice_of(token: str, choices: Sequence[str]) -> str | None:
    """The one choice that a token is or begins; None for no choice and for several.

    Case, quotation marks and the marks that tokenizers put for white space do not count, so "Yes",
    " yes" and "▁y" all count for "yes".
    """
    bare = bare_token(token)
    exact = [choice for choice in choices if choice.casefold() == bare]
    begun = [choice for choice in choices if bare and choice.casefold().startswith(bare)]
    found = exact or begun
    return found[0] if len(found) == 1 else None


def choice_probabilities(
    choices: Sequence[str], tokens: Iterable[tuple[str, float | None]]
) -> dict[str, float] | None:
    """P of each choice from the alternatives for one token, given with their log-probabilities.

    P(choice) = sum of exp(l) over the tokens that begin this choice alone, divided by the same sum
    over all choices. None where the choices together hold less than ``LEAST_MASS``.
    """
    mass = dict.fromkeys(choices, 0.0)
    for token, logprob in tokens:
        chosen = choice_of(token, choices)
        if chosen and logprob is not None and logprob <= 1e-6:  # False for NaN
            mass[chosen] += math.exp(logprob)
    return normalised_mass(mass)


def normalised_mass(mass: dict[str, float]) -> dict[str, float] | None:
    """The mass of each choice as a share of all choices; None below ``LEAST_MASS``."""
    total = sum(mass.values())
    return {name: value / total for name, value in mass.items()} if total > LEAST_MASS else None


def probabilities_of_choice(choices: Sequence[str], choice: Any) -> dict[str, float] | None:
    """P of each choice from a choice of a chat completion; None where it cannot be told.

    Its first token that is not white space decides.
    """
    tokens = getattr(getattr(choice, "logprobs", None), "content", None) if choices else None
    first = next((token for token in tokens or [] if bare_token(token.token)), None)
    if first is None:
        return None
    alternatives = {each.token: each.logprob for each in [first, *(first.top_logprobs or [])]}
    return choice_probabilities(choices, alternatives.items())


def spellings(choices: Sequence[str]) -> list[str]:
    """The choices in the spellings a model may prefer: as given, capitalised, in capitals."""
    return list(
        dict.fromkeys(form for each in choices for form in (each, each.capitalize(), each.upper()))
    )


def bare_token(token: str) -> str:
    """A token in lower case without white space, its markers and quotation marks."""
    return token.strip(" \t\r\n\"'*`.,▁ĠĊ").casefold()
