"""The perspectives of a question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from perspective_rag.errors import ConfigError
from perspective_rag.extract.discover import discover
from perspective_rag.extract.labels import as_statement_about
from perspective_rag.extract.language import is_english
from perspective_rag.extract.rules import as_perspectives, extract_by_rule
from perspective_rag.extract.skip import SkipIf, skips
from perspective_rag.extract.spelling import mended
from perspective_rag.flow.recording import degrade, note, stage
from perspective_rag.flow.request import Request
from perspective_rag.flow.steps import Flow, complete
from perspective_rag.judge.inner import pair_judge
from perspective_rag.protocols import Extractor
from perspective_rag.types import Extraction, Perspective

_UNREAD = (
    "extract: the question is not English, the only language that the rules read: it is searched "
    "as it is, without perspectives (name them, or have a language model find them)"
)


@stage
def extract(
    request: Request,
    extractor: Extractor,
    given: Sequence[Perspective | str] | None = None,
    *,
    skip_if: SkipIf | None = None,
) -> Flow[Extraction]:
    """The perspectives: given, found by the extractor, or taken from the passages (``discover``).

    None where the question invites none, which the trace's decisions say. An extractor that fails
    is recorded. Raises ConfigError for one that returns neither an Extraction nor perspectives.
    """
    skipped = yield from skips(request, skip_if)
    if skipped:
        return Extraction(request.question)
    if given is not None:
        return _mended(extraction_of(request.question, given))
    name = f"extractor {type(extractor).__name__}"
    returns = "an Extraction or a list of perspectives"
    try:
        found = yield from complete(extractor.extract(request.question), name, returns)
        said = f"{name} returned {found!r:.200}"
        extraction = _as_extraction(found, request.question, said)
    except ConfigError:
        raise
    except Exception as error:
        degrade("extract", f"no perspectives could be found: {error!r}", error)
        return Extraction(request.question)
    extraction = _mended(extraction)
    asks_judge = request.options.discover and request.options.judge_k
    judge = pair_judge(request.judge)
    if asks_judge and judge and not extraction.perspectives:
        extraction = yield from discover(request, judge, extraction)
    if not extraction.perspectives:
        verdict = {"stage": "extract", "query": request.question, "verdict": "no perspectives"}
        note(decision=verdict, warning=_UNREAD if extraction.kind == "not-english" else "")
    return extraction


def _mended(extraction: Extraction) -> Extraction:
    """The extraction with misspelt words and short forms of its root mended: what is searched and
    measured is the question that was meant. The trace's decisions say so.
    """
    root = mended_question(extraction.root)
    if root == extraction.root:
        return extraction
    note(decision={"stage": "extract", "query": extraction.root, "mended": root})
    return replace(extraction, root=root, misspelt=extraction.root)


def mended_question(question: str) -> str:
    """An English question with its misspelt words mended, where one letter makes a common word, and
    common short forms written out ("govt"); any other as it is.
    """
    words = question.split()
    fixed = mended(words)
    return " ".join(fixed) if fixed != words and is_english(question) else question


def extraction_of(question: str, given: Sequence[Perspective | str]) -> Extraction:
    """Named perspectives; two of them exclude each other where the question asks for two sides.

    A short name of a side ("yes", "nuclear") becomes a statement about the question, which is what
    can be searched for and judged; a Perspective stays as it is.
    """
    perspectives = as_perspectives(given)
    read = extract_by_rule(question)
    perspectives = tuple(
        _stated(question, read, each) if isinstance(item, str) else each
        for item, each in zip(given, perspectives, strict=True)
    )
    exclusive = len(perspectives) == 2 and (read.exclusive or read.kind == "alternatives")
    return Extraction(question, perspectives, kind=read.kind, exclusive=exclusive)


def _stated(question: str, read: Extraction, named: Perspective) -> Perspective:
    """The perspective, its text a statement where it was a word for a side of a yes/no question, or
    an answer to "which" or "who" without named alternatives: elsewhere the rules are not sure.
    """
    made = as_statement_about(question, named.text)
    sides = [each.text for each in read.perspectives]
    words = question.casefold().replace(",", " or ").split()
    if made in sides or (words[:1] and words[0] in ("which", "who") and "or" not in words):
        as_it_was = " ".join(named.text.split()).rstrip(". ")
        if made.casefold() != as_it_was.casefold():
            return replace(named, text=made)
    return named


def _as_extraction(found: Any, question: str, said: str) -> Extraction:
    if isinstance(found, Extraction):
        return found if found.root.strip() else replace(found, root=question)
    if isinstance(found, (list, tuple)):
        return extraction_of(question, found)
    raise ConfigError(f"{said}; expected an Extraction or a list of perspectives")
