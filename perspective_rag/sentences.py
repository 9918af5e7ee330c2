"""Sentences and words of plain text, in any script, by rule."""

from __future__ import annotations

import re
import unicodedata


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
_END = re.compile(
    rf"(?P<spaced>[.!?…]+(?:[{_CLOSERS}]|\[\d+\])*)(?=\s|$)"
    rf"|(?P<joined>[。！？｡؟।॥]+[{_CLOSERS}]*)"
    r"|(?P<gap>\n\s*\n|\n(?=\s*(?:[-*•]|\d{1,2}[.)])\s))"
)
_LAST_WORD = re.compile(r"(\S+)$")
_LIST_NUMBER = re.compile(r"^\s*\(?(?:\d{1,3}|[A-Za-z])$")

_IDEOGRAPH = "\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_IDEOGRAPH}]|[^\W_{_IDEOGRAPH}]+")


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, in order, each an exact piece of it without outer white space.

    Together they hold every character of the text that is not white space. Abbreviations, initials,
    decimals, ellipses and quoted questions do not end a sentence; ideographic full stops need no
    space after them.
    """
    uncased = text == text.lower()
    sentences: list[str] = []
    start = 0
    for match in _END.finditer(text):
        if match["spaced"] and not _ends_sentence(text, start, match, uncased):
            continue
        sentences.append(text[start : match.end()].strip())
        start = match.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def words(text: str) -> list[str]:
    """The words of a text in lower case; ideographs count one by one."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def text_key(text: str) -> str:
    """A key that is equal for texts that differ in case, space or punctuation; "" if empty."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    kept = (" " if unicodedata.category(c)[0] in "PZC" else c for c in folded)
    return " ".join("".join(kept).split())


def _ends_sentence(text: str, start: int, match: re.Match[str], uncased: bool) -> bool:
    following = text[match.end() :].lstrip()[:40].lstrip(_OPENERS)
    if not following:
        return True
    mark = match["spaced"]
    if following[0].islower() and (not uncased or mark != "."):
        return False
    if mark[0] != "." or mark.startswith(".."):
        return True
    before = text[start : match.start()]
    if _LIST_NUMBER.match(before):
        return False
    last = _LAST_WORD.search(before)
    token = last[1].lstrip(_OPENERS) if last else ""
    word = token.lower()
    if word in _LEADING or (word in _TITLES and (uncased or token[0].isupper())):
        return False
    if word in _NUMBERED:
        return not following[0].isdigit()
    initial = len(token) == 1 and token.isupper() and token != "I"
    if initial or word in _TRAILING:
        first = re.match(r"\w+", following)
        return mark != "." or (first is not None and first[0].lower() in _STARTERS)
    return True
