"""A pipeline over a folder that ``perspective-rag index --to faiss:FOLDER`` wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perspective_rag import CachedEmbedder, ConfigError, PerspectivePipeline
from perspective_rag.addons import LocalArguments, check_judges, pipeline_over
from perspective_rag.extend import LLM, Embedder, Judge, SecondJudge
from perspective_rag_scale.faiss_folder import FaissFolder

if TYPE_CHECKING:
    from typing_extensions import Unpack


def folder_pipeline(
    folder: str | Path,
    *,
    embedder: Embedder | None = None,
    judge: Judge | None = None,
    llm: LLM | None = None,
    llm_judge: Judge | None = None,
    second_judge: SecondJudge | None = None,
    **options: Unpack[LocalArguments],
) -> PerspectivePipeline:
    """A pipeline with the package's own embedder and judge that searches the folder by vector;
    nothing is loaded but the models (see ``FaissFolder``).

    ``judge``, ``llm``, ``llm_judge``, ``second_judge`` and ``options`` are those of
    ``local_pipeline``. Raises CorpusError for a folder that is no finished index, ConfigError for
    another embedder than the one it was built with and for ``llm_judge`` together with ``judge``.
    """
    check_judges(judge, llm_judge)
    store = FaissFolder(folder)
    if embedder is None:
        from perspective_rag import OnnxMiniLM

        embedder = OnnxMiniLM()
    name = embedder_name(embedder)
    if name != store.manifest.model:
        raise ConfigError(
            f"{folder} was built with the encoder {store.manifest.model!r}, not {name!r}: their "
            "vectors cannot be compared; pass the one it was built with"
        )
    return pipeline_over(
        store,
        CachedEmbedder(embedder, model_name=name),
        vectors=store,
        judge=judge,
        llm=llm,
        llm_judge=llm_judge,
        second_judge=second_judge,
        **options,
    )


def embedder_name(embedder: Embedder) -> str:
    """What an embedder calls itself, else the name of its class."""
    return str(getattr(embedder, "name", type(embedder).__name__))
