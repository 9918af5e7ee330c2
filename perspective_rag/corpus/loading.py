"""A corpus in memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from perspective_rag.corpus.readers import ReadProblem, read_corpus
from perspective_rag.types import Passage


def fingerprint(passages: Iterable[Passage]) -> str:
    """32 hexadecimal digits that change with any id, any text and the order."""
    digest = hashlib.sha256()
    for passage in passages:
        for value in (passage.id, passage.text):
            data = value.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "big"))
            digest.update(data)
    return digest.hexdigest()[:32]


@dataclass(frozen=True)
class Corpus:
    """Passages, and what could not be read when they were loaded."""

    passages: list[Passage]
    problems: list[ReadProblem] = field(default_factory=list)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        on_problem: Callable[[ReadProblem], None] | None = None,
    ) -> Corpus:
        """Everything ``read_corpus`` finds at a path; raises as it does."""
        problems: list[ReadProblem] = []

        def keep(problem: ReadProblem) -> None:
            problems.append(problem)
            if on_problem is not None:
                on_problem(problem)

        return cls(list(read_corpus(path, on_problem=keep)), problems)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of ids and texts; see ``fingerprint``."""
        return fingerprint(self.passages)

    def __len__(self) -> int:
        return len(self.passages)
