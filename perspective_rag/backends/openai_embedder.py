"""Embeddings from any server that speaks OpenAI's protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from perspective_rag.backends.openai_compatible import check_attempts, client_settings
from perspective_rag.errors import ConfigError, MissingDependency, RetrievalError
from perspective_rag.redaction import scrubbed, secrets_of
from perspective_rag.types import Matrix
from perspective_rag.validation import count
from perspective_rag.vectors import normalised


class OpenAICompatibleEmbedder:
    """Unit embeddings by a model on a server; a blank text has a row of zeros and is not sent.

    ``base_url`` is the server's (None: OpenAI's own, or OPENAI_BASE_URL); ``api_key`` defaults to
    OPENAI_API_KEY. ``timeout`` is in seconds for one attempt, from connecting to the last byte;
    there are up to ``1 + max_retries``. ``batch_size`` texts are sent at a time.

    Raises MissingDependency without ``openai``, ConfigError without a key or for values out of
    range, and RetrievalError, with the cause, when the server fails or gives other rows than it was
    asked for.
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
        try:
            import openai

            from perspective_rag.backends.timed_http import TimedClient
        except ImportError as error:
            raise MissingDependency("openai", "embedding texts on a server") from error
        check_attempts(timeout, max_retries)
        self.model = model
        server = f"@{urlsplit(base_url).netloc.rpartition('@')[2]}" if base_url else ""
        self.name = f"{model}{server}"
        self._batch_size = count("batch_size", batch_size)
        settings = client_settings(base_url, api_key, timeout, max_retries)
        self._secrets = secrets_of(settings)
        try:
            http: Any = TimedClient(timeout)
            self._client: Any = openai.OpenAI(**settings, http_client=http)
        except openai.OpenAIError as error:
            raise ConfigError(
                "no key for OpenAI's server: pass api_key=, or set OPENAI_API_KEY"
            ) from error

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """One unit row for each text, shape (n, d), float32."""
        asked = [place for place, text in enumerate(texts) if text.strip()]
        found = []
        for start in range(0, len(asked), self._batch_size):
            found.append(self._embed([texts[p] for p in asked[start : start + self._batch_size]]))
        if not found:
            return np.zeros((len(texts), 0), dtype=np.float32)
        rows = np.concatenate(found)
        result: Matrix = np.zeros((len(texts), rows.shape[1]), dtype=np.float32)
        result[asked] = normalised(rows)
        return result

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """The same as for passages."""
        return self.embed_passages(texts)

    def _embed(self, texts: list[str]) -> Matrix:
        try:
            reply = self._client.embeddings.create(
                model=self.model, input=texts, encoding_format="float"
            )
            data = sorted(reply.data, key=lambda item: item.index)
            rows: Matrix = np.array([item.embedding for item in data], dtype=np.float32)
        except Exception as raised:
            error = scrubbed(raised, self._secrets)
            raise RetrievalError(f"{self.name} gave no embeddings: {error}") from error
        if rows.ndim != 2 or len(rows) != len(texts):
            raise RetrievalError(
                f"{self.name} gave embeddings of shape {rows.shape} for {len(texts)} texts"
            )
        return rows
