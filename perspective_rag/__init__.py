"""Retrieval that shows every side of a question.

What ``__all__`` names is public: here, in ``perspective_rag.extend`` (to write components and
add-ons), in ``perspective_rag.commands`` (add-ons with a command) and in
``perspective_rag.testing`` (to test them). Every other module and name is private and may change in
any release. Each name is imported when it is first used, so that ``import perspective_rag`` needs
numpy alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perspective_rag.answer.extractive import ExtractiveAnswerer as ExtractiveAnswerer
    from perspective_rag.answer.grounded import GroundedAnswerer as GroundedAnswerer
    from perspective_rag.cover.guard import CoverageError as CoverageError
    from perspective_rag.errors import CapabilityError as CapabilityError
    from perspective_rag.errors import ConfigError as ConfigError
    from perspective_rag.errors import CorpusError as CorpusError
    from perspective_rag.errors import EngineError as EngineError
    from perspective_rag.errors import JudgeError as JudgeError
    from perspective_rag.errors import LLMError as LLMError
    from perspective_rag.errors import LLMReplyError as LLMReplyError
    from perspective_rag.errors import MissingDependency as MissingDependency
    from perspective_rag.errors import PerspectiveRAGError as PerspectiveRAGError
    from perspective_rag.errors import RetrievalError as RetrievalError
    from perspective_rag.flow.driver import arun as arun
    from perspective_rag.flow.driver import run as run
    from perspective_rag.flow.engine import LocalEngine as LocalEngine
    from perspective_rag.flow.limiter import Limiter as Limiter
    from perspective_rag.judge.cache import CachedJudge as CachedJudge
    from perspective_rag.judge.cascade import CascadeJudge as CascadeJudge
    from perspective_rag.judge.cross_encoder import CrossEncoderJudge as CrossEncoderJudge
    from perspective_rag.judge.llm import LLMJudge as LLMJudge
    from perspective_rag.judge.llm_list import LLMListJudge as LLMListJudge
    from perspective_rag.judge.pairs import CallableJudge as CallableJudge
    from perspective_rag.local.callables import CallableEmbedder as CallableEmbedder
    from perspective_rag.local.callables import CallableLLM as CallableLLM
    from perspective_rag.local.callables import CallableStore as CallableStore
    from perspective_rag.local.contexts import ContextReader as ContextReader
    from perspective_rag.local.contexts import Score as Score
    from perspective_rag.local.contexts import coverage_score as coverage_score
    from perspective_rag.local.contexts import listed_score as listed_score
    from perspective_rag.local.corpus import CachedEmbedder as CachedEmbedder
    from perspective_rag.local.corpus import Corpus as Corpus
    from perspective_rag.local.judges import load_judge as load_judge
    from perspective_rag.local.llm_cache import CachedLLM as CachedLLM
    from perspective_rag.local.local_pipeline import local_pipeline as local_pipeline
    from perspective_rag.local.onnx_minilm import OnnxMiniLM as OnnxMiniLM
    from perspective_rag.local.openai_compatible import (
        OpenAICompatibleLLM as OpenAICompatibleLLM,
    )
    from perspective_rag.local.stores import BM25Store as BM25Store
    from perspective_rag.local.stores import FaissStore as FaissStore
    from perspective_rag.local.stores import NumpyStore as NumpyStore
    from perspective_rag.local.telemetry import OpenTelemetry as OpenTelemetry
    from perspective_rag.options import Calibration as Calibration
    from perspective_rag.options import PipelineOptions as PipelineOptions
    from perspective_rag.perspectives.find import CallableExtractor as CallableExtractor
    from perspective_rag.perspectives.llm import LLMExtractor as LLMExtractor
    from perspective_rag.perspectives.queries import LLMExpander as LLMExpander
    from perspective_rag.perspectives.queries import NoExpansion as NoExpansion
    from perspective_rag.perspectives.queries import StatementExpander as StatementExpander
    from perspective_rag.perspectives.reading import RuleExtractor as RuleExtractor
    from perspective_rag.perspectives.sides import GivenPerspectives as GivenPerspectives
    from perspective_rag.pipeline import PerspectivePipeline as PerspectivePipeline
    from perspective_rag.types import Answer as Answer
    from perspective_rag.types import Candidate as Candidate
    from perspective_rag.types import Claim as Claim
    from perspective_rag.types import Completion as Completion
    from perspective_rag.types import Coverage as Coverage
    from perspective_rag.types import Degradation as Degradation
    from perspective_rag.types import Extraction as Extraction
    from perspective_rag.types import Hit as Hit
    from perspective_rag.types import ListingRule as ListingRule
    from perspective_rag.types import Passage as Passage
    from perspective_rag.types import Perspective as Perspective
    from perspective_rag.types import Prompt as Prompt
    from perspective_rag.types import Proof as Proof
    from perspective_rag.types import Query as Query
    from perspective_rag.types import RetrievalResult as RetrievalResult
    from perspective_rag.types import Trace as Trace
    from perspective_rag.types import passage_key as passage_key

__version__ = "0.1.0"

_HOMES = {
    "answer.extractive": "ExtractiveAnswerer",
    "answer.grounded": "GroundedAnswerer",
    "cover.guard": "CoverageError",
    "errors": (
        "CapabilityError ConfigError CorpusError EngineError JudgeError LLMError "
        "LLMReplyError MissingDependency PerspectiveRAGError RetrievalError"
    ),
    "flow.driver": "arun run",
    "flow.engine": "LocalEngine",
    "flow.limiter": "Limiter",
    "judge.cache": "CachedJudge",
    "judge.cascade": "CascadeJudge",
    "judge.cross_encoder": "CrossEncoderJudge",
    "judge.llm": "LLMJudge",
    "judge.llm_list": "LLMListJudge",
    "judge.pairs": "CallableJudge",
    "local.callables": "CallableEmbedder CallableLLM CallableStore",
    "local.contexts": "ContextReader coverage_score listed_score Score",
    "local.corpus": "CachedEmbedder Corpus",
    "local.judges": "load_judge",
    "local.llm_cache": "CachedLLM",
    "local.local_pipeline": "local_pipeline",
    "local.onnx_minilm": "OnnxMiniLM",
    "local.openai_compatible": "OpenAICompatibleLLM",
    "local.stores": "BM25Store FaissStore NumpyStore",
    "local.telemetry": "OpenTelemetry",
    "options": "Calibration PipelineOptions",
    "perspectives.find": "CallableExtractor",
    "perspectives.llm": "LLMExtractor",
    "perspectives.queries": "LLMExpander NoExpansion StatementExpander",
    "perspectives.reading": "RuleExtractor",
    "perspectives.sides": "GivenPerspectives",
    "pipeline": "PerspectivePipeline",
    "types": (
        "Answer Candidate Claim Completion Coverage Degradation Extraction Hit ListingRule "
        "Passage passage_key Perspective Prompt Proof Query RetrievalResult Trace"
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)


_ADDONS = {
    "perspective_rag_scale": [
        "OpenAICompatibleEmbedder",
        "RayEngine",
        "RayLLM",
        "RemoteEmbedder",
        "RemoteJudge",
        "SentenceTransformerEmbedder",
        "VLLMEngine",
    ],
    "perspective_rag_train": ["judge_many"],
}
_ADDON_OF = {name: addon for addon, names in _ADDONS.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _ADDON_OF:
        raise AttributeError(f"{name} is in an add-on: from {_ADDON_OF[name]} import {name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
