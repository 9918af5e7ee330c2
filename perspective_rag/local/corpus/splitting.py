"""Long texts cut into passages of about a hundred words, at sentence ends where there are any."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perspective_rag.errors import count

# Scripts written without spaces between words: Thai, Lao, Myanmar, Khmer, kana, Han. Two of their
# characters count as one word: near the average word, and a passage still fits a model's input.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
# No word is longer than 40 characters, so that base64 and the like are cut too.
_WORD = re.compile(rf"[{_UNSPACED}]{{1,2}}|[^\s{_UNSPACED}]{{1,40}}")
_SENTENCE_END = re.compile(
    r"(?<!\bMr)(?<!\bMrs)(?<!\bMs)(?<!\bDr)(?<!\bProf)(?<!\bSt)(?<!\bvs)"
    # A small letter follows "e.g.", not the end of a sentence. A row of marks is looked at once.
    r"(?<![.!?…؟।])[.!?…؟।]+[\"'”’)\]]*(?=\s+[^a-z\s])"
    r"|[。！？｡][」』”’）]*"
    r"|\n\s*\n"
)


def count_words(text: str) -> int:
    """Words in a text; in scripts without spaces, two characters are a word."""
    return sum(1 for _ in _WORD.finditer(text))


def split_text(text: str, words: int = 100) -> list[str]:
    """Consecutive pieces of a text, each of at most ``words`` words, the last up to a quarter more.

    Pieces end where a sentence ends; only a sentence longer than ``words`` is cut inside. Nothing
    but white space between pieces is lost, and a text without words gives no pieces. Raises
    ConfigError for words < 1.
    """
    count("words", words)
    pieces: list[tuple[int, int, int]] = []  # start, end, words
    for start, end, size in _units(text, words):
        if pieces and pieces[-1][2] + size <= words:
            pieces[-1] = (pieces[-1][0], end, pieces[-1][2] + size)
        else:
            pieces.append((start, end, size))
    if len(pieces) > 1 and pieces[-1][2] <= words // 4:
        _, end, tail = pieces.pop()
        pieces[-1] = (pieces[-1][0], end, pieces[-1][2] + tail)
    return [text[start:end].strip() for start, end, _ in pieces]


def _units(text: str, words: int) -> Iterator[tuple[int, int, int]]:
    """Sentences, and parts of those that are too long, as (start, end, words)."""
    start = 0
    ends = [match.end() for match in _SENTENCE_END.finditer(text)]
    for end in [*ends, len(text)]:
        size, last = 0, start
        for word in _WORD.finditer(text, start, end):
            if size == words:
                yield start, last, size
                start, size = word.start(), 0
            size, last = size + 1, word.end()
        if size:
            yield start, end, size
        start = end
