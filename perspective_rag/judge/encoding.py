"""Tokens of (document, statement) pairs, every text tokenised once."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from perspective_rag.flow.cancelling import check_wanted

# Texts whose tokens are kept: a few requests' worth, a few MB.
_KEPT_TEXTS = 1024


class PairEncoder:
    """Joins the tokens of a document and a statement as a ``tokenizers.Tokenizer`` joins pairs.

    A document is tokenised once however many statements it is judged against. Pairs longer than
    ``max_tokens`` lose the end of the longer text; ``pieces`` cuts documents so that this is rare.
    """

    def __init__(self, tokenizer: Any, max_tokens: int) -> None:
        tokenizer.encode_special_tokens = True  # "[SEP]" in a text is text
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._special = tokenizer.num_special_tokens_to_add(is_pair=True)
        self._tokens = lru_cache(_KEPT_TEXTS)(self._fresh)

    def pairs(self, documents: Sequence[str], statements: Sequence[str]) -> list[Any]:
        """One encoding (``ids``, ``type_ids``, ``attention_mask``) for each pair."""
        return [self._pair(d, s) for d, s in zip(documents, statements, strict=True)]

    def ids(self, text: str) -> list[int]:
        """The tokens of one text, without any that the model adds."""
        return list(self._tokens(text).ids)

    def pieces(self, text: str, statements: Sequence[str]) -> list[str]:
        """The text in pieces that are read to their last token beside every one of the statements.

        Cut at white space where there is some near. A statement counts for at most half a window.
        """
        check_wanted()
        longest = max((len(self._tokens(each).ids) for each in statements), default=0)
        room = self._max_tokens - self._special - min(longest, self._max_tokens // 2)
        spans = self._tokens(text).offsets
        if len(spans) <= room:
            return [text]
        room -= room // 16  # a word that is cut may need more tokens than it had
        starts = [start for start, _ in spans]
        found: list[str] = []
        first = begin = 0
        while first + room < len(spans):
            end = spans[first + room - 1][1]
            space = text.rfind(" ", begin + (end - begin) // 2, end)
            end = space if space > 0 else end
            found.append(text[begin:end])
            begin, first = end, max(bisect_left(starts, end), first + 1)
        return [*found, text[begin:]]

    def _pair(self, document: str, statement: str) -> Any:
        check_wanted()
        first, second = self._tokens(document), self._tokens(statement)
        excess = len(first.ids) + len(second.ids) + self._special - self._max_tokens
        if excess > 0:
            half = max(1, (self._max_tokens - self._special) // 2)
            keep = max(half, self._max_tokens - self._special - len(second.ids))
            first, second = self._fresh(document), self._fresh(statement)
            first.truncate(keep)
            second.truncate(max(1, self._max_tokens - self._special - len(first.ids)))
        return self._tokenizer.post_process(first, second)

    def _fresh(self, text: str) -> Any:
        return self._tokenizer.encode(text, add_special_tokens=False)


def batches_by_length(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Indices in batches of similar length, shortest first, so that little is padded."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    for start in range(0, len(order), batch_size):
        yield order[start : start + batch_size]


def padded(rows: Sequence[Sequence[int]], fill: int = 0) -> Any:
    """Rows of integers as one matrix, filled up on the right: shape (n, longest), int64."""
    matrix = np.full((len(rows), max(map(len, rows))), fill, dtype=np.int64)
    for target, row in zip(matrix, rows, strict=True):
        target[: len(row)] = row
    return matrix
