"""Long passages in pieces that a model reads whole."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from perspective_rag.text import shares_words, split_sentences, words
from perspective_rag.types import Passage

LONG = 200
"""Words of a text that most encoders still read whole."""

LONGEST = 20_000
"""Characters of a passage that are read: a book in one passage would take minutes."""


def titled_pieces(passage: Passage, about: str = "") -> list[str]:
    """A passage with its title as an encoder reads it, a long one in pieces of at most 3/4 ``LONG``
    words: what stands at its end counts as much as its start, up to ``LONGEST`` characters. Where
    it is known what they are asked ``about``, a title without a word of that is left out: "A tram
    driver" says nothing of it.
    """
    if about and not shares_words(passage.title, about):
        passage = Passage(passage.id, passage.text)
    if len(passage.text.split()) <= LONG:
        return [passage.titled]
    pieces = telling(windows(passage.text, 3 * LONG // 4), about)
    return [Passage("", piece, {"title": passage.title}).titled for piece in pieces]


def telling(pieces: list[str], about: str) -> list[str]:
    """The pieces of a text, in their order; of one of more than ``LONGEST`` characters the first,
    the last, and those that share most words with what they are asked ``about``, up to that many.
    """
    if sum(map(len, pieces)) <= LONGEST:
        return pieces
    asked = set(words(about))
    shared = [len(asked.intersection(words(piece))) for piece in pieces]
    last = len(pieces) - 1
    left = LONGEST
    kept: list[int] = []
    for place in sorted(range(len(pieces)), key=lambda i: (i not in (0, last), -shared[i])):
        left -= len(pieces[place])
        if left < 0 and kept:
            break
        kept.append(place)
    return [pieces[place] for place in sorted(kept)]


def windows(text: str, max_words: int, language: str = "en") -> list[str]:
    """The text in windows of at most ``max_words`` words, cut at sentence ends.

    There are as few windows as fit, about equally long: a last sentence alone, out of its context,
    would decide as much as all the rest. A sentence longer than a window is cut between words.
    ``language`` is that of ``split_sentences``. Every word is in one window; a text that fits is
    returned as it is.
    """
    if len(text.split()) <= max_words:
        return [text]
    sentences = [sentence.split() for sentence in split_sentences(text, language)]
    fewest = _cut(sentences, max_words)
    longest = max(map(len, sentences))
    count = sum(map(len, sentences))
    least = longest if longest <= max_words else -(-count // len(fewest))
    limits = range(least, max_words)  # the narrowest that needs no more windows
    narrow = bisect_left(limits, True, key=lambda limit: len(_cut(sentences, limit)) <= len(fewest))
    return fewest if narrow == len(limits) else _cut(sentences, limits[narrow])


def _cut(sentences: Sequence[list[str]], max_words: int) -> list[str]:
    done: list[list[str]] = []
    for sentence in sentences:
        if not done or len(done[-1]) + len(sentence) > max_words:
            done.append([])
        for start in range(0, len(sentence), max_words):
            if start:
                done.append([])
            done[-1] += sentence[start : start + max_words]
    return [" ".join(words) for words in done]
