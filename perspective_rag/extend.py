"""For those who extend the library: what a component must offer, and what helps to write one.

What ``__all__`` names is public, here, in ``perspective_rag`` and in ``perspective_rag.testing``.
Every other module and name is private and may change in any release.

- Protocols: anything of their shape is a component, nothing has to be inherited.
- Flows: a component that calls models or stores yields its calls (``yield from call(...)``), and
  the pipeline carries them out: concurrency, time-outs, limits and trace, sync and async alike.
- Steps: ``extract``, ``expand``, ``search``, ``merge``, ``rank``, ``judge``, ``select`` and
  ``guard`` take the request; ``pipeline.run_step(step, request)`` runs one alone.
- ``CallableJudge`` and ``CallableExtractor`` make components of plain functions, as
  ``perspective_rag.CallableStore``, ``CallableEmbedder`` and ``CallableLLM`` do.
- Conformance suites check a judge or a store of your own: ``check_judge``, ``check_store``.
- For many queries at once, with PyTorch: ``BatchSearch``, ``project_queries``, ``mmr_batch``.
- For components that talk to a server: ``scrubbing``, ``no_reply``, ``secrets_of`` and
  ``without_secrets`` keep what it repeats of keys and passwords out of errors and replies.
- For integrations of frameworks: options, their names and ``changed_options``, checks that raise
  the library's own errors, ``map_in_threads``, and what turns a framework's objects into passages
  and back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perspective_rag.errors import unknown_name
from perspective_rag.expand.expand import expand
from perspective_rag.extract.callable import CallableExtractor
from perspective_rag.extract.extract import extract
from perspective_rag.extract.rules import as_perspectives
from perspective_rag.flow.observer import Observer, Telemetry
from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import (
    Call,
    Flow,
    Note,
    Reply,
    Step,
    ask,
    call,
    complete,
    degrade,
    note,
)
from perspective_rag.flow.threads import in_thread, map_in_threads
from perspective_rag.guard.guard import guard
from perspective_rag.judge.best_first import judge
from perspective_rag.judge.callable import CallableJudge
from perspective_rag.judge.cross_encoder import packaged_judge
from perspective_rag.judge.support import judge_table
from perspective_rag.judge.watched import WatchedJudge
from perspective_rag.merge.merge import merge
from perspective_rag.options import (
    ALIASES,
    OPTION_NAMES,
    ChoiceOptions,
    CoveragePolicy,
    FusionName,
    Options,
    ProjectionName,
    RerankName,
    changed_options,
)
from perspective_rag.project.batched import BatchHits, BatchSearch, project_queries
from perspective_rag.prompts.replies import no_reply
from perspective_rag.prompts.tool import (
    TOOL_DESCRIPTION,
    TOOL_NAME,
    TOOL_PERSPECTIVES,
    TOOL_QUERY,
)
from perspective_rag.protocols import (
    LLM,
    Answerer,
    CompletesMany,
    Embedder,
    Expander,
    Extractor,
    Judge,
    JudgesSides,
    KeepsEmbeddings,
    Projected,
    Projection,
    Reranked,
    Store,
    StreamsText,
    TellsClaims,
)
from perspective_rag.rank.rank import rank
from perspective_rag.redaction import scrubbing, secrets_of, without_secrets
from perspective_rag.results.annotations import (
    ANNOTATIONS,
    ScoreKind,
    annotations_of,
    check_score_kind,
    report_in,
    scores_of,
    without_annotations,
)
from perspective_rag.search.search import search
from perspective_rag.search.vectors import scored_hits
from perspective_rag.select.choose import select
from perspective_rag.select.mmr_batch import BatchSelection, mmr_batch
from perspective_rag.types import Matrix, Vector
from perspective_rag.validation import check_component
from perspective_rag.values import copy_metadata

if TYPE_CHECKING:
    from perspective_rag.testing import (
        JUDGE_CHECKS,
        STORE_CHECKS,
        JudgeCase,
        StoreCase,
        check_judge,
        check_store,
    )

__all__ = [
    "ALIASES",
    "ANNOTATIONS",
    "JUDGE_CHECKS",
    "LLM",
    "OPTION_NAMES",
    "STORE_CHECKS",
    "TOOL_DESCRIPTION",
    "TOOL_NAME",
    "TOOL_PERSPECTIVES",
    "TOOL_QUERY",
    "Answerer",
    "BatchHits",
    "BatchSearch",
    "BatchSelection",
    "Call",
    "CallableExtractor",
    "CallableJudge",
    "ChoiceOptions",
    "CompletesMany",
    "CoveragePolicy",
    "Embedder",
    "Expander",
    "Extractor",
    "Flow",
    "FusionName",
    "Judge",
    "JudgeCase",
    "JudgesSides",
    "KeepsEmbeddings",
    "Matrix",
    "Note",
    "Observer",
    "Options",
    "Projected",
    "Projection",
    "ProjectionName",
    "Reply",
    "Request",
    "RerankName",
    "Reranked",
    "ScoreKind",
    "Step",
    "Store",
    "StoreCase",
    "StreamsText",
    "Telemetry",
    "TellsClaims",
    "Vector",
    "WatchedJudge",
    "annotations_of",
    "as_perspectives",
    "ask",
    "call",
    "changed_options",
    "check_component",
    "check_judge",
    "check_score_kind",
    "check_store",
    "complete",
    "copy_metadata",
    "degrade",
    "expand",
    "extract",
    "guard",
    "in_thread",
    "judge",
    "judge_table",
    "map_in_threads",
    "merge",
    "mmr_batch",
    "no_reply",
    "note",
    "packaged_judge",
    "project_queries",
    "rank",
    "report_in",
    "scored_hits",
    "scores_of",
    "scrubbing",
    "search",
    "secrets_of",
    "select",
    "unknown_name",
    "without_annotations",
    "without_secrets",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from perspective_rag import testing  # for tests only, and so imported when it is asked for

    return getattr(testing, name)
