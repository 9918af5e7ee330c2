"""Replies of a language model kept in a file: equal requests give equal replies."""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from perspective_rag.flow.driver import in_thread
from perspective_rag.protocols import LLM
from perspective_rag.storage.fingerprint import cache_key
from perspective_rag.storage.sqlite_cache import open_cache
from perspective_rag.text import from_json
from perspective_rag.types import Completion, Prompt


class CachedLLM:
    """A language model whose replies are kept in a file: each prompt is asked once.

    The key is a hash of the model's ``name`` and every field of the prompt, the value JSON: the
    names of model and prompt, and the raw reply with its token counts. Failures and blank replies
    are never kept. Threads, event loops and processes can share a file; when two ask at once, both
    get the reply that was stored first. Where the file cannot be read or written later, the model's
    own reply is returned with a warning.

    Args:
        llm: Is asked what is not in the file yet.
        path: A SQLite file, made if missing.

    Raises:
        ConfigError: The file cannot be opened.
    """

    def __init__(self, llm: LLM, path: str | Path) -> None:
        self.llm = llm
        self.path = Path(path)
        self._kept = open_cache(self.path, "llm_replies", "replies")

    @property
    def name(self) -> str:
        """The name of the model itself."""
        return self.llm.name

    def complete(self, prompt: Prompt) -> Completion:
        """The stored reply, or else the model's.

        Args:
            prompt: What is asked.

        Returns:
            The reply.

        Raises:
            LLMError: The model failed.
        """
        key = self._key(prompt)
        known = self._stored(key)
        return known or self._keep(key, prompt, self.llm.complete(prompt))

    async def acomplete(self, prompt: Prompt) -> Completion:
        """The same as ``complete``, without blocking the event loop."""
        key = self._key(prompt)
        known = await in_thread(self._stored, key)
        if known:
            return known
        completion = await self.llm.acomplete(prompt)
        return await in_thread(self._keep, key, prompt, completion)

    def close(self) -> None:
        """Closes the file."""
        self._kept.close()

    def _key(self, prompt: Prompt) -> bytes:
        return cache_key(self.llm.name, prompt)

    def _stored(self, key: bytes) -> Completion | None:
        try:
            found = self._kept.get([key])
            return Completion(**from_json(found[key])["reply"]) if found else None
        except (sqlite3.Error, ValueError, TypeError, KeyError) as error:
            warnings.warn(f"{self.path}: a reply could not be read: {error}", stacklevel=4)
            return None

    def _keep(self, key: bytes, prompt: Prompt, completion: Completion) -> Completion:
        if not completion.text.strip():
            return completion
        reply = {field.name: getattr(completion, field.name) for field in fields(completion)}
        row = {"llm": self.llm.name, "prompt": prompt.name, "reply": reply}
        try:
            self._kept.put({key: json.dumps(row, default=_plain)})
        except sqlite3.Error as error:
            warnings.warn(f"{self.path}: a reply was not stored: {error}", stacklevel=3)
            return completion
        return self._stored(key) or completion


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be part of a stored request or reply")
