"""A corpus in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from perspective_rag.local.corpus.kept import kept_corpus
from perspective_rag.local.corpus.readers import MOST_PROBLEMS, ReadProblem, read_corpus
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag.storage.unpacking import MOST_UNPACKED
from perspective_rag.types import Passage

EXAMPLE_DATA = Path(__file__).parent / "example_data"
"""The small files that come with the package."""

EXAMPLE_DEBATES = EXAMPLE_DATA / "debates" / "passages.jsonl"
"""The sample debates: 227 short passages on 13 contentious questions."""


@dataclass(frozen=True)
class Corpus:
    """Passages, and what could not be read when they were loaded.

    Attributes:
        passages: A list, or, where they were kept in a cache, a sequence that reads each passage as
            it is asked for.
        problems: What could not be read, the first hundred; ``problem_count`` counts all.
        known_fingerprint: The fingerprint, where it is known already. None: it is computed when
            asked for.
        further_problems: Number of problems that ``problems`` does not hold.
    """

    passages: Sequence[Passage]
    problems: list[ReadProblem] = field(default_factory=list)
    known_fingerprint: str | None = field(default=None, repr=False, compare=False)
    further_problems: int = 0

    @property
    def problem_count(self) -> int:
        """How many problems there were, also those that ``problems`` does not hold."""
        return len(self.problems) + self.further_problems

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        columns: Mapping[str, str] | None = None,
        follow_links: bool = False,
        most_unpacked: int = MOST_UNPACKED,
        on_problem: Callable[[ReadProblem], None] | None = None,
        on_passage: Callable[[Passage], None] | None = None,
        cache: str | os.PathLike[str] | None = None,
        whole: bool = False,
    ) -> Corpus:
        """Reads a file, a folder of files or a Hugging Face dataset.

        Files are .jsonl, .csv, .tsv (each also .gz), .parquet, .txt, .md and .html; of a folder in
        the layout of BEIR the corpus alone is read. A record's ``id``, ``title`` and ``text`` (or
        contents, body, passage, document, raw) become the passage, every other field its metadata;
        without an id it is named after file and line. A text of more than 150 words is split at
        sentence ends, with {"part": i} in the metadata.

        What cannot be read is left out and kept in ``problems``: also what is no regular file (a
        pipe, a device), a link, a document of more than 100 MB and a line of more than 32 million
        characters.

        Args:
            path: A file, a folder, or ``hf:NAME[:CONFIG][:SPLIT]``.
            format: That of all files, whatever their names: jsonl, csv, parquet, text, markdown or
                html. None: by their names.
            columns: The names of the fields for ``id``, ``title`` or ``text``, where they are
                others.
            follow_links: Read what symbolic links in the folder lead to, as long as that lies in
                the folder too.
            most_unpacked: Maximum number of bytes of a row group of a Parquet file, and of a gzip'd
                file that unpacks to over 100 times its size.
            on_problem: Called with each problem as it is met.
            on_passage: Called with each passage as it is read.
            cache: A folder in which a corpus of 1 MB or more is kept once it was read: it is not
                read again while every file has the size and the dates it had. None: nothing is
                kept.
            whole: Check all bytes of what was kept, not dates alone.

        Returns:
            The corpus.

        Raises:
            CorpusError: The path does not exist, is no regular file or folder, or holds no passage.
            ConfigError: The type of the file is not supported.
            MissingDependency: Parquet without the extra ``parquet``, or a dataset without ``hub``.
        """
        problems: list[ReadProblem] = []
        count = told = 0

        def keep(problem: ReadProblem) -> None:
            nonlocal count
            count += 1
            if count <= MOST_PROBLEMS:
                problems.append(problem)
            if on_problem is not None and count > told:
                on_problem(problem)

        how: dict[str, Any] = {"format": format, "columns": columns}
        how |= {"follow_links": follow_links, "most_unpacked": most_unpacked}
        see = on_passage or (lambda passage: None)
        if cache is not None:
            kept = kept_corpus(
                path, Path(cache), on_problem=keep, on_passage=see, whole=whole, **how
            )
            if kept is not None:
                return cls(kept.passages, kept.problems, kept.fingerprint, kept.further_problems)
            # What could not be kept is read again, and has the same problems, in the same order.
            count, told = 0, count
            problems.clear()
        passages = []
        for passage in read_corpus(path, on_problem=keep, **how):
            passages.append(passage)
            see(passage)
        return cls(passages, problems, further_problems=count - len(problems))

    @classmethod
    def example(cls) -> Corpus:
        """The sample debates that come with the package: 227 passages on 13 questions."""
        return cls.load(EXAMPLE_DEBATES)

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change with any id, any text and the order."""
        if self.known_fingerprint is not None:
            return self.known_fingerprint
        return fingerprint(((each.id, each.text) for each in self.passages), digits=32)

    def __len__(self) -> int:
        return len(self.passages)
