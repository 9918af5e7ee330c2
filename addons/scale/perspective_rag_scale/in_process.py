"""What language models in this process have in common, whatever runs them."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from perspective_rag import Completion, LLMError, MissingDependency, Prompt
from perspective_rag.addons import fingerprint, model_fingerprint, scrubbed
from perspective_rag.extend import in_thread, no_reply


class InProcessLLM(ABC):
    """A model from a folder or a Hugging Face id, with an ``adapter`` or none, that answers prompts
    together, ``batch_size`` at a time; one call runs at a time.
    """

    engine: str
    """Stands before the model in ``name``."""

    def __init__(
        self,
        model: str | Path,
        *,
        adapter: str | Path | None,
        revision: str | None,
        batch_size: int,
    ) -> None:
        self.model = str(model)
        self.adapter = None if adapter is None else str(adapter)
        self.batch_size = batch_size
        self._hub_revision = revision
        self._lock = threading.RLock()
        self._ready: Any = None
        self._broken: LLMError | None = None

    def __getstate__(self) -> dict[str, Any]:
        """All but the loaded model, so that it can be sent to another process."""
        return vars(self) | {"_lock": None, "_ready": None, "_broken": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=threading.RLock())

    @property
    def name(self) -> str:
        """The engine, the model and its adapter."""
        return "+".join(filter(None, [f"{self.engine}:{self.model}", self.adapter]))

    @cached_property
    def revision(self) -> str:
        """Identifies the weights and how they are run: the hub's revision, or a folder's files."""
        folders = [Path(each) for each in (self.model, self.adapter) if each]
        files = [model_fingerprint(each) if each.is_dir() else str(each) for each in folders]
        return fingerprint(self.name, self._hub_revision, files, self._settings())

    def complete(self, prompt: Prompt) -> Completion:
        """The model's reply; raises LLMError when there is none."""
        (reply,) = self.complete_many([prompt])
        if isinstance(reply, LLMError):
            raise reply
        return reply

    async def acomplete(self, prompt: Prompt) -> Completion:
        """The same in a thread."""
        return await in_thread(self.complete, prompt)

    @abstractmethod
    def complete_many(self, prompts: Sequence[Prompt]) -> list[Completion | LLMError]:
        """A reply or an error for each prompt, in their order."""

    def _loaded(self) -> Any:
        """What ``_load`` returned the first time.

        Raises MissingDependency, and LLMError where loading failed: at once when it is asked again,
        for loading takes minutes and would fail for every batch.
        """
        with self._lock:
            if self._broken is not None:
                raise self._broken
            if self._ready is None:
                try:
                    self._ready = self._load()
                except MissingDependency:
                    raise
                except Exception as raised:
                    error = scrubbed(raised)
                    reason = f"{type(error).__name__}: {error}"[:500]
                    self._broken = LLMError(f"{self.name} could not be loaded: {reason}")
                    raise self._broken from error
            return self._ready

    @abstractmethod
    def _load(self) -> Any:
        """Brings the weights into memory."""

    @abstractmethod
    def _settings(self) -> Sequence[object]:
        """What changes the replies besides the weights."""

    def _failure(self, prompt: Prompt, error: Exception) -> LLMError:
        return no_reply(self.name, prompt, error)
