"""Long passages in pieces that a model reads whole."""

from __future__ import annotations

from perspective_rag.sentences import split_sentences


def windows(text: str, max_words: int, overlap: int = 0) -> list[str]:
    """The text in windows of at most ``max_words`` words, cut at sentence ends.

    A sentence longer than a window is cut between words. A window begins with the last sentences of
    the one before as long as they hold at most ``overlap`` words together (0: none is repeated), so
    that a point made in two sentences is read whole. Every word is in a window; a text that fits is
    returned as it is.
    """
    if len(text.split()) <= max_words:
        return [text]
    done: list[str] = []
    current: list[list[str]] = []  # sentences, each a list of words
    fresh = 0  # words of the current window that no earlier window holds
    for sentence in split_sentences(text):
        words = sentence.split()
        while words:
            if len(words) > max_words - _length(current) and fresh:
                done.append(_joined(current))
                current = _tail(current, min(overlap, max_words - min(len(words), max_words)))
                fresh = 0
            elif len(words) > max_words - _length(current) and current:
                current = []  # nothing but repeated words: they must not crowd out new ones
            room = max_words - _length(current)
            current.append(words[:room])
            fresh += min(room, len(words))
            words = words[room:]
    return [*done, _joined(current)] if fresh else done


def _tail(sentences: list[list[str]], limit: int) -> list[list[str]]:
    kept = len(sentences)
    while kept > 1 and _length(sentences[kept - 1 :]) <= limit:
        kept -= 1
    return sentences[kept:]


def _length(sentences: list[list[str]]) -> int:
    return sum(map(len, sentences))


def _joined(sentences: list[list[str]]) -> str:
    return " ".join(" ".join(words) for words in sentences)
