"""The judge of a folder whose model a server runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from perspective_rag import ConfigError, CrossEncoderJudge, JudgeError
from perspective_rag.addons import PACKAGED_JUDGE
from perspective_rag.extend import Call, Flow, Matrix, Reply, call, unknown_name
from perspective_rag.judge.cross_encoder import Asked
from perspective_rag_scale.remote.asking import Row, ask
from perspective_rag_scale.remote.batching import batches
from perspective_rag_scale.remote.client import Client
from perspective_rag_scale.remote.failures import ServerError
from perspective_rag_scale.remote.kserve import KServeInfer
from perspective_rag_scale.remote.pairs import PairItem, PairReader
from perspective_rag_scale.remote.settings import ConnectionOptions, ConnectionSettings
from perspective_rag_scale.remote.tei import TEIPredict
from perspective_rag_scale.remote.vllm import VLLMClassify

if TYPE_CHECKING:
    from typing_extensions import Unpack

JudgeEngine = Literal["tei", "vllm", "kserve"]


class RemoteJudge(CrossEncoderJudge):
    """A ``CrossEncoderJudge`` whose logits a model server computes.

    Windows, temperature, bias, thresholds and the reading of two sides are those of ``model``, a
    folder with ``config.json``, ``tokenizer.json`` and, for what was calibrated, ``judge.json``
    (None: the judge that comes with the package); its weights are not read here. So the
    probabilities are those of the judge in this process with the same weights, up to rounding.

    ``engine`` is the server at ``address``: "tei" (Text Embeddings Inference), "vllm" (``vllm serve
    FOLDER --runner pooling``) or "kserve" (Triton and others; the address ends in
    ``/v2/models/MODEL``). ``perspective-rag judge export`` writes the folders that they load.
    ``served`` is the model's name on a vLLM server (None: the only one). ``api_key`` is sent as a
    bearer token. Further keywords are the fields of ``ConnectionSettings``: ``timeout``,
    ``max_retries``, ``max_concurrency``, ``batch_size`` and ``batch_tokens``.

    The server's labels are compared with the folder's before the first judgement (or by ``check``)
    and wherever a reply names them; ConfigError for others. A request that fails leaves NaN for its
    pairs and a recorded degradation (strict mode: JudgeError). Raises MissingDependency without the
    extra ``remote``, and ConfigError for values out of range.
    """

    def __init__(
        self,
        address: str,
        *,
        engine: JudgeEngine = "tei",
        model: str | Path | None = None,
        served: str | None = None,
        api_key: str | None = None,
        threshold: float | None = None,
        temperature: float | None = None,
        language: str = "en",
        **connection: Unpack[ConnectionOptions],
    ) -> None:
        super().__init__(model, threshold=threshold, temperature=temperature, language=language)
        self._client = Client(address, api_key=api_key, settings=ConnectionSettings.of(connection))
        self.name = f"{self.name}@{self._client.shown.partition('://')[2]}"
        folder = PACKAGED_JUDGE if model is None else Path(model)
        self._reader = PairReader(folder, self._settings)
        self._wire = _wire(engine, self._reader, served)
        self._batch_size = self._client.settings.batch_size
        self._checked = False

    def check(self) -> None:
        """Asks the server what it serves; raises ConfigError where that is not the judge's model,
        JudgeError where it does not answer.
        """
        try:
            self._client.run(self._check)
        except ServerError as error:
            raise JudgeError(f"judge {self.name!r}: {error}") from error

    def close(self) -> None:
        """Closes the connections; a later judgement opens new ones."""
        self._client.close()

    def _ask(self, asked: Sequence[Asked]) -> Flow[Reply]:
        """Each batch is a call of its own: one that fails takes no other with it."""
        if not self._checked:
            reply = yield from call(
                "judge",
                partial(self._client.run, self._check),
                afunction=partial(self._client.arun, self._check),
            )
            if reply.error is not None:
                return reply
        try:
            pairs = self._cut(self._reader, asked)
            items = self._reader.items(pairs.documents, pairs.statements)
        except Exception as problem:
            return Reply(error=problem)
        sizes = [len(item.ids) for item in items]
        groups = list(batches(sizes, self._batch_size, self._client.settings.batch_tokens))
        counts = {"judged_pairs": len(asked) * len(asked[0].statements)}
        replies = yield [
            self._call([items[i] for i in group], counts if place == 0 else {})
            for place, group in enumerate(groups)
        ]
        logits, error = self._gathered(len(items), groups, replies)
        if isinstance(error, ConfigError):
            return Reply(error=error)
        try:
            return Reply(self._support(self._reader.labels, asked, pairs, logits), error)
        except Exception as problem:
            return Reply(error=problem)

    def _call(self, items: list[PairItem], counts: Mapping[str, int]) -> Call:
        work = partial(ask, self._client, self._wire, items)
        return Call(
            "judge",
            partial(self._client.run, work),
            afunction=partial(self._client.arun, work),
            counts=counts,
        )

    def _gathered(
        self, n: int, groups: Sequence[Sequence[int]], replies: Sequence[Reply]
    ) -> tuple[Matrix, Exception | None]:
        """The logits, NaN where there are none, and why: a ConfigError first."""
        logits: Matrix = np.full((n, len(self._reader.labels)), np.nan)
        errors: list[Exception] = []
        for group, reply in zip(groups, replies, strict=True):
            if reply.error is not None:
                errors.append(reply.error)
                continue
            rows: list[Row] = reply.value
            for index, row in zip(group, rows, strict=True):
                if isinstance(row, ServerError):
                    errors.append(row)
                else:
                    logits[index] = row
        errors.sort(key=lambda each: not isinstance(each, ConfigError))
        return logits, errors[0] if errors else None

    async def _check(self) -> None:
        most = await self._wire.check(self._client)
        self._batch_size = min(self._client.settings.batch_size, most or self._batch_size)
        self._checked = True


_WIRES = {"tei": TEIPredict, "vllm": VLLMClassify, "kserve": KServeInfer}


def _wire(
    engine: str, reader: PairReader, served: str | None
) -> TEIPredict | VLLMClassify | KServeInfer:
    if engine not in _WIRES:
        raise unknown_name(engine, _WIRES, "engine of a judge")
    if engine == "vllm":
        return VLLMClassify(reader, served)
    if served is not None:
        raise ConfigError(f"served names a model of a vLLM server; with {engine!r} leave it out")
    return TEIPredict(reader) if engine == "tei" else KServeInfer(reader)
