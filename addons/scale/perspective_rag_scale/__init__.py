"""Past one process and one machine: model servers, vLLM, Ray, and indexes that are filled once.

What ``__all__`` names is public and is imported when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perspective_rag_scale.dense_index import build_dense_index as build_dense_index
    from perspective_rag_scale.dense_index import open_dense_index as open_dense_index
    from perspective_rag_scale.openai_embedder import (
        OpenAICompatibleEmbedder as OpenAICompatibleEmbedder,
    )
    from perspective_rag_scale.ray_engine import RayEngine as RayEngine
    from perspective_rag_scale.ray_llm import RayLLM as RayLLM
    from perspective_rag_scale.remote.embedder import RemoteEmbedder as RemoteEmbedder
    from perspective_rag_scale.remote.judge import RemoteJudge as RemoteJudge
    from perspective_rag_scale.sentence_transformers import (
        SentenceTransformerEmbedder as SentenceTransformerEmbedder,
    )
    from perspective_rag_scale.vllm_engine import VLLMEngine as VLLMEngine

_HOME_OF = {
    "OpenAICompatibleEmbedder": "openai_embedder",
    "RayEngine": "ray_engine",
    "RayLLM": "ray_llm",
    "RemoteEmbedder": "remote.embedder",
    "RemoteJudge": "remote.judge",
    "SentenceTransformerEmbedder": "sentence_transformers",
    "VLLMEngine": "vllm_engine",
    "build_dense_index": "dense_index",
    "open_dense_index": "dense_index",
}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
