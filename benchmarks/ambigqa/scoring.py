"""Exact match and token F1 with SQuAD's normalisation (Rajpurkar et al. 2016)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from benchmarks.pir.extraction import token_f1, tokens

_LABEL = re.compile(r"^\W*(?:short\s+|final\s+)?answer\s*:\s*", re.IGNORECASE)


def said(reply: str) -> str:
    """What a reply answers: its first line that says anything, without "Answer:" before it."""
    for line in reply.splitlines():
        if text := _LABEL.sub("", line.strip()).strip():
            return text
    return ""


def exact_match(answer: str, accepted: Sequence[str]) -> float:
    """1.0 when the words of the answer are those of an accepted one, in their order, else 0.0.

    Compared in lower case, without punctuation and articles.
    """
    return float(tokens(answer) in [tokens(each) for each in accepted])


def f1(answer: str, accepted: Sequence[str]) -> float:
    """The best 2 P R / (P + R) over the accepted answers, words counted, in [0, 1]."""
    return token_f1(answer, accepted)


def contains(text: str, accepted: Sequence[str]) -> float:
    """1.0 when the words of an accepted answer stand in the text one after another, else 0.0.

    The lenient reading for models that answer in sentences. An answer without words is in no text.
    """
    words = _spaced(text)
    return float(any(_spaced(each) in words for each in accepted if tokens(each)))


def _spaced(text: str) -> str:
    return f" {' '.join(tokens(text))} "
