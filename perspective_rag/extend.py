"""For those who extend the library: what a component must offer, and what helps to write one.

What ``__all__`` names is public, here, in ``perspective_rag``, in ``perspective_rag.commands`` (for
add-ons with a command) and in ``perspective_rag.testing``.
Every other module and name is private and may change in any release.

- Protocols: anything of their shape is a component, nothing has to be inherited.
- Flows: a component that calls models or stores yields its calls (``yield from call(...)``), and
  the pipeline carries them out: concurrency, time-outs, limits and trace, sync and async alike.
  ``note(...)`` and ``degrade(...)`` add to the trace from any component.
- Selectors choose the k passages from the judged ones: ``PlainFirst`` (the default),
  ``JointCoverage``, ``GreedyCoverage``, ``XQuAD``, ``MMR``, ``TopK``, or one of your own
  (``selector=``), which is given a ``Choice`` and returns a ``Selection``.
- Steps: ``extract``, ``expand``, ``search``, ``merge``, ``rank``, ``judge``, ``select`` and
  ``guard`` take the request; ``pipeline.run_step(step, request)`` runs one alone.
- ``CallableJudge`` and ``CallableExtractor`` make components of plain functions, as
  ``perspective_rag.CallableStore``, ``CallableEmbedder`` and ``CallableLLM`` do.
- Conformance suites check a judge or a store of your own: ``check_judge``, ``check_store``.
- For components that talk to a server: ``scrubbing``, ``no_reply``, ``secrets_of`` and
  ``without_secrets`` keep what it repeats of keys and passwords out of errors and replies.
- For integrations of frameworks: ``WrapperParts`` (what every wrapper takes) and
  ``wrapped_pipeline``, ``WrappedEmbedder``, ``WrappedLLM``, ``StoreAdapter`` with what reads
  vectors back, ``GivenPassages``, options and their names, checks that raise the library's own
  errors, and what turns a framework's objects into passages and back.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from perspective_rag.annotations import ANNOTATIONS as ANNOTATIONS
    from perspective_rag.annotations import ScoreKind as ScoreKind
    from perspective_rag.annotations import annotations_of as annotations_of
    from perspective_rag.annotations import check_score_kind as check_score_kind
    from perspective_rag.annotations import report_in as report_in
    from perspective_rag.annotations import report_of as report_of
    from perspective_rag.annotations import scores_of as scores_of
    from perspective_rag.annotations import without_annotations as without_annotations
    from perspective_rag.cover.guard import guard as guard
    from perspective_rag.cover.select import PlainFirst as PlainFirst
    from perspective_rag.cover.select import select as select
    from perspective_rag.errors import check_component as check_component
    from perspective_rag.errors import unknown_name as unknown_name
    from perspective_rag.flow.driver import in_thread as in_thread
    from perspective_rag.flow.driver import map_in_threads as map_in_threads
    from perspective_rag.flow.request import Observer as Observer
    from perspective_rag.flow.request import Request as Request
    from perspective_rag.flow.request import Telemetry as Telemetry
    from perspective_rag.flow.request import degrade as degrade
    from perspective_rag.flow.request import note as note
    from perspective_rag.flow.steps import Call as Call
    from perspective_rag.flow.steps import Flow as Flow
    from perspective_rag.flow.steps import Note as Note
    from perspective_rag.flow.steps import Reply as Reply
    from perspective_rag.flow.steps import ask as ask
    from perspective_rag.flow.steps import call as call
    from perspective_rag.flow.steps import complete as complete
    from perspective_rag.judge.cross_encoder import packaged_judge as packaged_judge
    from perspective_rag.judge.pairs import CallableJudge as CallableJudge
    from perspective_rag.judge.support import judge as judge
    from perspective_rag.judge.support import judge_table as judge_table
    from perspective_rag.judge.wrapped import WatchedJudge as WatchedJudge
    from perspective_rag.local.contexts import ReaderArguments as ReaderArguments
    from perspective_rag.local.frameworks import SEARCH_NAMES as SEARCH_NAMES
    from perspective_rag.local.frameworks import ChooserArguments as ChooserArguments
    from perspective_rag.local.frameworks import StoreAdapter as StoreAdapter
    from perspective_rag.local.frameworks import WrappedEmbedder as WrappedEmbedder
    from perspective_rag.local.frameworks import WrappedLLM as WrappedLLM
    from perspective_rag.local.frameworks import WrapperArguments as WrapperArguments
    from perspective_rag.local.frameworks import WrapperParts as WrapperParts
    from perspective_rag.local.frameworks import chroma_vectors as chroma_vectors
    from perspective_rag.local.frameworks import faiss_vectors as faiss_vectors
    from perspective_rag.local.frameworks import hit_of as hit_of
    from perspective_rag.local.frameworks import is_local_qdrant as is_local_qdrant
    from perspective_rag.local.frameworks import qdrant_vectors as qdrant_vectors
    from perspective_rag.local.frameworks import sources_of as sources_of
    from perspective_rag.local.frameworks import token_counts as token_counts
    from perspective_rag.local.wrapping import GivenPassages as GivenPassages
    from perspective_rag.local.wrapping import larger_judge as larger_judge
    from perspective_rag.local.wrapping import second_judge_of as second_judge_of
    from perspective_rag.local.wrapping import wrapped_pipeline as wrapped_pipeline
    from perspective_rag.options import ALIASES as ALIASES
    from perspective_rag.options import OPTION_NAMES as OPTION_NAMES
    from perspective_rag.options import ChoiceOptions as ChoiceOptions
    from perspective_rag.options import CoveragePolicy as CoveragePolicy
    from perspective_rag.options import FusionName as FusionName
    from perspective_rag.options import Options as Options
    from perspective_rag.options import ProjectionName as ProjectionName
    from perspective_rag.options import changed_options as changed_options
    from perspective_rag.perspectives.find import CallableExtractor as CallableExtractor
    from perspective_rag.perspectives.find import extract as extract
    from perspective_rag.perspectives.queries import expand as expand
    from perspective_rag.perspectives.sides import as_perspectives as as_perspectives
    from perspective_rag.prompts.replies import no_reply as no_reply
    from perspective_rag.prompts.tool import TOOL_DESCRIPTION as TOOL_DESCRIPTION
    from perspective_rag.prompts.tool import TOOL_NAME as TOOL_NAME
    from perspective_rag.prompts.tool import TOOL_PERSPECTIVES as TOOL_PERSPECTIVES
    from perspective_rag.prompts.tool import TOOL_QUERY as TOOL_QUERY
    from perspective_rag.prompts.tool import tool_perspectives as tool_perspectives
    from perspective_rag.prompts.tool import tool_text as tool_text
    from perspective_rag.protocols import LLM as LLM
    from perspective_rag.protocols import Answerer as Answerer
    from perspective_rag.protocols import CompletesMany as CompletesMany
    from perspective_rag.protocols import Embedder as Embedder
    from perspective_rag.protocols import Expander as Expander
    from perspective_rag.protocols import Extractor as Extractor
    from perspective_rag.protocols import Judge as Judge
    from perspective_rag.protocols import Judged as Judged
    from perspective_rag.protocols import JudgesLists as JudgesLists
    from perspective_rag.protocols import JudgesSides as JudgesSides
    from perspective_rag.protocols import KeepsEmbeddings as KeepsEmbeddings
    from perspective_rag.protocols import Projected as Projected
    from perspective_rag.protocols import Projection as Projection
    from perspective_rag.protocols import Reranked as Reranked
    from perspective_rag.protocols import SecondJudge as SecondJudge
    from perspective_rag.protocols import Selector as Selector
    from perspective_rag.protocols import Store as Store
    from perspective_rag.protocols import StreamsText as StreamsText
    from perspective_rag.protocols import TellsClaims as TellsClaims
    from perspective_rag.redaction import scrubbing as scrubbing
    from perspective_rag.redaction import secrets_of as secrets_of
    from perspective_rag.redaction import without_secrets as without_secrets
    from perspective_rag.search.candidates import merge as merge
    from perspective_rag.search.candidates import rank as rank
    from perspective_rag.search.search import matrix_of as matrix_of
    from perspective_rag.search.search import scored_hits as scored_hits
    from perspective_rag.search.search import search as search
    from perspective_rag.testing import JUDGE_CHECKS as JUDGE_CHECKS
    from perspective_rag.testing import STORE_CHECKS as STORE_CHECKS
    from perspective_rag.testing import JudgeCase as JudgeCase
    from perspective_rag.testing import StoreCase as StoreCase
    from perspective_rag.testing import check_judge as check_judge
    from perspective_rag.testing import check_store as check_store
    from perspective_rag.text import copy_metadata as copy_metadata
    from perspective_rag.types import Choice as Choice
    from perspective_rag.types import Matrix as Matrix
    from perspective_rag.types import Selection as Selection
    from perspective_rag.types import Vector as Vector

_HOMES = {
    "annotations": (
        "ANNOTATIONS annotations_of check_score_kind report_in report_of ScoreKind scores_of "
        "without_annotations"
    ),
    "cover.guard": "guard",
    "cover.select": "PlainFirst select",
    "errors": "check_component unknown_name",
    "flow.driver": "in_thread map_in_threads",
    "flow.request": "degrade note Observer Request Telemetry",
    "flow.steps": "ask Call call complete Flow Note Reply",
    "judge.cross_encoder": "packaged_judge",
    "judge.pairs": "CallableJudge",
    "judge.support": "judge judge_table",
    "judge.wrapped": "WatchedJudge",
    "local.contexts": "ReaderArguments",
    "local.frameworks": (
        "ChooserArguments chroma_vectors faiss_vectors hit_of is_local_qdrant qdrant_vectors "
        "SEARCH_NAMES sources_of StoreAdapter token_counts WrappedEmbedder WrappedLLM "
        "WrapperArguments WrapperParts"
    ),
    "local.wrapping": "GivenPassages larger_judge second_judge_of wrapped_pipeline",
    "options": (
        "ALIASES changed_options ChoiceOptions CoveragePolicy FusionName OPTION_NAMES Options "
        "ProjectionName"
    ),
    "perspectives.find": "CallableExtractor extract",
    "perspectives.queries": "expand",
    "perspectives.sides": "as_perspectives",
    "prompts.replies": "no_reply",
    "prompts.tool": (
        "TOOL_DESCRIPTION TOOL_NAME TOOL_PERSPECTIVES tool_perspectives TOOL_QUERY tool_text"
    ),
    "protocols": (
        "Answerer CompletesMany Embedder Expander Extractor Judge Judged JudgesLists "
        "JudgesSides KeepsEmbeddings LLM Projected Projection Reranked SecondJudge Selector "
        "Store StreamsText TellsClaims"
    ),
    "redaction": "scrubbing secrets_of without_secrets",
    "search.candidates": "merge rank",
    "search.search": "matrix_of scored_hits search",
    "testing": "check_judge check_store JUDGE_CHECKS JudgeCase STORE_CHECKS StoreCase",
    "text": "copy_metadata",
    "types": "Choice Matrix Selection Vector",
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"perspective_rag.{_HOME_OF[name]}"), name)
    globals()[name] = value  # from now on without this function
    return value


def __dir__() -> list[str]:
    return __all__
