"""Sentences and words of plain text, in any script, by rule, and values as text and JSON."""

from __future__ import annotations

import copy
import json
import math
import re
import unicodedata
from collections.abc import Mapping, Set
from typing import Any

import numpy as np


def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words before a full stop that does not end a sentence: titles before a name, ...
_TITLES = _vocabulary(
    "mr mrs ms mx dr prof rev hon gen col maj capt sgt lt gov sen rep pres st mt ft messrs"
)
# ... words that something always follows, ...
_LEADING = _vocabulary("vs e.g i.e cf viz ca approx resp incl")
# ... and words before a number.
_NUMBERED = _vocabulary("no nos fig figs eq eqs vol p pp sec ch art")
# These may also end a sentence; the next one then starts with a word that often starts sentences.
_TRAILING = _vocabulary(
    """u.s u.k u.n e.u d.c u.s.a a.m p.m b.c a.d ph.d m.d b.a m.a etc inc ltd co corp bros dept univ
    al jr sr esq ed eds est jan feb mar apr jun jul aug sept sep oct nov dec"""
)
_STARTERS = _vocabulary(
    """a an and as at but by for he her his however i if in it its many most my no not on one other
    our she since so some such that the their then there these they this those to under we what
    when where while with yet you"""
)

_CLOSERS = "\"'”’»)\\]」』）】"
_OPENERS = "\"'“‘«([「『（【"
# A row of marks is looked at once, from its first: looking from each is quadratic in their number.
_END = re.compile(
    rf"(?P<spaced>(?<![.!?…])[.!?…]+(?:[{_CLOSERS}]|\[\d+\])*)(?=\s|$)"
    rf"|(?P<joined>[。！？｡؟।॥]+[{_CLOSERS}]*)"
    r"|(?P<gap>\n\s*\n|\n(?=\s*(?:[-*•]|\d{1,2}[.)])\s))"
)
_SPACE = re.compile(r"\s*")
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")  # "C.S" of "C.S. Lewis"
_LIST_NUMBER = re.compile(r"\(?(?:\d{1,3}|[A-Za-z])")
_NEAR = 40  # characters around an end mark: no abbreviation is longer

# Characters of no script, white space or ASCII in a row: accents and other marks, and pictures.
_MARKS = re.compile(r"[^\w\s\x00-\x7f]{31,}")
_MOST_MARKS = 30  # of one letter, as in Unicode's stream-safe text (UAX 15)

_IDEOGRAPH = "\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_IDEOGRAPH}]|[^\W_{_IDEOGRAPH}]+")

# Escape sequences of terminals (ECMA-48): control sequences, strings such as titles, and others;
# characters that reorder what is read; characters that are never seen.
_STEERING = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\n\x80-\x9f]{0,2000}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]?"
    r"|[\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_HIDDEN = re.compile(
    r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def is_language(language: str, known: str = "en") -> bool:
    """Whether a language tag ("en", "en-GB") is of a language."""
    return language.lower().replace("_", "-").split("-")[0] == known


def split_sentences(text: str, language: str = "en") -> list[str]:
    """The sentences of a text, in order, each an exact piece of it without outer white space.

    Together they hold every character of the text that is not white space. Abbreviations, initials,
    decimals, ellipses and quoted questions do not end a sentence; ideographic full stops need no
    space after them. Abbreviations are known in English; for another ``language`` only initials and
    numbers of a list are.
    """
    english = is_language(language)
    uncased = text == text.lower()
    sentences: list[str] = []
    start = _after_space(text, 0)
    for match in _END.finditer(text):
        if match["spaced"] and not _ends_sentence(text, start, match, uncased, english):
            continue
        sentences.append(text[start : match.end()].strip())
        start = _after_space(text, match.end())
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def words(text: str) -> list[str]:
    """The words of a text in lower case; ideographs count one by one."""
    return _WORD.findall(nfkc(text).casefold())


# Words of questions and motions that say nothing of what they are about.
_GENERAL = _vocabulary(
    """should would could about there their what which when where more than have been with this that
    from house believes does"""
)
_GENERAL_TOO = _vocabulary(
    """a an the of in on at to for by as into over under up out off and or but not no nor if than
    then vs versus is are was were be being am do did has had can will shall may might must ought i
    you he she it we they me my mine your yours our ours us them his her hers its these those who
    whom whose why how here so too very really just any some all both each other another such s t
    just only
    good bad better best worse worst right wrong pros cons pro con for against favour favor argument
    arguments advantage advantages disadvantage disadvantages benefits drawbacks think opinion
    opinions view views thoughts debate question issue tell explain discuss please yes"""
)


def shares_words(one: str, other: str) -> bool:
    """Whether two texts have a word in common, by its first five letters; short and general words
    do not count.
    """
    first, second = (
        {word[:5] for word in words(text) if len(word) > 3 and word not in _GENERAL}
        for text in (one, other)
    )
    return bool(first & second)


def topic_words(text: str) -> frozenset[str]:
    """The words that say what a question is about, by their first five letters; a final s and the
    words of any question ("pros and cons of", "what do you think about") do not count.
    """
    kept = (word for word in words(text) if word not in _GENERAL | _GENERAL_TOO)
    return frozenset(_beginning(word) for word in kept)


def named(text: str, beginnings: frozenset[str]) -> int:
    """How many of the beginnings that ``topic_words`` gave a word of a text has."""
    return len(beginnings & {_beginning(word) for word in words(text)})


