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
- For integrations of frameworks: options, their names and ``changed_options``, checks that raise
  the library's own errors, ``map_in_threads``, and what turns a framework's objects into passages
  and back.
- For add-ons: servers, trainers and clusters need more than a component does. The groups of
  ``__all__`` say what for: text and secrets, checks and files, vectors, prompts, questions read by
  rule, work in the background, pipelines, a judge's folder, results to show people. What a command
  of theirs needs is in ``perspective_rag.commands``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from perspective_rag.answer.citations import citation_keys
from perspective_rag.answer.excerpts import span_of, without_headings
from perspective_rag.answer.groups import Groups, grouped
from perspective_rag.answer.reported import only_reports
from perspective_rag.answer.standing import nothing_for, one_source, side_name, standing
from perspective_rag.answer.supporting import supporting_sentences
from perspective_rag.cover.choose import select
from perspective_rag.cover.guard import guard
from perspective_rag.cover.selectors import (
    MMR,
    GreedyCoverage,
    JointCoverage,
    PlainFirst,
    TopK,
    XQuAD,
)
from perspective_rag.errors import unknown_name
from perspective_rag.extensions import part
from perspective_rag.flow.driver import (
    Limits,
    in_thread,
    map_in_threads,
    undone_when_given_up,
    waiting,
)
from perspective_rag.flow.engine import Engine
from perspective_rag.flow.limiter import Cancelled, Work
from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import Call, Flow, Note, Reply, ask, call, complete
from perspective_rag.flow.trace import Observer, Recorder, Telemetry, degrade, note
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL as PACKAGED_JUDGE
from perspective_rag.judge.cross_encoder import TwoSides, class_columns, packaged_judge
from perspective_rag.judge.llm import PRESETS
from perspective_rag.judge.models import PairEncoder
from perspective_rag.judge.pairs import CallableJudge, revision_of
from perspective_rag.judge.settings import FILE as JUDGE_FILE
from perspective_rag.judge.settings import OFFSET as SECOND_TEXT_OFFSET
from perspective_rag.judge.settings import (
    JudgeSettings,
    LargerSettings,
    SideWeights,
    Weighing,
    log_odds,
    stored_in,
)
from perspective_rag.judge.stream import Pair, judge_stream
from perspective_rag.judge.support import judge, judge_table, quick_judge
from perspective_rag.judge.watched import WatchedJudge
from perspective_rag.judge.windows import titled_pieces, windows
from perspective_rag.listing import PACKAGED as PACKAGED_FLOOR
from perspective_rag.listing import State, Verdict
from perspective_rag.local.chat import (
    bare_token,
    choice_of,
    choice_probabilities,
    markers_in,
    messages_of,
    spellings,
)
from perspective_rag.local.corpus.embedding import embedded
from perspective_rag.local.corpus.readers import ReadProblem, read_corpus
from perspective_rag.local.http import LoopThread
from perspective_rag.local.in_process import InProcessLLM
from perspective_rag.local.indexes import predicate
from perspective_rag.local.judges import larger_judge, second_judge_of
from perspective_rag.local.local_pipeline import LocalArguments, list_judge, with_sides
from perspective_rag.maths.vectors import as_vector, cosine, first_copies, normalised
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
from perspective_rag.perspectives.clauses import statement_of
from perspective_rag.perspectives.find import CallableExtractor, extract, extraction_of
from perspective_rag.perspectives.follow_up import QuestionThread, follow_up
from perspective_rag.perspectives.negation import negate
from perspective_rag.perspectives.queries import expand
from perspective_rag.perspectives.reading import as_perspectives, extract_by_rule
from perspective_rag.prompts import PromptTemplate, fence, load_prompt, shorten
from perspective_rag.prompts.replies import (
    bad_reply,
    is_usable,
    no_reply,
    parse_json,
    parse_texts,
    parse_yes_no,
    reply_text,
)
from perspective_rag.prompts.tool import (
    TOOL_DESCRIPTION,
    TOOL_NAME,
    TOOL_PERSPECTIVES,
    TOOL_QUERY,
    tool_text,
)
from perspective_rag.protocols import (
    LLM,
    Answerer,
    Choice,
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
from perspective_rag.redaction import (
    public_address,
    redacted,
    scrubbed,
    scrubbing,
    secrets_of,
    without_secrets,
)
from perspective_rag.reporting.html import render as render_page
from perspective_rag.reporting.origins import Origin, origin_of
from perspective_rag.results import (
    ANNOTATIONS,
    ScoreKind,
    annotations_of,
    check_score_kind,
    report_in,
    scores_of,
    similarity_of,
    without_annotations,
)
from perspective_rag.search.merge import merge
from perspective_rag.search.rank import rank
from perspective_rag.search.search import scored_hits, search
from perspective_rag.storage.append_log import AppendLog, OrderedLog
from perspective_rag.storage.files import (
    json_lines,
    json_object,
    make_private,
    make_private_folder,
    numbered_lines,
    replace_file,
)
from perspective_rag.storage.fingerprint import file_sha256, fingerprint, model_fingerprint
from perspective_rag.storage.folders import folder_in_work
from perspective_rag.text import escaped, printable, shares_words, split_sentences, text_key
from perspective_rag.types import Matrix, Selection, Vector
from perspective_rag.validation import (
    between,
    check_component,
    copy_metadata,
    count,
    from_json,
    is_number,
    json_ready,
)

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
    "MMR",
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
    "GreedyCoverage",
    "JointCoverage",
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
    "RerankName",
    "Reranked",
    "ScoreKind",
    "SecondJudge",
    "Selection",
    "Selector",
    "Store",
    "StoreCase",
    "StreamsText",
    "Telemetry",
    "TellsClaims",
    "TopK",
    "Vector",
    "WatchedJudge",
    "XQuAD",
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
    "merge",
    "no_reply",
    "note",
    "packaged_judge",
    "rank",
    "report_in",
    "scored_hits",
    "scores_of",
    "scrubbing",
    "search",
    "second_judge_of",
    "secrets_of",
    "select",
    "tool_text",
    "unknown_name",
    "without_annotations",
    "without_secrets",
]

