"""PIR tasks: a corpus, and queries that ask for one perspective on a root query.

Three formats are read:

* JSON lines (``.jsonl``, ``.jsonl.gz``), the format for a task of your own. Each line is
  ``{"kind": "doc", "id", "text"}`` or ``{"kind": "query", "text", "root", "perspective", "gold":
  [doc ids], "label"}``; ``label`` names the kind of perspective and may be left out, other keys
  are ignored;
* JSON (``.json``), as in the authors' demo: ``corpus``, ``queries``, ``source_queries`` (roots) and
  ``perspectives`` are lists of texts, ``key_ref`` maps the number of a query to its gold positions
  in the corpus, ``query_labels`` may be left out;
* a folder laid out like the published data sets (``benchmarks.pir.hub``).
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from perspective_rag import CorpusError

TASK_FILES = (".json", ".jsonl", ".jsonl.gz")


@dataclass(frozen=True, slots=True)
class PirQuery:
    """A query that asks for a perspective on its root; ``gold`` are positions in the corpus."""

    text: str
    root: str
    perspective: str
    label: str
    gold: frozenset[int]


@dataclass(frozen=True, slots=True)
class Task:
    """A corpus and its queries; ``fingerprint`` is a hash of all of it."""

    name: str
    corpus: tuple[str, ...]
    queries: tuple[PirQuery, ...]

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that change with any text, label or gold position."""
        rows = [[q.text, q.root, q.perspective, q.label, sorted(q.gold)] for q in self.queries]
        content = json.dumps([self.corpus, rows], ensure_ascii=True)
        return hashlib.sha256(content.encode()).hexdigest()[:32]

    @property
    def roots(self) -> dict[str, list[int]]:
        """For each root, in the order of first mention, the positions of its queries."""
        found: dict[str, list[int]] = {}
        for place, query in enumerate(self.queries):
            found.setdefault(query.root, []).append(place)
        return found

    def merged(self) -> Task:
        """Queries of equal text and root as one, with the gold of all of them.

        The published data repeats a query once for each of its gold entries; unmerged, a retriever
        that finds another of them is counted wrong.
        """
        found: dict[tuple[str, str], PirQuery] = {}
        for query in self.queries:
            key = query.text, query.root
            known = found.get(key, query)
            found[key] = replace(known, gold=known.gold | query.gold)
        return replace(self, queries=tuple(found.values()))

    def extended(self) -> Task:
        """The first query of every root also takes the gold of its siblings.

        What the published code does to the data while it builds the root queries.
        """
        queries = list(self.queries)
        for places in self.roots.values():
            union = frozenset().union(*(self.queries[place].gold for place in places))
            queries[places[0]] = replace(queries[places[0]], gold=union)
        return replace(self, queries=tuple(queries))

    def first_roots(self, count: int) -> Task:
        """The queries of the first ``count`` roots, on the whole corpus."""
        kept = set(list(self.roots)[:count])
        return replace(self, queries=tuple(q for q in self.queries if q.root in kept))

    def root_queries(self) -> Task:
        """One query for each root, without a perspective; any gold of the root will do."""
        queries = []
        for root, places in self.roots.items():
            union = frozenset().union(*(self.queries[place].gold for place in places))
            queries.append(PirQuery(root, root, "", "", union))
        return replace(self, queries=tuple(queries))

    def without(self, labels: Collection[str]) -> Task:
        """The task without the queries of these labels; raises CorpusError for an unknown label."""
        known = {query.label for query in self.queries}
        if unknown := sorted(set(labels) - known):
            raise CorpusError(
                f"{self.name} has no label {unknown[0]!r}; its labels: {', '.join(sorted(known))}"
            )
        return replace(self, queries=tuple(q for q in self.queries if q.label not in labels))


