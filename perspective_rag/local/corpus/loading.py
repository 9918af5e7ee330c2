"""A corpus, which is kept in a folder once it was read: the next start need not read it again."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from perspective_rag.local.corpus.readers import (
    MOST_PROBLEMS,
    ReadProblem,
    files_of,
    read_corpus,
)
from perspective_rag.storage.files import MOST_UNPACKED
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag.storage.folders import open_sealed, write_sealed
from perspective_rag.storage.stored_passages import StoredPassages, write_passages
from perspective_rag.text import from_json
from perspective_rag.types import Passage

WORTH_KEEPING = 1_000_000
"""Bytes of a corpus from which on it is kept; a smaller one is read as fast."""

_READING = 3  # to be raised when the same files are read into other passages
_MANIFEST = "corpus.json"
# A file that was written so shortly before it was read may have been written to after, at the same
# time as far as its date can tell.
_SETTLED_NS = 2_000_000_000

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
                read again while every file has the size and the dates it had. The first time all
                passages are in memory, as without a cache. None: nothing is kept.

        Returns:
            The corpus.

        Raises:
            CorpusError: The path does not exist, is no regular file or folder, or holds no passage.
            ConfigError: The type of the file is not supported.
            MissingDependency: Parquet without the extra ``parquet``, or a dataset without ``hub``.
        """
        how: dict[str, Any] = {"format": format, "columns": columns}
        how |= {"follow_links": follow_links, "most_unpacked": most_unpacked}
        start = Path(path)
        kept = None if cache is None else _Kept.of(start, Path(cache), how)
        corpus = None if kept is None else open_sealed(kept.folder, kept.open)
        if corpus is not None:
            if on_problem is not None:
                for problem in corpus.problems:
                    on_problem(problem)
            return corpus
        problems: list[ReadProblem] = []
        count = 0

        def keep(problem: ReadProblem) -> None:
            nonlocal count
            count += 1
            if count <= MOST_PROBLEMS:
                problems.append(problem)
            if on_problem is not None:
                on_problem(problem)

        passages = []
        for passage in read_corpus(path, on_problem=keep, **how):
            passages.append(passage)
            if on_passage is not None:
                on_passage(passage)
        corpus = cls(passages, problems, further_problems=count - len(problems))
        if kept is not None:
            read = corpus
            write_sealed(kept.folder, lambda new: kept.write(new, read))
        return corpus

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


@dataclass(frozen=True, slots=True)
class _Kept:
    """A corpus that is kept in a folder as it was read; ``state`` is that of its files."""

    start: Path
    folder: Path
    state: str

    @classmethod
    def of(cls, start: Path, cache: Path, how: Mapping[str, Any]) -> _Kept | None:
        """Where the corpus is kept; None for one that is small, or may still be written to."""
        files = []  # name, size, and dates (written, changed)
        for path in files_of(start, how["follow_links"], lambda problem: None):
            with suppress(OSError):
                found = path.stat()
                files.append((str(path), found.st_size, found.st_mtime_ns, found.st_ctime_ns))
        latest = max((date for _, _, *dates in files for date in dates), default=0)
        small = sum(size for _, size, *_ in files) < WORTH_KEEPING
        if small or latest + _SETTLED_NS >= time.time_ns():
            return None
        read_as = {key: value for key, value in how.items() if value is not None}
        name = f"corpus-{fingerprint(os.path.abspath(start), read_as)}"
        return cls(start, cache / name, fingerprint(_READING, files))

    def open(self, folder: Path) -> Corpus | None:
        """The corpus as it is kept; None where its files are others by now."""
        values = from_json((folder / _MANIFEST).read_text(encoding="utf-8"))
        if values["state"] != self.state:
            return None
        problems = [
            ReadProblem(self.start / path if path else self.start, int(line), str(message))
            for path, line, message in values["problems"]
        ]
        known, further = str(values["fingerprint"]), int(values["further_problems"])
        return Corpus(StoredPassages(folder), problems, known, further)

    def write(self, folder: Path, corpus: Corpus) -> None:
        """Writes the corpus into a folder."""
        write_passages(folder, corpus.passages)
        values = {
            "state": self.state,
            "fingerprint": corpus.fingerprint,
            "further_problems": corpus.further_problems,
            "problems": [
                (_below(self.start, each.path), each.line, each.message) for each in corpus.problems
            ],
        }
        (folder / _MANIFEST).write_text(json.dumps(values), encoding="utf-8")


def _below(start: Path, path: Path) -> str:
    return "" if path == start else str(path.relative_to(start))
