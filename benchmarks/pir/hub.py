"""The full PIR sets of the Hugging Face hub, and folders laid out like them.

Three files in BEIR's manner: ``corpus.jsonl`` ({"_id", "text", "title"?}), ``queries.jsonl``
({"_id", "text", "meta"}, where meta is JSON of {"src_query", "perspective"}) and
``qrels/test.jsonl`` ({"query-id", "corpus-id", "score"}; scores above 0 are gold).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.pir.tasks import PirQuery, Task, checked_task
from perspective_rag import ConfigError, CorpusError
from perspective_rag.addons import json_lines

HUB_PREFIX = "trumancai/perspective-information-retrieval-"
HUB_TASKS = ("perspectrum", "agnews", "story", "ambigqa", "allsides", "exfever")
FILES = ("corpus.jsonl", "queries.jsonl", "qrels/test.jsonl")

LABELS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ambigqa": (("", "perspective"),),
    "story": (("entities", "entity"), ("analogy", "analogy")),
    "agnews": (("relates to", "subtopic"), ("happened in", "location")),
    "allsides": (("left", "left"), ("right", "right"), ("center", "center")),
    "perspectrum": (("support", "support"), ("oppose", "undermine"), ("relates to", "general")),
    "exfever": (
        ("supports", "SUPPORT"),
        ("refutes", "REFUTE"),
        ("no information", "NOT ENOUGH INFO"),
    ),
}
"""task -> (words of the perspective, label): the sets carry no labels, their perspectives do."""


def hub_task(name: str, *, cache_dir: Path | None = None, revision: str | None = None) -> Task:
    """A full task by its short name (``HUB_TASKS``) or the id of a data set of the same layout.

    Downloaded once into the hub's own cache. Raises ConfigError without huggingface_hub,
    CorpusError when it cannot be had.
    """
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise ConfigError(
            "data sets of the hub need huggingface_hub: pip install 'perspective-rag[bench]'"
        ) from error
    source = name if "/" in name else HUB_PREFIX + name
    try:
        folder = snapshot_download(
            source,
            repo_type="dataset",
            allow_patterns=list(FILES),
            cache_dir=cache_dir,
            revision=revision,
        )
    except Exception as error:  # the hub's client has a class for each cause
        raise CorpusError(f"{source} cannot be had from the hub: {error}") from error
    return read_hub_folder(Path(folder), name=source.removeprefix(HUB_PREFIX))


def is_hub_folder(path: Path) -> bool:
    """Whether a folder holds the three files."""
    return all((path / file).is_file() for file in FILES)


def read_hub_folder(path: Path, *, name: str | None = None) -> Task:
    """The task in such a folder; raises CorpusError naming the line that cannot be read."""
    name = name or path.name
    corpus: list[str] = []
    position: dict[str, int] = {}
    gold: dict[str, set[int]] = {}
    asked: dict[str, tuple[str, str, str]] = {}
    for where, row in json_lines(path / "corpus.jsonl"):
        with _Line(where):
            position[str(row["_id"])] = len(corpus)
            corpus.append(row["text"])
    for where, row in json_lines(path / "queries.jsonl"):
        with _Line(where):
            meta = row["meta"]
            meta = json.loads(meta) if isinstance(meta, str) else meta
            asked[str(row["_id"])] = row["text"], meta["src_query"], meta["perspective"]
    for where, row in json_lines(path / "qrels/test.jsonl"):
        with _Line(where):
            if row["score"] > 0:
                asked[str(row["query-id"])]  # a judgement of an unknown query is an error
                gold.setdefault(str(row["query-id"]), set()).add(position[str(row["corpus-id"])])
    rules = LABELS.get(name, ())
    queries = [
        PirQuery(text, root, perspective, _label(perspective, rules), frozenset(gold.get(key, ())))
        for key, (text, root, perspective) in asked.items()
    ]
    return checked_task(name, corpus, queries, str(path))


def _label(perspective: str, rules: tuple[tuple[str, str], ...]) -> str:
    return next((label for words, label in rules if words in perspective), "")


class _Line:
    """Names the line in the error of what was wrong with it."""

    def __init__(self, where: str) -> None:
        self._where = where

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if isinstance(error, (KeyError, TypeError, ValueError)):
            raise CorpusError(f"{self._where} does not fit the layout: {error!r}") from error