def read_task(path: Path, *, name: str | None = None) -> Task:
    """The task in a file; raises CorpusError naming the place of what cannot be read."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            data = stream.read()
        lines = data.splitlines()
    except (OSError, EOFError) as error:
        raise CorpusError(f"{path} cannot be read: {error}") from error
    if path.suffix == ".json":
        return task_from_json(_parsed(data, str(path)), name or path.stem, str(path))
    places = ((f"{path}:{number}", line) for number, line in enumerate(lines, start=1))
    rows = [(place, _parsed(line, place)) for place, line in places if line.strip()]
    return task_from_rows(rows, name or path.name.split(".")[0], str(path))


def is_task_file(path: Path) -> bool:
    """Whether a file's name and first line are those of a task."""
    if not path.name.endswith(TASK_FILES):
        return False
    if path.suffix == ".json":
        return True
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as stream:
        first = stream.readline()
    try:
        return bool(json.loads(first)["kind"] in ("doc", "query"))
    except (ValueError, KeyError, TypeError):
        return False


def task_from_json(values: Any, name: str, place: str) -> Task:
    """A task from the demo's dictionary of lists."""
    try:
        corpus: Sequence[str] = values["corpus"]
        texts, roots = values["queries"], values["source_queries"]
        perspectives, gold = values["perspectives"], values["key_ref"]
        labels = values.get("query_labels") or [""] * len(texts)
        columns = (texts, roots, perspectives, labels)
        if len({len(column) for column in columns}) != 1:
            raise ValueError(f"lists of {[len(column) for column in columns]} entries")
        queries = [
            PirQuery(text, root, perspective, str(label), _positions(gold[str(number)]))
            for number, (text, root, perspective, label) in enumerate(
                zip(*columns, strict=True), start=0
            )
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorpusError(f"{place} is not a PIR task: {error!r}") from error
    return checked_task(name, corpus, queries, place)


def task_from_rows(rows: Iterable[tuple[str, Mapping[str, Any]]], name: str, place: str) -> Task:
    """A task from (place, line) pairs of the JSON lines format."""
    corpus: list[str] = []
    position: dict[str, int] = {}
    asked: list[tuple[str, Mapping[str, Any]]] = []
    for where, row in rows:
        try:
            if row["kind"] == "doc":
                if str(row["id"]) in position:
                    raise ValueError(f"the id {row['id']!r} is there twice")
                position[str(row["id"])] = len(corpus)
                corpus.append(row["text"])
            elif row["kind"] == "query":
                asked.append((where, row))
            else:
                raise ValueError(f"unknown kind {row['kind']!r}")
        except (KeyError, TypeError, ValueError) as error:
            raise CorpusError(f"{where} is neither a doc nor a query: {error!r}") from error
    queries = []
    for where, row in asked:
        try:
            gold = frozenset(position[str(each)] for each in row["gold"])
            label = str(row.get("label") or "")
            queries.append(PirQuery(row["text"], row["root"], row["perspective"], label, gold))
        except (KeyError, TypeError, ValueError) as error:
            raise CorpusError(f"{where} is not a query on this corpus: {error!r}") from error
    return checked_task(name, corpus, queries, place)


def checked_task(name: str, corpus: Sequence[str], queries: Sequence[PirQuery], place: str) -> Task:
    """A task with its texts and gold positions checked; raises CorpusError."""
    if not corpus or not queries:
        raise CorpusError(f"{place} holds {len(corpus)} documents and {len(queries)} queries")
    for text in (*corpus, *(t for q in queries for t in (q.text, q.root, q.perspective))):
        if not isinstance(text, str):
            raise CorpusError(f"{place} holds {text!r} where a text is expected")
    for query in queries:
        if not query.gold or not all(0 <= each < len(corpus) for each in query.gold):
            raise CorpusError(
                f"{place}: the gold of {query.text[:80]!r} is {sorted(query.gold)}, which are not "
                f"positions in a corpus of {len(corpus)}"
            )
    return Task(name, tuple(corpus), tuple(queries))


def _positions(values: Any) -> frozenset[int]:
    return frozenset(int(each) for each in (values if isinstance(values, list) else [values]))


def _parsed(data: bytes, place: str) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise CorpusError(f"{place} is not JSON: {error}") from error
