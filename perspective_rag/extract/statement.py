"""The statement that a yes/no question asks about, with its opposite, by rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from perspective_rag.extract.clause import subject_end
from perspective_rag.extract.english import (
    AUXILIARIES,
    BE,
    DO,
    POSSESSIVES,
    bare,
    upper_first,
)
from perspective_rag.extract.inflection import as_inflected
from perspective_rag.extract.lexicon import is_plural, mid_sentence
from perspective_rag.extract.negation import clause_start, negation_of
from perspective_rag.extract.polarity import affirmed, no_longer, take_ever, without_asking

_CONTRACTED = {
    f"{stem}n't": whole
    for stem, whole in {
        **{
            a: a for a in "is are was were do does did has have had should could would must".split()
        },
        "ca": "can",
        "wo": "will",
        "ai": "is",
    }.items()
}
_UNIVERSAL = frozenset("every all everyone everybody everything each".split())
_DENIED_WHOLE = frozenset("only most many few some no nobody too".split())
_NO_SUBJECT = {"any": "no", "anyone": "no one", "anybody": "nobody", "anything": "nothing"}
# "Will robots ever ..." asks whether they will, "Are robots ever ..." whether they sometimes are.
_ONE_DAY = frozenset("will would can could may might has have had did shall".split())

_LEADING_ADVERBS = frozenset("still always often never also already no longer just".split())


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement and its opposite."""

    text: str
    negation: str


def statement_of(question: str) -> Statement | None:
    """The statement whose truth a yes/no question asks for, with its opposite; None for any other
    question, and where the rules do not find the subject.

    ``"Should social media be banned for children?"`` gives ``"Social media should be banned for
    children"`` and ``"Social media should not be banned for children"``. A clause before the
    question ("If robots do most work, should ...") stays before both.
    """
    words = question.strip().rstrip("?!. ").split(" ")
    prefix, clause = _prefix(words)
    if len(clause) < 3 or auxiliary_of(clause[0]) is None:
        return None
    made = _inverted(clause)
    if made is None or not prefix:
        return made
    before = upper_first(" ".join(prefix))
    return Statement(
        f"{before} {mid_sentence(made.text)}", f"{before} {mid_sentence(made.negation)}"
    )


def as_statement(text: str, *, trusted: bool = False) -> Statement | None:
    """A sentence that already is a statement, with its opposite; None where it has none.

    ``trusted`` as for ``negation_of``.
    """
    plain = text.strip().rstrip(".! ")
    opposite = negation_of(plain, trusted=trusted)
    return None if opposite is None else Statement(upper_first(plain), upper_first(opposite))


def auxiliary_of(word: str) -> str | None:
    """The auxiliary that a question's first word is ("Shouldn't" is "should"), or None."""
    word = bare(word)
    word = _CONTRACTED.get(word, word)
    return word if word in AUXILIARIES else None


def _prefix(words: list[str]) -> tuple[list[str], list[str]]:
    """A subordinate clause before the question, and the question."""
    if auxiliary_of(words[0]) is not None:
        return [], words
    for i, word in enumerate(words[:-3]):
        if word.endswith(",") and auxiliary_of(words[i + 1]) is not None:
            opener = bare(words[0])
            kept = opener in {"if", "when", "unless", "once", "whenever", "where", "while"}
            return (words[: i + 1] if kept else []), words[i + 1 :]
    return [], words


def _inverted(words: list[str]) -> Statement | None:
    """The statement in "AUXILIARY SUBJECT PREDICATE"."""
    auxiliary = auxiliary_of(words[0]) or ""
    end = subject_end(words, auxiliary)
    if end is None or end >= len(words):
        return None
    subject, predicate = words[1:end], words[end:]
    if bare(subject[-1]) == "not" and len(subject) > 1:
        subject = subject[:-1]  # "Should we not close zoos?"
    if bare(predicate[0]) == "not" and len(predicate) > 1:
        predicate = predicate[1:]
    predicate = without_asking(predicate)
    predicate, ever = take_ever(predicate)
    if not predicate:
        return None
    whole = _said(subject, auxiliary, affirmed(predicate), _sometimes(auxiliary, ever))
    return Statement(
        upper_first(whole), upper_first(_opposite(subject, auxiliary, predicate, ever))
    )


