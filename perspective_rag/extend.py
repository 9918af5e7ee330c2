"""For those who extend the library: what a component must offer, and what helps to write one.

What ``__all__`` names is public, here, in ``perspective_rag``, in ``perspective_rag.commands`` (for
add-ons with a command) and in ``perspective_rag.testing``.
Every other module and name is private and may change in any release.

- Protocols: anything of their shape is a component, nothing has to be inherited.
- Flows: a component that calls models or stores yields its calls (``yield from call(...)``), and
  the pipeline carries them out: concurrency, time-outs, limits and trace, sync and async alike.
  ``note(...)`` and ``degrade(...)`` add to the trace from any component.
- Selectors choose the k passages from the judged ones: ``PlainFirst`` (the default) or one of your
  own (``selector=``), which is given a ``Choice`` and returns a ``Selection``.
- Steps: ``extract``, ``expand``, ``search``, ``merge``, ``rank``, ``judge``, ``select`` and
  ``guard`` take the request; ``pipeline.run_step(step, request)`` runs one alone.
- ``CallableJudge`` and ``CallableExtractor`` make components of plain functions, as
  ``perspective_rag.CallableStore``, ``CallableEmbedder`` and ``CallableLLM`` do.
- Conformance suites check a judge or a store of your own: ``check_judge``, ``check_store``.
- For components that talk to a server: ``scrubbing``, ``no_reply``, ``secrets_of`` and
  ``without_secrets`` keep what it repeats of keys and passwords out of errors and replies.
- For integrations of frameworks: ``wrapped_pipeline`` and ``GivenPassages``, options, their names
  and ``changed_options``, checks that raise the library's own errors, ``map_in_threads``,
  ``SchemaFirst``, and what turns a framework's objects into passages and back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perspective_rag.cover.guard import guard
from perspective_rag.cover.select import (
    PlainFirst,
    select,
)
from perspective_rag.errors import check_component, unknown_name
from perspective_rag.flow.driver import in_thread, map_in_threads
from perspective_rag.flow.request import Observer, Request, Telemetry, degrade, note
from perspective_rag.flow.steps import Call, Flow, Note, Reply, ask, call, complete
from perspective_rag.judge.cross_encoder import packaged_judge
from perspective_rag.judge.pairs import CallableJudge
from perspective_rag.judge.support import judge, judge_table
from perspective_rag.judge.wrapped import WatchedJudge
from perspective_rag.local.annotations import (
    ANNOTATIONS,
    ScoreKind,
    annotations_of,
    check_score_kind,
    report_in,
    report_of,
    scores_of,
    without_annotations,
)
from perspective_rag.local.wrapping import (
    GivenPassages,
    larger_judge,
    second_judge_of,
    wrapped_pipeline,
)
from perspective_rag.options import (
    ALIASES,
    OPTION_NAMES,
    ChoiceOptions,
    CoveragePolicy,
    FusionName,
    Options,
    ProjectionName,
    changed_options,
)
from perspective_rag.perspectives.find import CallableExtractor, extract
from perspective_rag.perspectives.queries import expand
from perspective_rag.perspectives.reading import as_perspectives
from perspective_rag.prompts.replies import no_reply
from perspective_rag.prompts.schema_first import SchemaFirst
from perspective_rag.prompts.tool import (
    TOOL_DESCRIPTION,
    TOOL_NAME,
    TOOL_PERSPECTIVES,
    TOOL_QUERY,
    tool_perspectives,
    tool_text,
)
from perspective_rag.protocols import (
    LLM,
    Answerer,
    CompletesMany,
    Embedder,
    Expander,
    Extractor,
    Judge,
    Judged,
    JudgesLists,
    JudgesSides,
    KeepsEmbeddings,
    Projected,
    Projection,
    Reranked,
    SecondJudge,
    Selector,
    Store,
    StreamsText,
    TellsClaims,
)
from perspective_rag.redaction import scrubbing, secrets_of, without_secrets
from perspective_rag.search.candidates import merge, rank
from perspective_rag.search.search import matrix_of, scored_hits, search
from perspective_rag.text import copy_metadata
from perspective_rag.types import Choice, Matrix, Selection, Vector

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
    "Call",
    "CallableExtractor",
    "CallableJudge",
    "Choice",
    "ChoiceOptions",
    "CompletesMany",
    "CoveragePolicy",
    "Embedder",
    "Expander",
    "Extractor",
    "Flow",
    "FusionName",
    "GivenPassages",
    "Judge",
    "JudgeCase",
    "Judged",
    "JudgesLists",
    "JudgesSides",
    "KeepsEmbeddings",
    "Matrix",
    "Note",
    "Observer",
    "Options",
    "PlainFirst",
    "Projected",
    "Projection",
    "ProjectionName",
    "Reply",
    "Request",
    "Reranked",
    "SchemaFirst",
    "ScoreKind",
    "SecondJudge",
    "Selection",
    "Selector",
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
    "larger_judge",
    "map_in_threads",
    "matrix_of",
    "merge",
    "no_reply",
    "note",
    "packaged_judge",
    "rank",
    "report_in",
    "report_of",
    "scored_hits",
    "scores_of",
    "scrubbing",
    "search",
    "second_judge_of",
    "secrets_of",
    "select",
    "tool_perspectives",
    "tool_text",
    "unknown_name",
    "without_annotations",
    "without_secrets",
    "wrapped_pipeline",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from perspective_rag import testing  # for tests only, and so imported when it is asked for

    return getattr(testing, name)
