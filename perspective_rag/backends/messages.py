"""A prompt as the messages of a chat."""

from __future__ import annotations

import json

from perspective_rag.types import Prompt


def messages_of(
    prompt: Prompt, *, show_schema: bool, own_system: bool = True
) -> list[dict[str, str]]:
    """The system message, where there is one, and the user's.

    ``show_schema`` writes the JSON schema into the system text, for models that cannot be held to
    one; without ``own_system`` the system text opens the user's message.
    """
    system = prompt.system
    if show_schema and prompt.schema is not None:
        schema = json.dumps(dict(prompt.schema))
        system = f"{system}\n\nAnswer in JSON only, following this JSON schema:\n{schema}".strip()
    if not own_system:
        return [{"role": "user", "content": f"{system}\n\n{prompt.user}".strip()}]
    before = [{"role": "system", "content": system}] if system else []
    return [*before, {"role": "user", "content": prompt.user}]
