"""What the retriever and the postprocessor accept, made into parts of a pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from llama_index.core.base.llms.base import BaseLLM
from llama_index.core.schema import QueryBundle

from llama_index.retrievers.perspective_rag.models import LlamaIndexLLM
from perspective_rag.errors import ConfigError, unknown_name
from perspective_rag.extract.rules import RuleExtractor
from perspective_rag.judge.cross_encoder import packaged_judge
from perspective_rag.options import ALIASES, OPTION_NAMES, PipelineOptions
from perspective_rag.protocols import LLM, Extractor, Judge

JudgeChoice = Judge | Literal["default"] | None


def check_judge(choice: JudgeChoice) -> JudgeChoice:
    """Raises ConfigError for what ``judge_of`` could make no judge of."""
    if choice is None or choice == "default" or isinstance(choice, Judge):
        return choice
    raise ConfigError(f'judge must be "default", None or a judge, got {choice!r}')


def judge_of(choice: JudgeChoice) -> Judge | None:
    """A judge: "default" is the one that comes with perspective_rag."""
    return packaged_judge() if isinstance(choice, str) else choice


def extractor_of(extractor: Extractor | None, llm: BaseLLM | LLM | None) -> Extractor | None:
    """An extractor: an ``llm`` names the perspectives, with the rules to fall back on."""
    if llm is None:
        return extractor
    if extractor is not None:
        raise ConfigError("llm= and extractor= both find the perspectives: pass one of them")
    from perspective_rag.extract.llm import LLMExtractor

    adapted = LlamaIndexLLM(llm) if isinstance(llm, BaseLLM) else llm
    return LLMExtractor(adapted, fallback=RuleExtractor())


def options_of(
    options: PipelineOptions | None,
    changes: Mapping[str, Any],
    *,
    parameters: Iterable[str],
    without: Iterable[str] = (),
) -> PipelineOptions:
    """Options with changes; ``parameters`` are further names to suggest, ``without`` refused."""
    unused = set(without)
    names = {name for name in (*OPTION_NAMES, *ALIASES) if name not in unused}
    for name in changes:
        if name in unused:
            raise ConfigError(f"{name} has no effect here: nothing is searched")
        if name not in names:
            raise unknown_name(name, (*names, *parameters), "option")
    return (options or PipelineOptions()).override(**changes)


def bundle_of(query: str | QueryBundle) -> QueryBundle:
    """A query as LlamaIndex's bundle; one that is a bundle already is handed back."""
    return query if isinstance(query, QueryBundle) else QueryBundle(query)
