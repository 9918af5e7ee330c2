"""A corpus kept in a folder once it was read, so that the next start need not read it again."""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from perspective_rag.errors import CorpusError
from perspective_rag.local.corpus.readers import (
    MOST_PROBLEMS,
    ReadProblem,
    corpus_files,
    read_corpus,
)
from perspective_rag.storage.fingerprint import fingerprint
from perspective_rag.storage.folders import check_sealed, folder_in_work, remove_left, seal
from perspective_rag.storage.stored_passages import StoredPassages, write_passages
from perspective_rag.text import from_json
from perspective_rag.types import Passage

WORTH_KEEPING = 1_000_000
"""Bytes of a corpus from which on it is kept; a smaller one is read as fast."""

_READING = 2  # to be raised when the same files are read into other passages
_MANIFEST = "corpus.json"
# A file that was written so shortly before it was read may have been written to after, at the same
# time as far as its date can tell.
_SETTLED_NS = 2_000_000_000

_log = logging.getLogger(__name__)

OnProblem = Callable[[ReadProblem], None]
OnPassage = Callable[[Passage], None]


class Kept:
    """What was read from a source: its passages, their fingerprint, what could not be read."""

    def __init__(self, folder: Path, start: Path) -> None:
        values: dict[str, Any] = from_json((folder / _MANIFEST).read_text(encoding="utf-8"))
        self.passages = StoredPassages(folder)
        self.fingerprint: str = values["fingerprint"]
        self.problems = [
            ReadProblem(start / path if path else start, int(line), str(message))
            for path, line, message in values["problems"]
        ]
        self.further_problems: int = values["further_problems"]
        self.read_at: int = values["read_at"]


def kept_corpus(
    path: str | os.PathLike[str],
    cache: Path,
    *,
    on_problem: OnProblem,
    on_passage: OnPassage,
    whole: bool = False,
    **how: Any,
) -> Kept | None:
    """The passages at a path from ``cache``, which are read and put there where they are not in it.

    They are in it when every file still has the size and the dates that it had; ``whole`` checks
    all that was put there, too. None where the corpus is small, changes, or cannot be kept, which
    is logged: the caller reads it then. Raises as ``read_corpus`` does.
    """
    start = Path(path)
    if not start.exists():
        return None
    state = _state(start, how.get("follow_links", False))
    if sum(size for _, size, *_ in state) < WORTH_KEEPING:
        return None
    read_as = {key: value for key, value in how.items() if value is not None}
    name = f"corpus-{fingerprint(os.path.abspath(start), read_as)}-"
    folder = cache / f"{name}{fingerprint(_READING, state)}"
    remove_left(folder)
    latest = max(date for _, _, *dates in state for date in dates)
    if folder.is_dir():
        try:
            check_sealed(folder, whole=whole)
            kept = Kept(folder, start)
            if latest + _SETTLED_NS < kept.read_at:
                for problem in kept.problems:
                    on_problem(problem)
                return kept
        except (OSError, ValueError, KeyError, TypeError, CorpusError) as error:
            _log.warning("%s cannot be read and is made anew: %r", folder, error)
        shutil.rmtree(folder, ignore_errors=True)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _keep(folder, start, how, on_problem, on_passage)
        _remove_others(cache, name, folder)
        return Kept(folder, start)
    except (OSError, ValueError, TypeError) as error:
        if isinstance(error, CorpusError):
            raise
        _log.warning("%s cannot be written, the corpus is not kept: %s", folder, error)
        return None


def _keep(
    folder: Path,
    start: Path,
    how: dict[str, Any],
    on_problem: OnProblem,
    on_passage: OnPassage,
) -> None:
    problems: list[ReadProblem] = []
    count = 0

    def tell(problem: ReadProblem) -> None:
        nonlocal count
        count += 1
        if count <= MOST_PROBLEMS:
            problems.append(problem)
        on_problem(problem)

    def parts(passages: Iterable[Passage]) -> Iterator[tuple[str, str]]:
        for passage in passages:
            on_passage(passage)
            yield passage.id, passage.text

    read_at = time.time_ns()
    with folder_in_work(folder) as new:
        written = write_passages(new, read_corpus(start, on_problem=tell, **how))
        values = {
            "fingerprint": fingerprint(parts(written), digits=32),
            "read_at": read_at,
            "further_problems": count - len(problems),
            "problems": [(_below(start, each), each.line, each.message) for each in problems],
        }
        (new / _MANIFEST).write_text(json.dumps(values), encoding="utf-8")
        seal(new)


def _remove_others(cache: Path, name: str, folder: Path) -> None:
    """Removes what was kept of the same source as it was before."""
    for old in cache.glob(f"{name}*"):
        base, in_work, _ = old.name.partition(".new-")
        if in_work:
            remove_left(cache / base)
        elif old != folder:
            shutil.rmtree(old, ignore_errors=True)


def _below(start: Path, problem: ReadProblem) -> str:
    return "" if problem.path == start else str(problem.path.relative_to(start))


def _state(start: Path, follow_links: bool) -> list[tuple[str, int, int, int]]:
    """Name, size and dates (written, changed) of every file that would be read."""
    found = []
    for path in corpus_files(start, follow_links=follow_links):
        try:
            status = path.stat()
        except OSError:
            continue
        found.append((str(path), status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return found
