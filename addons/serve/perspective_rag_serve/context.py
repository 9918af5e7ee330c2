"""What the routes of one application share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from perspective_rag.extend import in_thread
from perspective_rag_serve.admission import Admission
from perspective_rag_serve.asking import Asked, Emit, Reply, reply_to
from perspective_rag_serve.judging import Chosen, choose
from perspective_rag_serve.loading import Loaded, Loading
from perspective_rag_serve.logs import answering
from perspective_rag_serve.metrics import Metrics
from perspective_rag_serve.review import Review
from perspective_rag_serve.settings import ServeSettings

R = TypeVar("R")


class Context:
    """The settings, the pipeline that is loaded or being loaded, the queue before it, and what is
    counted and kept of its answers.

    ``patience``: seconds that a question waits for the loading to end, before it is refused.
    """

    def __init__(self, settings: ServeSettings, loading: Loading, *, patience: float = 0.0) -> None:
        self.patience = patience
        self.settings = settings
        self.loading = loading
        self.admission = Admission(settings.running, settings.waiting)
        self.metrics = Metrics(self.admission, loading)
        self.review = Review(settings.review) if settings.review is not None else None

    @property
    def loaded(self) -> Loaded:
        """What was loaded; raises NotReady before that."""
        return self.loading.loaded

    def check(self, asked: Asked) -> None:
        """Raises Failure for what would be refused, so that it can be before a stream begins."""
        asked.check(self.settings)
        self.loading.check()
        self.admission.check()

    async def ask(self, asked: Asked, emit: Emit = lambda name, data: None) -> Reply:
        """The reply to a question, once there is a permit; raises as ``reply_to``."""
        answering()
        if self.patience:
            await self.loading.wait(self.patience)
        self.check(asked)
        async with self.admission.permit():
            work = reply_to(self.loaded.pipeline, asked, self.settings, emit)
            reply = await asyncio.wait_for(work, self.settings.answer_seconds)
        self.metrics.answered(reply.result)
        if self.review is not None:
            self.review.shown(reply.result)
        return reply

    async def choose(
        self,
        question: str,
        texts: list[str],
        then: Callable[[Chosen], R],
        *,
        perspectives: list[str] | None = None,
        k: int | None = None,
        every: bool = False,
    ) -> R:
        """The same for texts of the caller's own: what ``then`` makes of the choice, in a thread;
        raises as ``judging.choose``.
        """
        answering()
        if self.patience:
            await self.loading.wait(self.patience)
        self.loading.check()
        async with self.admission.permit():
            pipeline = self.loaded.pipeline

            async def work() -> tuple[Chosen, R]:
                chosen = await choose(
                    pipeline, question, texts, perspectives=perspectives, k=k, every=every
                )
                return chosen, await in_thread(then, chosen)

            chosen, made = await asyncio.wait_for(work(), self.settings.answer_seconds)
        self.metrics.answered(chosen.result)
        return made
