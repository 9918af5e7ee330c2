"""What vLLM is asked and how its reply is read, in this process and on a cluster alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from perspective_rag import Completion, Prompt
from perspective_rag.addons import (
    bare_token,
    choice_of,
    choice_probabilities,
    markers_in,
    messages_of,
    spellings,
)

# The most alternatives for a token that the engine gives unless it is told otherwise.
_LOGPROBS = 20

ENGINE_DEFAULTS: Mapping[str, Any] = {
    "enable_prefix_caching": True,
    # White space is allowed in JSON without end, and a small model may fill its reply with it.
    "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
}
"""Arguments of the engine unless the user gives others."""


def sampling_of(prompt: Prompt) -> dict[str, Any]:
    """The fields of ``SamplingParams``, JSON-ready; ``structured_outputs`` are fields too.

    A prompt with choices is held to them, in one token where that tells them apart.
    """
    fields: dict[str, Any] = {
        "temperature": float(prompt.temperature),
        "seed": prompt.seed,
        "max_tokens": prompt.max_tokens,
    }
    if prompt.choices:
        if first_token_tells(prompt.choices):
            fields["max_tokens"] = 1
        fields["structured_outputs"] = {"choice": spellings(prompt.choices)}
        fields["logprobs"] = _LOGPROBS
    elif prompt.schema is not None:
        fields["structured_outputs"] = {"json": dict(prompt.schema)}
    return fields


def first_token_tells(choices: Sequence[str]) -> bool:
    """Whether a reply held to the choices is known from its first token, however short."""
    letters = {choice[:1].casefold() for choice in choices}
    return bool(choices) and len(letters) == len(choices) and "" not in letters


class Chats:
    """Prompts as the model of a tokenizer reads them: with its chat template, or as one text."""

    def __init__(self, tokenizer: Any, *, own_system: bool) -> None:
        self._tokenizer = tokenizer
        self.has_template = bool(getattr(tokenizer, "chat_template", None))
        self._markers = markers_in(tokenizer) if self.has_template else None
        self._own_system = own_system and self.has_template

    def messages(self, prompt: Prompt) -> list[dict[str, str]]:
        """The messages of a prompt, without what the model would read as the end of one."""
        return messages_of(
            prompt, show_schema=False, own_system=self._own_system, markers=self._markers
        )

    def token_ids(self, prompt: Prompt) -> list[int]:
        """The prompt as the model's tokens; a template writes its special tokens itself."""
        messages = self.messages(prompt)
        text = messages[0]["content"]
        if self.has_template:
            text = self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True
            )
        ids: list[int] = self._tokenizer(text, add_special_tokens=not self.has_template)[
            "input_ids"
        ]
        return ids


def completion_of(
    prompt: Prompt,
    text: str,
    steps: Iterable[Sequence[tuple[str, float]]],
    *,
    prompt_tokens: int,
    completion_tokens: int,
) -> Completion:
    """A reply; ``steps`` are the alternatives for each token with log P, the chosen one first."""
    shares = None
    for alternatives in steps if prompt.choices else ():
        if alternatives and bare_token(alternatives[0][0]):
            shares = choice_probabilities(prompt.choices, alternatives)
            break
    # One token may be the start of a choice: "y".
    begun = choice_of(text, prompt.choices) if first_token_tells(prompt.choices) else None
    whole = text.strip().casefold() in {each.casefold() for each in prompt.choices}
    return Completion(
        text=begun if begun and not whole else text,
        prompt_tokens=prompt_tokens,
        completion_tokens=completion_tokens,
        choice_probabilities=shares,
    )
