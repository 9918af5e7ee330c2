"""Models of frameworks, held to a prompt's schema where they can be."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Generic, TypeVar

from perspective_rag.prompts.replies import llm_errors
from perspective_rag.types import Completion, Prompt

Held = TypeVar("Held")


class SchemaFirst(Generic[Held]):
    """Asks a model that may refuse schemas: held to the prompt's, then for JSON in plain text.

    A model that refused once, and answered in plain text, is not held to a schema again.

    Args:
        name: The model's name, for errors.
        held: What holds the model to a prompt's schema, for ``send``; None: it cannot be held.
        secrets: The model's keys, which its errors may repeat.
    """

    def __init__(
        self,
        name: str,
        held: Callable[[Prompt], Held | None],
        secrets: Callable[[], Iterable[str]],
    ) -> None:
        self._name, self._held, self._secrets = name, held, secrets
        self._refuses = False

    def complete(self, prompt: Prompt, send: Callable[[Held | None], Completion]) -> Completion:
        """Sends a prompt once or twice.

        Args:
            prompt: The prompt.
            send: Sends it as ``held`` says; ``send(None)`` sends it without the schema.

        Returns:
            The reply.

        Raises:
            LLMError: Whatever the model raises, without its keys.
        """
        held = self._holding(prompt)
        with llm_errors(self._name, prompt, self._secrets()):
            if held is not None:
                # It may refuse the schema alone: a failure of the plain request is the model's.
                with suppress(Exception):
                    return send(held)
            reply = send(None)
        self._refuses |= held is not None
        return reply

    async def acomplete(
        self, prompt: Prompt, send: Callable[[Held | None], Awaitable[Completion]]
    ) -> Completion:
        """The same as ``complete``, without blocking the event loop."""
        held = self._holding(prompt)
        with llm_errors(self._name, prompt, self._secrets()):
            if held is not None:
                with suppress(Exception):
                    return await send(held)
            reply = await send(None)
        self._refuses |= held is not None
        return reply

    def _holding(self, prompt: Prompt) -> Held | None:
        return None if prompt.schema is None or self._refuses else self._held(prompt)