def _sometimes(auxiliary: str, ever: bool) -> list[str]:
    return ["sometimes"] if ever and auxiliary not in _ONE_DAY else []


def _said(
    subject: Sequence[str], auxiliary: str, predicate: Sequence[str], adverbs: Sequence[str] = ()
) -> str:
    """The affirmation, with the verb inflected where the question has "do"."""
    if auxiliary not in DO:
        return " ".join([*_subject(subject), auxiliary, *adverbs, *predicate])
    leading = 0
    while leading < len(predicate) - 1 and _is_adverb(predicate[leading]):
        leading += 1
    verb = as_inflected(predicate[leading], auxiliary)
    rest = [*predicate[:leading], verb, *predicate[leading + 1 :]]
    return " ".join([*_subject(subject), *adverbs, *rest])


def _is_adverb(word: str) -> bool:
    lower = bare(word)
    return lower.endswith("ly") or lower in _LEADING_ADVERBS


def _subject(subject: Sequence[str]) -> list[str]:
    first = bare(subject[0])
    return ["some", *subject[1:]] if first == "any" else list(subject)


def _opposite(subject: Sequence[str], auxiliary: str, predicate: Sequence[str], ever: bool) -> str:
    first = bare(subject[0])
    affirmation = _said(subject, auxiliary, affirmed(predicate))
    if first in _NO_SUBJECT:
        return _said([_NO_SUBJECT[first], *subject[1:]], auxiliary, predicate)
    if first in _UNIVERSAL:
        verb = _has_to(subject, auxiliary)
        if verb:
            return "not " + " ".join([*lowered(subject), verb, "to", *predicate])
        return "not " + mid_sentence(affirmation)
    if first in _DENIED_WHOLE:
        return "it is not true that " + mid_sentence(affirmation)
    if ever:
        return _said(subject, auxiliary, predicate, ["never"])
    if first == "there" and len(subject) == 1 and auxiliary in BE:
        return _nothing_there(auxiliary, predicate)
    longer = no_longer(predicate)
    if longer is not None:
        return _said(subject, auxiliary, longer)
    if auxiliary == "must":
        plain = "do not" if is_plural(subject[-1]) or first in {"we", "you", "they", "i"} else ""
        return " ".join([*subject, plain or "does not", "have to", *predicate])
    denied = "cannot" if auxiliary == "can" else f"{auxiliary} not"
    return " ".join([*subject, denied, *predicate])


def lowered(subject: Sequence[str]) -> list[str]:
    """The words with the first letter of the first lowered."""
    return [mid_sentence(subject[0]), *subject[1:]]


def _has_to(subject: Sequence[str], auxiliary: str) -> str:
    if auxiliary != "must":
        return ""
    return "have" if bare(subject[0]) in {"all"} else "has"


def _nothing_there(auxiliary: str, predicate: Sequence[str]) -> str:
    """ "Is there life after death" denied: "there is no life after death"."""
    first = bare(predicate[0])
    if first in {"something", "anything"}:
        return " ".join(["there", auxiliary, "nothing", *predicate[1:]])
    if first == "such":
        rest = predicate[2:] if bare(predicate[1]) in {"a", "an"} else predicate[1:]
        return " ".join(["there", auxiliary, "no", "such", *rest])
    if first in {"any", "a", "an", "some"}:
        return " ".join(["there", auxiliary, "no", *predicate[1:]])
    if first in {"too", "enough", "more", "less", "really", "still", "the"} | POSSESSIVES:
        return " ".join(["there", auxiliary, "not", *predicate])
    return " ".join(["there", auxiliary, "no", *predicate])


__all__ = ["Statement", "as_statement", "auxiliary_of", "clause_start", "statement_of"]
