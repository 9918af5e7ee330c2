"""What the retriever and the postprocessor accept, made into parts of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.schema import QueryBundle
from llama_index.core.vector_stores import MetadataFilters

from llama_index.retrievers.perspective_rag.models import LlamaIndexLLM
from perspective_rag import ConfigError, LLMExtractor, LLMListJudge, Perspective, RuleExtractor
from perspective_rag.extend import (
    LLM,
    Extractor,
    Judge,
    Options,
    as_perspectives,
    check_component,
    packaged_judge,
)

JudgeChoice = Judge | Literal["default"] | None


class RequestArguments(Options, total=False):
    """What may change for one request."""

    perspectives: Sequence[Perspective | str] | None
    filters: MetadataFilters | None


def check_parts(**given: Any) -> None:
    """Raises ConfigError, in plain words, for what can never be the part it was given as."""
    model = given.pop("embed_model", None)
    if model is not None and not isinstance(model, BaseEmbedding):
        raise ConfigError(
            f"embed_model must be a LlamaIndex embedding model (BaseEmbedding), got {model!r:.60}"
        )
    for name, value in given.items():
        if value is None or isinstance(value, BaseLLM) or (name == "judge" and value == "default"):
            continue
        check_component(name, value, framework=_ALSO.get(name, ""))


_ALSO = {"judge": '"default", None', "llm": "a LlamaIndex LLM"}


def checked_perspectives(
    given: Sequence[Perspective | str] | None,
) -> Sequence[Perspective | str] | None:
    """The perspectives as they were given, once they are known to be such."""
    if given is None:
        return None
    as_perspectives(given)
    return tuple(given)


def judge_of(choice: JudgeChoice, llm: BaseLLM | LLM | None = None) -> Judge | None:
    """A judge: "default" is ``llm``, which reads all candidates in one call, with the judge that
    comes with perspective_rag behind it, or that judge alone.
    """
    if not isinstance(choice, str):
        return choice
    return packaged_judge() if llm is None else LLMListJudge(llm_of(llm), fallback=packaged_judge())


def llm_of(llm: BaseLLM | LLM) -> LLM:
    """LlamaIndex's model, or the library's, as an LLM."""
    return LlamaIndexLLM(llm) if isinstance(llm, BaseLLM) else llm


def extractor_of(extractor: Extractor | None, llm: BaseLLM | LLM | None) -> Extractor | None:
    """An extractor: an ``llm`` names the perspectives, with the rules to fall back on."""
    if llm is None:
        return extractor
    if extractor is not None:
        raise ConfigError("llm= and extractor= both find the perspectives: pass one of them")
    return LLMExtractor(llm_of(llm), fallback=RuleExtractor())


def bundle_of(query: str | QueryBundle) -> QueryBundle:
    """A query as LlamaIndex's bundle; one that is a bundle already is handed back."""
    return query if isinstance(query, QueryBundle) else QueryBundle(query)
