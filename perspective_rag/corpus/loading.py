"""A corpus in memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from perspective_rag.corpus.readers import ReadProblem, read_corpus
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag.types import Passage

EXAMPLE_DATA = Path(__file__).parent / "example_data"
"""The small files that come with the package."""

EXAMPLE_DEBATES = EXAMPLE_DATA / "debates" / "passages.jsonl"
"""The sample debates: 227 short passages on 13 contentious questions."""


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

    @classmethod
    def example(cls) -> Corpus:
        """The sample debates that come with the package: 227 passages on 13 questions."""
        return cls.load(EXAMPLE_DEBATES)

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change with any id, any text and the order."""
        return fingerprint(((each.id, each.text) for each in self.passages), digits=32)

    def __len__(self) -> int:
        return len(self.passages)
