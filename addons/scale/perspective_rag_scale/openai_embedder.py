"""Embeddings from any server that speaks OpenAI's protocol."""

from __future__ import annotations

import os

from perspective_rag import ConfigError
from perspective_rag_scale.remote.embedder import RemoteEmbedder

_OWN = "https://api.openai.com/v1"


class OpenAICompatibleEmbedder(RemoteEmbedder):
    """Unit embeddings by a model on a server; a blank text has a row of zeros and is not sent.

    ``base_url`` is the server's (None: OpenAI's own, or OPENAI_BASE_URL); ``api_key`` defaults to
    OPENAI_API_KEY. ``timeout`` is in seconds for one attempt, from connecting to the last byte;
    there are up to ``1 + max_retries``. ``batch_size`` texts are sent at a time, one batch after
    the other; ``RemoteEmbedder`` sends several side by side, and has more options.

    Raises MissingDependency without ``httpx`` and ``tenacity``, ConfigError without a key or for
    values out of range, and RetrievalError, with the cause, when the server fails or gives other
    rows than it was asked for.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        max_retries: int = 2,
        batch_size: int = 64,
    ) -> None:
        address = base_url or os.environ.get("OPENAI_BASE_URL")
        key = api_key or os.environ.get("OPENAI_API_KEY")
        if not address and not key:
            raise ConfigError("no key for OpenAI's server: pass api_key=, or set OPENAI_API_KEY")
        super().__init__(
            address or _OWN,
            engine="openai",
            model=model,
            api_key=key,
            timeout=timeout,
            max_retries=max_retries,
            batch_size=batch_size,
            batch_tokens=batch_size * 1_000_000,
            max_concurrency=1,
        )
        if not base_url:
            self.name = model
