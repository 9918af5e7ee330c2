"""What this project's own add-ons share with the library, with no promise to anyone else.

They have the library's version and are released with it, so any of these may change with it. To
write a component of your own, see ``perspective_rag.extend``.
"""

from __future__ import annotations

from perspective_rag.annotations import similarity_of
from perspective_rag.answer.extractive import supporting_sentences
from perspective_rag.answer.passages import (
    Origin,
    citation_keys,
    origin_of,
    span_of,
    without_headings,
)
from perspective_rag.answer.sentences import only_reports
from perspective_rag.answer.standing import (
    Groups,
    grouped,
    nothing_for,
    one_source,
    side_name,
    standing,
)
from perspective_rag.audit.intervals import Interval
from perspective_rag.audit.page import render as render_page
from perspective_rag.audit.questions import read_audit_questions, with_perspectives
from perspective_rag.errors import between, count, is_number
from perspective_rag.extensions import part
from perspective_rag.flow.driver import run, undone_when_given_up, waiting
from perspective_rag.flow.engine import Engine, LocalEngine
from perspective_rag.flow.limiter import Cancelled, Limits, Work
from perspective_rag.flow.request import Recorder
from perspective_rag.judge.cross_encoder import DEFAULT_MODEL as PACKAGED_JUDGE
from perspective_rag.judge.cross_encoder import class_columns
from perspective_rag.judge.llm import PRESETS
from perspective_rag.judge.models import PairEncoder
from perspective_rag.judge.pairs import Pair, judge_pairs, revision_of
from perspective_rag.judge.settings import FILE as JUDGE_FILE
from perspective_rag.judge.settings import OFFSET as SECOND_TEXT_OFFSET
from perspective_rag.judge.settings import (
    JudgeSettings,
    LargerSettings,
    SideWeights,
    TwoSides,
    Weighing,
    log_odds,
    personal,
    stored_in,
)
from perspective_rag.judge.support import own_floor, quick_judge, read_passages, rule_for
from perspective_rag.judge.windows import titled_pieces, windows
from perspective_rag.local.chat import (
    bare_token,
    choice_of,
    choice_probabilities,
    markers_in,
    messages_of,
    normalised_mass,
    spellings,
)
from perspective_rag.local.corpus.embedding import embedded
from perspective_rag.local.corpus.readers import ReadProblem, read_corpus
from perspective_rag.local.corpus.records import Record, as_record
from perspective_rag.local.local_pipeline import (
    LocalArguments,
    check_judges,
    list_judge,
    pipeline_over,
)
from perspective_rag.local.loop_thread import LoopThread
from perspective_rag.local.stores import predicate
from perspective_rag.maths.vectors import as_matrix, as_vector, cosine, first_copies, normalised
from perspective_rag.perspectives.find import extraction_of
from perspective_rag.perspectives.follow_up import QuestionThread, follow_up
from perspective_rag.perspectives.reading import extract_by_rule
from perspective_rag.perspectives.statements import negate, statement_of
from perspective_rag.prompts import PromptTemplate, fence, load_prompt, shorten
from perspective_rag.prompts.replies import (
    bad_reply,
    is_usable,
    parse_json,
    parse_texts,
    parse_yes_no,
    reply_text,
)
from perspective_rag.redaction import public_address, redacted, scrubbed
from perspective_rag.search.search import nearness
from perspective_rag.storage.files import (
    hold,
    json_lines,
    json_object,
    make_private,
    make_private_folder,
    numbered_lines,
    replace_file,
)
from perspective_rag.storage.fingerprint import file_sha256, fingerprint, model_fingerprint
from perspective_rag.storage.folders import folder_in_work
from perspective_rag.storage.ordered_log import OrderedLog
from perspective_rag.text import (
    escaped,
    from_json,
    json_ready,
    printable,
    shares_words,
    split_sentences,
    text_key,
)
from perspective_rag.types import PACKAGED as PACKAGED_FLOOR
from perspective_rag.types import RelevanceFloor, State, Verdict
