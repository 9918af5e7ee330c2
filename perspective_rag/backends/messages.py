"""A prompt as the messages of a chat."""

from __future__ import annotations

import json
import re
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
