"""Extractors: the sides of a query, given, by rule, by function or by language model."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

from perspective_rag.errors import ConfigError
from perspective_rag.flow.request import Request, degrade, note, stage
from perspective_rag.flow.steps import Flow, as_function, call, complete
from perspective_rag.judge.support import pair_judge
from perspective_rag.perspectives.alternatives import answer_with
from perspective_rag.perspectives.cleaning import (
    cleaned,
    glued,
    is_english,
    mended,
    shortened,
    unglued,
)
from perspective_rag.perspectives.context import sentences
from perspective_rag.perspectives.discover import discover
from perspective_rag.perspectives.reading import extract_by_rule
from perspective_rag.perspectives.sides import as_perspectives, distinct
from perspective_rag.perspectives.statements import sound, statement_of
from perspective_rag.perspectives.words import AUXILIARIES, bare, finite_verb, tags, upper_first
from perspective_rag.perspectives.wrapping import core_of
from perspective_rag.protocols import Extractor
from perspective_rag.types import Extraction, Perspective

SkipIf = Callable[[str], Any]
"""``skip_if(question)``: true for a question that invites no perspectives."""


def check_skip_if(skip_if: SkipIf | None) -> None:
    """Raises ConfigError for what cannot be asked about a question."""
    if skip_if is None:
        return
    if not callable(skip_if):
        raise ConfigError(f"skip_if must be a function of the question, got {skip_if!r}")
    if inspect.iscoroutinefunction(skip_if):
        # What it returns would be true, whatever it meant.
        raise ConfigError("skip_if must be a plain function: it runs in a thread of its own")


def skips(request: Request, skip_if: SkipIf | None) -> Flow[bool]:
    """Whether ``skip_if`` is true of the question, which the trace's decisions then say.

    One that fails says no, and that is recorded.
    """
    if skip_if is None:
        return False
    reply = yield from call("skip", skip_if, request.question)
    if reply.error is not None:
        degrade("skip", "skip_if failed: nothing is left out", reply.error)
    elif reply.value:
        note(decision={"stage": "skip", "query": request.question})
        return True
    return False


LONGEST_LABEL = 8  # words
_FOR = frozenset("yes yep yeah pro for support supporters agree in-favour true approve".split())
_AGAINST = frozenset(
    "no nope con contra against anti oppose opponents disagree false disapprove".split()
)


def as_statement_about(question: str, label: str) -> str:
    """A short name of a side as a statement about the question; the label itself where the rules
    know no way, or where it is a statement already ("Zoos save species").

    ``"nuclear"`` about ``"Which is the best source of power?"`` gives ``"Nuclear is the best source
    of power"``; ``"yes"`` and ``"against"`` about a yes/no question give its two sides.
    """
    plain = " ".join(label.split()).rstrip(". ")
    words = plain.split(" ")
    if not plain or len(words) > LONGEST_LABEL or _says_something(words):
        return upper_first(plain) if plain else label
    parts = sentences(glued(cleaned(shortened(question)[0])))
    asked = unglued(" ".join(core_of(parts[-1]).words)) if parts else ""
    claim = statement_of(asked)
    if claim is not None:
        side = bare(words[0]) if len(words) < 3 else ""
        if side in _FOR:
            return claim.text
        if side in _AGAINST:
            return claim.negation
    made = answer_with(asked.split(" "), words)
    if made is not None and sound(made):
        return made
    return upper_first(plain)


def _says_something(words: list[str]) -> bool:
    """True for a label with a verb of its own."""
    if len(words) < 2:
        return False
    verb = finite_verb(words)
    return verb is not None and (
        verb + 1 < len(words) or bare(words[verb]) in AUXILIARIES or "z" in tags(words[verb])
    )


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
    """Finds the perspectives: given, by the extractor, or from the passages (``discover``).

    Args:
        request: The question and its options.
        extractor: Finds perspectives where none are given; where it fails, the trace records it.
        given: Perspectives, or their texts; a short name of a side ("yes") becomes a statement.
        skip_if: True of a question that is searched as it is.

    Returns:
        The extraction; without perspectives where the question invites none, and the trace's
        decisions say why.

    Raises:
        ConfigError: The extractor returned neither an Extraction nor a list of perspectives.
    """
    skipped = yield from skips(request, skip_if)
    if skipped:
        return Extraction(request.question)
    if given is not None:
        return _mend(extraction_of(request.question, given))
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
    extraction = _mend(extraction)
    asks_judge = request.options.discover and request.options.judge_k
    judge = pair_judge(request.judge)
    if asks_judge and judge and not extraction.perspectives:
        extraction = yield from discover(request, judge, extraction)
    if not extraction.perspectives:
        verdict = {"stage": "extract", "query": request.question, "verdict": "no perspectives"}
        note(decision=verdict, warning=_UNREAD if extraction.kind == "not-english" else "")
    return extraction


def _mend(extraction: Extraction) -> Extraction:
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
    perspectives = as_perspectives(
        [
            _as_claim(question, read, each) if isinstance(item, str) else each
            for item, each in zip(given, perspectives, strict=True)
        ]
    )
    exclusive = len(perspectives) == 2 and (read.exclusive or read.kind == "alternatives")
    return Extraction(question, perspectives, kind=read.kind, exclusive=exclusive)


def _as_claim(question: str, read: Extraction, named: Perspective) -> Perspective:
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


def _once_each(found: Sequence[Any]) -> list[Any]:
    """Sides without those that read the same as one before, which is recorded."""
    kept = distinct(found)
    if len(kept) < len(found):
        degrade("extract", f"{len(found) - len(kept)} sides that read the same as another left out")
    return kept


def _as_extraction(found: Any, question: str, said: str) -> Extraction:
    if isinstance(found, Extraction):
        return found if found.root.strip() else replace(found, root=question)
    if isinstance(found, (list, tuple)):
        return extraction_of(question, _once_each(found))
    raise ConfigError(f"{said}; expected an Extraction or a list of perspectives")


Found = Extraction | Sequence[Perspective | str] | None
ExtractorFunction = Callable[[str], Found | Awaitable[Found]]


class CallableExtractor:
    """An extractor from a function of your own, plain or ``async``.

    Args:
        function: Given the question, it returns the perspectives, strings or ``Perspective``
            objects, or an ``Extraction``; None or an empty list means that the question invites
            none.
        name: Stands for it in messages. None: the function's own name.

    Raises:
        ConfigError: The function does not take one argument.
    """

    def __init__(self, function: ExtractorFunction, *, name: str | None = None) -> None:
        self._function = as_function("CallableExtractor", function, ("question",))
        self.name = name or self._function.name

    def extract(self, question: str) -> Flow[Extraction]:
        """What the function finds.

        What it raises is raised; the pipeline records it as a degradation.

        Args:
            question: The question.

        Returns:
            The perspectives; strings get the ids p1, p2, ...

        Raises:
            ConfigError: The function returns something else.
        """
        reply = yield from call(
            "extract", self._function.run, question, afunction=self._function.awaited
        )
        if reply.error is not None:
            raise reply.error
        if isinstance(reply.value, Extraction):
            return reply.value
        found = self._check(reply.value)
        return extraction_of(question, found) if found else Extraction(question, kind="factual")

    def _check(self, returned: Any) -> Sequence[Perspective | str]:
        try:
            found = _once_each(returned) if isinstance(returned, (list, tuple)) else returned
            as_perspectives(() if found is None else found)
            return found or ()
        except ConfigError as error:
            raise ConfigError(
                f"the function of extractor {self.name!r} must return a list of strings or "
                f"Perspectives, an Extraction, or None: {error}"
            ) from error
