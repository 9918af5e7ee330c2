"""Embeddings that a model server computes."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from perspective_rag import ConfigError, RetrievalError
from perspective_rag.addons import normalised
from perspective_rag.extend import Matrix, Vector, unknown_name
from perspective_rag_scale.remote.asking import Row, Wire, ask
from perspective_rag_scale.remote.batching import batches
from perspective_rag_scale.remote.client import Client
from perspective_rag_scale.remote.failures import ServerError
from perspective_rag_scale.remote.openai_embeddings import OpenAIEmbeddings
from perspective_rag_scale.remote.settings import ConnectionOptions, ConnectionSettings
from perspective_rag_scale.remote.tei import TEIEmbed

if TYPE_CHECKING:
    from typing_extensions import Unpack

EmbedderEngine = Literal["tei", "vllm", "openai"]

_CHARACTERS = 4  # of a token, about: no tokenizer is at hand


class RemoteEmbedder:
    """Unit embeddings by a model on a server; a blank text has a row of zeros and is not sent.

    ``engine`` is the server at ``address``: "tei" (Text Embeddings Inference), "vllm", or "openai"
    for any other that speaks OpenAI's protocol; the last two need ``model``, its name there, and an
    address that ends where ``/embeddings`` follows, mostly in ``/v1``. ``query_prefix`` and
    ``passage_prefix`` are put before the texts, for models that were trained so. ``api_key`` is
    sent as a bearer token. Further keywords are the fields of ``ConnectionSettings``: ``timeout``,
    ``max_retries``, ``max_concurrency``, ``batch_size`` and ``batch_tokens`` (four characters
    count as a token).

    ``name``, by which vectors are kept, holds address, ``model`` and ``passage_prefix``. It does
    not change when a TEI server is started with another model.

    Raises MissingDependency without the extra ``remote``, ConfigError for values out of range, and
    RetrievalError, with the cause, when the server fails or gives other rows than it was asked for.
    """

    def __init__(
        self,
        address: str,
        *,
        engine: EmbedderEngine = "tei",
        model: str | None = None,
        query_prefix: str = "",
        passage_prefix: str = "",
        api_key: str | None = None,
        **connection: Unpack[ConnectionOptions],
    ) -> None:
        self._wire = _wire(engine, model)
        self._client = Client(address, api_key=api_key, settings=ConnectionSettings.of(connection))
        self.model = model
        place = self._client.shown.partition("://")[2].removesuffix("/v1")
        self.name = f"{model or 'embeddings'}@{place}"
        if passage_prefix:  # other vectors of the same texts
            self.name += f"[{passage_prefix}]"
        self._dimensions = 0
        self._query_prefix, self._passage_prefix = query_prefix, passage_prefix

    def embed_passages(self, texts: Sequence[str]) -> Matrix:
        """One unit row for each text, shape (n, d), float32."""
        return self._embedded(texts, self._passage_prefix)

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """The same for queries."""
        return self._embedded(texts, self._query_prefix)

    def close(self) -> None:
        """Closes the connections; a later call opens new ones."""
        self._client.close()

    def _embedded(self, texts: Sequence[str], prefix: str) -> Matrix:
        asked = [place for place, text in enumerate(texts) if text.strip()]
        if not asked:
            return np.zeros((len(texts), self._dimensions), dtype=np.float32)
        rows = self._rows([prefix + texts[place] for place in asked])
        self._dimensions = rows.shape[1]
        result: Matrix = np.zeros((len(texts), rows.shape[1]), dtype=np.float32)
        result[asked] = normalised(rows)
        return result

    def _rows(self, texts: Sequence[str]) -> Matrix:
        try:
            found = self._client.run(lambda: self._all(texts))
            failed = [row for row in found if isinstance(row, ServerError)]
            if failed:
                raise failed[0]
        except ServerError as error:
            raise RetrievalError(f"{self.name} gave no embeddings: {error}") from error
        rows = [row for row in found if not isinstance(row, ServerError)]
        shapes = {row.shape for row in rows}
        if len(shapes) != 1 or len(*shapes) != 1 or not all(map(_finite, rows)):
            said = "others are not finite" if len(shapes) == 1 else f"shapes {sorted(shapes)}"
            raise RetrievalError(f"{self.name} gave embeddings that cannot be used: {said:.200}")
        return np.stack(rows)

    async def _all(self, texts: Sequence[str]) -> list[Row]:
        """Every batch; as many at a time as the connection may have requests."""
        own = self._client.settings
        sizes = [len(text) // _CHARACTERS + 1 for text in texts]
        left = batches(sizes, own.batch_size, own.batch_tokens)
        found: dict[int, Row] = {}

        async def work() -> None:
            for batch in left:
                rows = await ask(self._client, self._wire, [texts[i] for i in batch])
                found.update(zip(batch, rows, strict=True))

        workers = [asyncio.ensure_future(work()) for _ in range(own.max_concurrency)]
        try:
            await asyncio.gather(*workers)
        finally:
            for each in workers:
                each.cancel()
        return [found[place] for place in range(len(texts))]


def _finite(row: Vector) -> bool:
    return bool(np.isfinite(row).all())


def _wire(engine: str, model: str | None) -> Wire:
    if engine == "tei":
        return TEIEmbed()
    if engine not in ("vllm", "openai"):
        raise unknown_name(engine, ("tei", "vllm", "openai"), "engine of an embedder")
    if not model:
        raise ConfigError(f"engine {engine!r} needs model=, the name that the server has for it")
    # vLLM refuses a text that is too long unless it is told to cut it.
    return OpenAIEmbeddings(model, {"truncate_prompt_tokens": -1} if engine == "vllm" else None)
