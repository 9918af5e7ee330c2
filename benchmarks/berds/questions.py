"""Questions with their perspectives: the three sets of BERDS, or any of the same shape."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from perspective_rag import CorpusError, MissingDependency
from perspective_rag.addons import json_lines
from perspective_rag.extend import unknown_name

HUB = {
    "arguana": "timchen0618/Arguana",
    "kialo": "timchen0618/Kialo",
    "opinionqa": "timchen0618/OpinionQA",
}
SPLITS = ("dev", "test")
_SPLIT_NAMES = {"dev": ("dev", "validation", "val"), "test": ("test",)}
_QUESTION_FIELDS = ("question", "query", "input")
_PERSPECTIVE_FIELDS = ("perspectives", "gold_perspectives", "statements")
_GENERATED_FIELDS = ("generated_perspectives", "expansions")


@dataclass(frozen=True, slots=True)
class Question:
    """A question and its gold perspectives, which no retriever is shown.

    ``id`` is unique over all sets; ``generated`` are perspectives that a language model wrote
    without seeing the gold ones, for query expansion.
    """

    id: str
    dataset: str
    text: str
    perspectives: tuple[str, ...]
    generated: tuple[str, ...] = ()


def read_questions(path: Path) -> list[Question]:
    """The questions of a JSON lines file (``.gz`` or not), or of every such file in a folder.

    A line is ``{"id", "question", "perspectives": [texts], "generated_perspectives": [texts or
    {"name", "text"}]}``; the set is named after the file. Raises CorpusError with file and line
    for anything else, for a question without perspectives, and for a path without questions.
    """
    in_folder = [*path.glob("*.jsonl"), *path.glob("*.jsonl.gz")]
    files = sorted(in_folder) if path.is_dir() else [path]
    found: list[Question] = []
    for file in files:
        name = file.name.removesuffix(".gz").removesuffix(".jsonl")
        found += _questions(json_lines(file), name)
    if not found:
        raise CorpusError(f"{path} holds no questions: JSON lines, or a folder of such files")
    return found


def hub_questions(names: Sequence[str], split: str) -> list[Question]:
    """The published questions from the Hugging Face hub: ``names`` of ``HUB``, "dev" or "test".

    Raises MissingDependency without ``datasets``, CorpusError when a set cannot be loaded or lacks
    the split.
    """
    for name in names:
        if name not in HUB:
            raise unknown_name(name, HUB, "set of questions")
    try:
        import datasets
    except ImportError as error:
        purpose = "no questions were given (--questions), and reading those of the hub"
        raise MissingDependency("hub", purpose) from error
    found: list[Question] = []
    for name in names:
        try:
            loaded: Mapping[str, Any] = datasets.load_dataset(HUB[name])
        except Exception as error:  # offline, gone, or changed: many kinds of errors
            raise CorpusError(
                f"{HUB[name]} cannot be loaded from the hub: {type(error).__name__}: {error}; give "
                "--questions to use files of your own"
            ) from error
        found += hub_rows(loaded, name, split)
    return found


def hub_rows(
    loaded: Mapping[str, Iterable[Mapping[str, Any]]], name: str, split: str
) -> list[Question]:
    """The questions of one loaded set; "dev" is called "validation" in some sets."""
    if split not in _SPLIT_NAMES:
        raise unknown_name(split, SPLITS, "split")
    own = next((each for each in _SPLIT_NAMES[split] if each in loaded), None)
    if own is None:
        raise CorpusError(f"{HUB.get(name, name)} has no split {split!r}: {', '.join(loaded)}")
    rows = [(f"{name}/{own}[{number}]", dict(row)) for number, row in enumerate(loaded[own])]
    return _questions(rows, name)


def limited(
    questions: Sequence[Question], limit: int | None, *, seed: int | None = None
) -> list[Question]:
    """``limit`` questions, taken from the sets in turn; None keeps all.

    The first of each set, or with ``seed`` drawn from it without replacement. A larger limit keeps
    what a smaller one drew.
    """
    by_set = [[q for q in questions if q.dataset == name] for name in datasets_of(questions)]
    if seed is not None:
        for place, own in enumerate(by_set):
            random.Random(f"{seed} {place}").shuffle(own)
    turns = (each for round_ in zip_longest(*by_set) for each in round_ if each is not None)
    chosen = set(list(turns)[:limit])
    return [each for each in questions if each in chosen]


def held_out(questions: Sequence[Question], share: float) -> tuple[list[Question], list[Question]]:
    """(for tuning, for evaluation): about ``share`` of the questions are for tuning.

    The same questions whatever else is asked: which they are is a matter of the hash of their text.
    BERDS spares 25% (Table 1).
    """
    tuning = [q for q in questions if _place(q) < share]
    return tuning, [q for q in questions if _place(q) >= share]


def datasets_of(questions: Iterable[Question]) -> list[str]:
    """The names of the sets, in order of appearance."""
    return list(dict.fromkeys(each.dataset for each in questions))


def fingerprint(questions: Sequence[Question]) -> str:
    """16 hexadecimal digits that change with any question, perspective or expansion."""
    digest = hashlib.sha256()
    for each in questions:
        fields = [each.id, each.text, each.perspectives, each.generated]
        digest.update(json.dumps(fields).encode() + b"\n")
    return digest.hexdigest()[:16]


def _place(question: Question) -> float:
    digest = hashlib.sha256(question.text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def _questions(rows: Iterable[tuple[str, dict[str, Any]]], dataset: str) -> list[Question]:
    found: dict[str, Question] = {}
    for number, (place, row) in enumerate(rows):
        text = _field(row, _QUESTION_FIELDS, place)
        given = _field(row, _PERSPECTIVE_FIELDS, place)
        written = next((row[name] for name in _GENERATED_FIELDS if row.get(name)), ())
        perspectives = tuple(dict.fromkeys(_texts(given, place)))
        if not isinstance(text, str) or not text.strip() or not perspectives:
            raise CorpusError(f"{place}: the question is empty or has no perspectives")
        identity = f"{dataset}/{row.get('id', number)}"
        if identity in found:
            raise CorpusError(f"{place}: the id {row.get('id')!r} is there twice")
        found[identity] = Question(
            identity, dataset, text.strip(), perspectives, tuple(_texts(written, place))
        )
    return list(found.values())


def _field(row: Mapping[str, Any], names: Sequence[str], place: str) -> Any:
    for name in names:
        if name in row:
            return row[name]
    raise CorpusError(f"{place} has no field {names[0]!r}; its fields: {', '.join(row)}")


def _texts(given: Any, place: str) -> list[str]:
    if isinstance(given, Mapping):  # {name of the perspective: its text}
        given = list(given.values())
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise CorpusError(f"{place}: perspectives must be a list of texts, got {given!r:.80}")
    texts = [each.get("text") if isinstance(each, Mapping) else each for each in given]
    if not all(isinstance(text, str) for text in texts):
        raise CorpusError(f"{place}: a perspective is not a text: {texts!r:.120}")
    return [str(text).strip() for text in texts if str(text).strip()]
