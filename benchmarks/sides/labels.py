"""Labels by reading: of (statement, passage) pairs, kept by passage id without any text of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.core.results import CHECKOUT
from benchmarks.sides.data import LABELS
from perspective_rag import ConfigError, CorpusError
from perspective_rag.addons import json_lines

TURNED = dict(zip(LABELS, "OoNsSM", strict=True))
"""What a label says of the opposite statement."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A pair to be read: ``opposite`` is the statement that the label, turned, says all about."""

    question_id: str
    statement: str
    passage_id: str
    opposite: str | None = None


class Labels:
    """Labels by statement and passage id; case, spaces and end punctuation do not matter."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], str] = {}

    def __len__(self) -> int:
        return len(self._found)

    def of(self, statement: str, passage_id: str) -> str | None:
        """The label of a pair, or None."""
        return self._found.get((_key(statement), passage_id))

    def add(self, statement: str, passage_id: str, label: str, opposite: str | None = None) -> None:
        """Keeps a label, and its turn for the opposite unless that was labelled on its own.

        Raises ConfigError for a label that is none.
        """
        if label not in tuple(LABELS):
            raise ConfigError(f"a label is one of {', '.join(LABELS)}, not {label!r}")
        self._found[_key(statement), passage_id] = label
        if opposite is not None:
            self._found.setdefault((_key(opposite), passage_id), TURNED[label])

    def lacking(self, wanted: Iterable[Wanted]) -> list[Wanted]:
        """The pairs without a label, each once; of a pair of opposites the first is enough."""
        found: list[Wanted] = []
        asked: set[tuple[str, str]] = set()
        for each in wanted:
            keys = [(_key(each.statement), each.passage_id)]
            if each.opposite is not None:
                keys.append((_key(each.opposite), each.passage_id))
            if keys[0] not in self._found and keys[0] not in asked:
                found.append(each)
                asked.update(keys)
        return found


def read_labels(paths: Sequence[Path]) -> Labels:
    """The labels of JSON lines files of ``{"statement", "passage_id", "label"}``, and optionally
    ``"opposite"`` and ``"question_id"``; a file that is not there yet holds none.

    Raises CorpusError for a line that is no label.
    """
    found = Labels()
    for path in paths:
        if not path.exists():
            continue
        for place, row in json_lines(path):
            try:
                found.add(
                    str(row["statement"]),
                    str(row["passage_id"]),
                    str(row["label"]),
                    row.get("opposite"),
                )
            except (KeyError, ConfigError) as error:
                raise CorpusError(f"{place} is no label: {error!r}") from error
    return found


def write_work(wanted: Sequence[Wanted], texts: Mapping[str, str], path: Path) -> None:
    """Writes the pairs with the passages' texts, to be read and labelled.

    Raises ConfigError for a path within the repository, where texts of the data do not belong.
    """
    if path.resolve().is_relative_to(CHECKOUT.resolve()):
        raise ConfigError(f"{path} is within the repository: texts of the data stay outside it")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        for each in wanted:
            row = {
                "question_id": each.question_id,
                "statement": each.statement,
                **({"opposite": each.opposite} if each.opposite is not None else {}),
                "passage_id": each.passage_id,
                "text": texts[each.passage_id],
                "label": "",
            }
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")


def take_work(work: Path, labels: Path) -> int:
    """Adds what was labelled in a work file to a file of labels, without the texts; how many.

    Raises CorpusError for a label that is none; nothing is added then.
    """
    known = read_labels([labels])
    lines = []
    for place, row in json_lines(work):
        if not row.get("label"):
            continue
        if row["label"] not in tuple(LABELS):
            raise CorpusError(f"{place}: a label is one of {', '.join(LABELS)}")
        if known.of(str(row["statement"]), str(row["passage_id"])) is None:
            kept = ("question_id", "statement", "opposite", "passage_id", "label")
            lines.append({name: row[name] for name in kept if name in row})
    with labels.open("a", encoding="utf-8") as stream:
        stream.writelines(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return len(lines)


def _key(statement: str) -> str:
    return " ".join(statement.casefold().split()).rstrip(".?! ")