# Text and secrets
__all__ += [
    "escaped",
    "printable",
    "public_address",
    "redacted",
    "scrubbed",
    "shares_words",
    "split_sentences",
    "text_key",
]

# Checks of arguments, values and files
__all__ += [
    "AppendLog",
    "OrderedLog",
    "between",
    "count",
    "file_sha256",
    "fingerprint",
    "folder_in_work",
    "from_json",
    "is_number",
    "json_lines",
    "json_object",
    "json_ready",
    "make_private",
    "make_private_folder",
    "model_fingerprint",
    "numbered_lines",
    "part",
    "replace_file",
]

# Vectors
__all__ += [
    "PACKAGED_FLOOR",
    "as_vector",
    "cosine",
    "normalised",
]

# Prompts and what models reply
__all__ += [
    "InProcessLLM",
    "PromptTemplate",
    "bad_reply",
    "bare_token",
    "choice_of",
    "choice_probabilities",
    "fence",
    "is_usable",
    "load_prompt",
    "markers_in",
    "messages_of",
    "parse_json",
    "parse_texts",
    "parse_yes_no",
    "reply_text",
    "shorten",
    "spellings",
]

# Questions, read by rule
__all__ += [
    "QuestionThread",
    "extract_by_rule",
    "extraction_of",
    "follow_up",
    "negate",
    "statement_of",
]

# Work in the background: many pairs, other machines, what nobody waits for
__all__ += [
    "Cancelled",
    "Engine",
    "Limits",
    "LoopThread",
    "Pair",
    "Recorder",
    "Work",
    "judge_stream",
    "revision_of",
    "undone_when_given_up",
    "waiting",
]

# Pipelines and stores of one's own
__all__ += [
    "LocalArguments",
    "ReadProblem",
    "embedded",
    "list_judge",
    "predicate",
    "quick_judge",
    "read_corpus",
    "with_sides",
]

# A judge's folder: what its files say, and how it cuts and weighs what it reads
__all__ += [
    "JUDGE_FILE",
    "PACKAGED_JUDGE",
    "PRESETS",
    "SECOND_TEXT_OFFSET",
    "JudgeSettings",
    "LargerSettings",
    "PairEncoder",
    "SideWeights",
    "TwoSides",
    "Weighing",
    "class_columns",
    "log_odds",
    "stored_in",
    "titled_pieces",
    "windows",
]

# Results to show people
__all__ += [
    "Groups",
    "Origin",
    "State",
    "Verdict",
    "citation_keys",
    "first_copies",
    "grouped",
    "nothing_for",
    "one_source",
    "only_reports",
    "origin_of",
    "render_page",
    "side_name",
    "similarity_of",
    "span_of",
    "standing",
    "supporting_sentences",
    "without_headings",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from perspective_rag import testing  # for tests only, and so imported when it is asked for

    return getattr(testing, name)
