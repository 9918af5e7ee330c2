"""The pipeline of a server, loaded in the background while the server says how far it is."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from perspective_rag import PerspectivePipeline
from perspective_rag.addons import printable, redacted
from perspective_rag.extend import in_thread
from perspective_rag_serve.failures import NotReady

_log = logging.getLogger(__name__)

Phase = Literal["reading", "indexing", "ready", "failed"]
Progress = Callable[[Phase, int, int | None], None]
"""Called with what is being done, how much of it is done, and how much there is (None: unknown)."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A pipeline ready to be asked, how many passages it searches (None: a store of the user's
    own), the name of the language model that answers, if one does, and questions to begin with.
    """

    pipeline: PerspectivePipeline
    passages: int | None = None
    model: str | None = None
    examples: tuple[str, ...] = ()


Loader = Callable[[Progress], Loaded]


@dataclass(frozen=True, slots=True)
class Status:
    """How far the loading is; ``error`` tells people that it failed, the log tells why."""

    phase: Phase = "reading"
    done: int = 0
    total: int | None = None
    error: str | None = None

    @property
    def ready(self) -> bool:
        """Whether questions are answered."""
        return self.phase == "ready"


class Loading:
    """Runs a loader once, in a thread that does not keep the process alive."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._loaded: Loaded | None = None
        self._started = threading.Lock()
        self._ended = threading.Event()
        self.status = Status()

    @classmethod
    def of(cls, pipeline: PerspectivePipeline) -> Loading:
        """What needs no loading."""
        loading = cls(lambda progress: Loaded(pipeline))
        loading._load()
        return loading

    def start(self) -> None:
        """Begins to load; a second call does nothing."""
        if self._started.acquire(blocking=False) and self._loaded is None:
            threading.Thread(target=self._load, daemon=True, name="perspective-rag-load").start()

    @property
    def loaded(self) -> Loaded:
        """What was loaded; raises NotReady before that and after a failure."""
        self.check()
        assert self._loaded is not None
        return self._loaded

    def check(self) -> None:
        """Raises NotReady where nothing is loaded."""
        if self._loaded is None:
            raise NotReady(failed=self.status.phase == "failed")

    async def wait(self, seconds: float) -> None:
        """Waits until it is loaded, or has failed, or so many seconds have passed."""
        if not self._ended.is_set():
            await in_thread(self._ended.wait, seconds)

    def _load(self) -> None:
        try:
            self._loaded = self._loader(self._progress)
        except Exception as error:
            why = error if isinstance(error, OSError) else traceback.format_exc()
            _log.error("the corpus could not be loaded: %s", printable(redacted(str(why))))
            said = "the corpus could not be loaded; the server's log says why"
            self.status = Status("failed", error=said)
        else:
            count = self._loaded.passages
            self.status = Status("ready", count or 0, count)
        self._ended.set()

    def _progress(self, phase: Phase, done: int, total: int | None) -> None:
        self.status = Status(phase, done, total)
