"""What the routes of one application share."""

from __future__ import annotations

import asyncio

from perspective_rag.serve.admission import Admission
from perspective_rag.serve.asking import Asked, Emit, Reply, reply_to
from perspective_rag.serve.judging import Chosen, choose
from perspective_rag.serve.loading import Loaded, Loading
from perspective_rag.serve.metrics import Metrics
from perspective_rag.serve.review import Review
from perspective_rag.serve.settings import ServeSettings


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
        if self.patience:
            await self.loading.wait(self.patience)
        self.check(asked)
        async with self.admission.permit():
            answering = reply_to(self.loaded.pipeline, asked, self.settings, emit)
            reply = await asyncio.wait_for(answering, self.settings.answer_seconds)
        self.metrics.answered(reply.result)
        if self.review is not None:
            self.review.shown(reply.result)
        return reply

    async def choose(
        self,
        question: str,
        texts: list[str],
        *,
        perspectives: list[str] | None = None,
        k: int | None = None,
        every: bool = False,
    ) -> Chosen:
        """The same for texts of the caller's own; raises as ``judging.choose``."""
        if self.patience:
            await self.loading.wait(self.patience)
        self.loading.check()
        async with self.admission.permit():
            pipeline = self.loaded.pipeline
            choosing = choose(
                pipeline, question, texts, perspectives=perspectives, k=k, every=every
            )
            chosen = await asyncio.wait_for(choosing, self.settings.answer_seconds)
        self.metrics.answered(chosen.result)
        return chosen
