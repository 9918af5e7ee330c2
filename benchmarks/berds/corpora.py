"""The corpora of BERDS as streams of passages: however large, one line is in memory at a time."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from benchmarks.core.data import needed
from perspective_rag import ConfigError, CorpusError, Passage
from perspective_rag.addons import read_corpus
from perspective_rag.extend import unknown_name

KINDS = ("dpr", "jsonl", "files")


@dataclass(frozen=True, slots=True)
class PassageStream:
    """A corpus that can be read from its beginning any number of times.

    ``identity`` changes with the files (names, sizes, dates of change) and names its indexes.
    """

    name: str
    identity: str
    passages: Callable[[], Iterator[Passage]]


def open_stream(spec: str) -> PassageStream:
    """``dpr:FILE`` (tsv), ``jsonl:PATH`` (passages as they are, Sphere's shards among them) or
    ``files:PATH`` (texts that ``read_corpus`` cuts into passages).

    A path alone is "jsonl" where it holds JSON lines files and "files" else. Raises CorpusError
    when the path does not exist.
    """
    kind, found, rest = spec.partition(":")
    if not found or len(kind) < 2:  # "C:\\..." is no kind
        kind, rest = "", spec
    if kind and kind not in KINDS:
        raise unknown_name(kind, KINDS, "kind of corpus")
    path = needed(Path(rest), "berds")
    kind = kind or ("jsonl" if _shards(path) else "files")
    readers = {"dpr": dpr_passages, "jsonl": jsonl_passages, "files": read_corpus}
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    stats = [(each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in files]
    return PassageStream(path.name, json.dumps([kind, stats]), lambda: iter(readers[kind](path)))


def dpr_passages(path: Path) -> Iterator[Passage]:
    """The Wikipedia passages of DPR (Karpukhin et al. 2020): a tsv of id, text, title.

    A header line is passed over, quotes around a text are taken off as the csv rules say. Raises
    CorpusError for a line that has not three fields.
    """
    csv.field_size_limit(2**31 - 1)
    with _text(path) as stream:
        for number, row in enumerate(csv.reader(stream, delimiter="\t"), start=1):
            if number == 1 and row[:2] == ["id", "text"]:
                continue
            if len(row) != 3:
                raise CorpusError(f"{path}:{number}: expected id, text and title, got {row!r:.120}")
            yield Passage(row[0], row[1], {"title": row[2]})


def jsonl_passages(path: Path) -> Iterator[Passage]:
    """Passages in JSON lines, one file or a folder of shards, taken as they are cut.

    A line holds ``id``, ``text`` (in Sphere, Piktus et al. 2021: ``raw``), ``title`` and ``url``.
    Shards come in the order of their names. Raises CorpusError with file and line for anything
    else.
    """
    shards = _shards(path)
    if not shards:
        raise CorpusError(f"{path} holds no .jsonl or .jsonl.gz shards")
    for shard in shards:
        with _text(shard) as stream:
            for number, line in enumerate(stream, start=1):
                if line.strip():
                    yield _passage(line, f"{shard}:{number}")


def _shards(path: Path) -> list[Path]:
    files = path.rglob("*") if path.is_dir() else [path]
    return sorted(each for each in files if each.name.endswith((".jsonl", ".jsonl.gz")))


def _passage(line: str, place: str) -> Passage:
    try:
        row: dict[str, Any] = json.loads(line)
        text = row["raw"] if "raw" in row else row["text"]
        metadata = {name: row[name] for name in ("title", "url") if row.get(name)}
        return Passage(str(row["id"]), str(text), metadata)
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{place} is no passage with id and text: {error!r}") from error


def _text(path: Path) -> IO[str]:
    if path.suffix == ".gz":
        return cast("IO[str]", gzip.open(path, "rt", encoding="utf-8", newline=""))
    try:
        return path.open(encoding="utf-8", newline="")
    except IsADirectoryError as error:
        raise ConfigError(f"{path} is a folder: give one file") from error