def _beginning(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        word = word[:-3] + "y"
    return (word[:-1] if len(word) > 3 and word.endswith("s") else word)[:5]


def text_key(text: str) -> str:
    """A key that is equal for texts that differ in case, space or punctuation; "" if empty."""
    folded = nfkc(text).casefold()
    if folded.isascii():
        return " ".join(folded.translate(_BETWEEN_WORDS).split())
    kept = (" " if _is_between_words(c) else c for c in folded)
    return " ".join("".join(kept).split())


# Letters of Cyrillic and Greek, and a few of Latin, that look like a letter of ASCII.
_LOOKS_LIKE = str.maketrans(
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0423\u0425\u0406\u0408\u0405"
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u04cf"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u03b1\u03bf\u03c1\u03bd\u03b9\u03c5\u03f3\u0131\u0251\u0261",
    "ABEKMHOPCTYXIJSaeopcyxijshdqwlABEZHIKMNOPTYXaopviujiag",
)
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def seen_keys(text: str) -> frozenset[str]:
    """Keys of how a text looks, empty if nothing of it is seen: two texts that share one read the
    same. White space, case, a last full stop, characters that are not seen, and letters that look
    like another (Cyrillic and Greek ones like Latin) make no difference.
    """
    shown = "".join(
        c for c in nfkc(text) if not (unicodedata.category(c) == "Cf" or c in _BLANK or _varies(c))
    )
    made = {
        " ".join(each.casefold().split()).rstrip(". ")
        for each in (shown, shown.translate(_LOOKS_LIKE))
    }
    return frozenset(made - {""})


def _varies(character: str) -> bool:
    """Whether it chooses between two forms of the character before it."""
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _is_between_words(character: str) -> bool:
    """Whether it is punctuation, a separator or a control character."""
    return unicodedata.category(character)[0] in "PZC"


_BETWEEN_WORDS = {code: " " for code in range(128) if _is_between_words(chr(code))}


def nfkc(text: str) -> str:
    """Text in the Unicode form NFKC, of at most 30 marks on a letter.

    The marks of a letter are sorted by a method that is quadratic in their number, so what is more
    than writing ever needs is left out first.
    """
    return unicodedata.normalize("NFKC", text if text.isascii() else _MARKS.sub(_fewer, text))


def valid(text: str) -> str:
    """A text with U+FFFD in place of halves of surrogate pairs, which no encoding can write.

    File names in another encoding, JSON ("\\ud800") and some character sets bring them in.
    """
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def escaped(text: str) -> str:
    """A JSON document with what ``printable`` leaves out written as JSON's own escapes."""
    return _HIDDEN.sub(lambda match: json.dumps(match[0])[1:-1], text)


def printable(text: str) -> str:
    """A text that cannot steer a terminal: without escape sequences, control characters (but tab
    and newline), changes of the writing direction, and halves of surrogate pairs.
    """
    return _UNPRINTABLE.sub(" ", _STEERING.sub("", text))


def _fewer(marks: re.Match[str]) -> str:
    kept, row = [], 0
    for c in marks[0]:
        row = row + 1 if unicodedata.combining(c) else 0
        if row <= _MOST_MARKS:
            kept.append(c)
    return "".join(kept)


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _ends_sentence(
    text: str, start: int, match: re.Match[str], uncased: bool, english: bool
) -> bool:
    place = _after_space(text, match.end())
    following = text[place : place + _NEAR].lstrip(_OPENERS)
    if not following:
        return True
    mark = match["spaced"]
    if following[0].islower() and (not uncased or mark != "."):
        return False
    if mark[0] != "." or mark.startswith(".."):
        return True
    if _LIST_NUMBER.fullmatch(text, start, match.start()):
        return False
    before = text[max(start, match.start() - _NEAR) : match.start()]
    last = before.split()[-1].lstrip(_OPENERS) if before[-1:].strip() else ""
    if not english:
        return len(last) != 1
    word = last.lower()
    if word in _LEADING or (word in _TITLES and (uncased or last[0].isupper())):
        return False
    if word in _NUMBERED:
        return not following[0].isdigit()
    initials = last != "I" and last.isupper() and _INITIALS.fullmatch(last)
    if initials or word in _TRAILING:
        first = re.match(r"\w+", following)
        return mark != "." or (first is not None and first[0].lower() in _STARTERS)
    return True


# Values


# Deeper values than any writer of JSON takes.
_DEEPEST = 100


def from_json(text: str | bytes) -> Any:
    """The value of a JSON text; raises ValueError for what is none, and for what is nested so deep
    that it cannot be read.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def json_ready(value: Any, *, _depth: int = 0) -> Any:
    """The value as None, booleans, numbers, strings, lists and dictionaries.

    What is no finite number becomes None, keys become strings, anything else its ``str``; so does
    what is nested deeper than 100.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if _depth < _DEEPEST:
        if isinstance(value, Mapping):
            return {as_text(k): json_ready(each, _depth=_depth + 1) for k, each in value.items()}
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if isinstance(value, (list, tuple, Set)):
            return [json_ready(each, _depth=_depth + 1) for each in value]
    return as_text(value)


def as_text(value: Any) -> str:
    """``str(value)``; where the value's own code fails, the name of its type."""
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def copy_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Copies metadata, so that changes in the copy stay there.

    Args:
        metadata: May hold anything, a lock or an open file too.

    Returns:
        A deep copy; a value that cannot be copied is shared.
    """
    try:
        return copy.deepcopy(dict(metadata))
    except Exception:  # whatever a value's own code raises; value by value, the rest is copied
        return {key: _copy(value) for key, value in metadata.items()}


def _copy(value: Any) -> Any:
    try:
        return copy.deepcopy(value)
    except Exception:  # shared with the caller, as the plain retriever would
        return value


def valid_fields(value: Any, *names: str) -> None:
    """Makes these texts of an immutable value ``text.valid`` while it is made."""
    for name in names:
        given = getattr(value, name)
        if isinstance(given, str) and not given.isascii():
            object.__setattr__(value, name, valid(given))
