"""Questions with passages and, where there are labels, the sides that each passage supports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.core.results import CHECKOUT
from perspective_rag import CorpusError, Passage
from perspective_rag.addons import json_lines
from perspective_rag_train.pools import read_pools

DEBATES = CHECKOUT / "examples" / "debates"
FORMATS = ("debates", "pools", "debateqa", "dqfs")

# Topics of which the sample debates say nothing: the right answer is none.
SILENT = (
    "Should the death penalty be abolished?",
    "Should human cloning be allowed?",
    "Is football more exciting than rugby?",
    "Should fishing quotas be raised?",
    "Should prisoners be allowed to vote?",
    "Is online dating better than meeting in person?",
    "Should the monarchy be abolished?",
    "Should doping be allowed in sport?",
    "Should wolves be reintroduced?",
    "Should museums return looted art?",
)


@dataclass(frozen=True, slots=True)
class Case:
    """A question; ``gold`` maps passage ids to the sides they support, by number in ``sides``.

    ``answerable``: whether the corpus has anything about it. Without labels ``gold`` is empty.
    """

    id: str
    question: str
    sides: tuple[str, ...] = ()
    gold: Mapping[str, frozenset[int]] = field(default_factory=dict)
    answerable: bool = True


@dataclass(frozen=True, slots=True)
class Data:
    """Passages of all cases together, which are what is searched, and the cases."""

    name: str
    passages: tuple[Passage, ...]
    cases: tuple[Case, ...]


def read_data(kind: str, path: Path | None) -> Data:
    """Data of one of ``FORMATS``; raises CorpusError for what is of another form."""
    if kind == "debates":
        return debates(path or DEBATES)
    if path is None:
        raise CorpusError(f"--format {kind} needs its file: --data PATH")
    made = {"pools": pools, "debateqa": debateqa, "dqfs": dqfs}[kind](path)
    if not made.cases:
        raise CorpusError(f"{path} holds no questions of the form {kind}")
    return made


def debates(folder: Path) -> Data:
    """The sample debates, and questions on which they are silent."""
    rows = [row for _, row in json_lines(folder / "questions.jsonl")]
    labels: dict[str, dict[str, frozenset[int]]] = {}
    sides = {row["id"]: [side["id"] for side in row["perspectives"]] for row in rows}
    for _, row in json_lines(folder / "labels.jsonl"):
        known = sides.get(row["question"], [])
        found = frozenset(known.index(side) for side in row["supports"])
        labels.setdefault(row["question"], {})[row["passage"]] = found
    cases = [
        Case(
            row["id"],
            row["question"],
            tuple(side["text"] for side in row["perspectives"]),
            labels.get(row["id"], {}),
        )
        for row in rows
    ]
    cases += [Case(f"silent-{n}", text, answerable=False) for n, text in enumerate(SILENT)]
    passages = tuple(
        Passage(row["id"], row["text"], {"title": row["title"]})
        for _, row in json_lines(folder / "passages.jsonl")
    )
    return Data("debates", passages, tuple(cases))


def pools(path: Path) -> Data:
    """Questions whose retrieved passages are labelled (``judge_pools`` reads the same files)."""
    made = read_pools(path)
    ids: dict[str, str] = {}
    cases = []
    for number, pool in enumerate(made):
        gold = {}
        for text, label in pool.passages:
            name = ids.setdefault(text, f"p{len(ids)}")
            sides = {"S": {0}, "s": {0}, "O": {1}, "o": {1}, "M": {0, 1}}.get(label, set())
            gold[name] = frozenset(sides)
        cases.append(Case(str(number), pool.question, (pool.statement, pool.opposite), gold))
    passages = tuple(Passage(name, text) for text, name in ids.items())
    return Data(path.name, passages, tuple(cases))


def debateqa(path: Path) -> Data:
    """DebateQA (Xu and Qi 2024), ``dataset/test.jsonl``: ``id``, ``question`` and
    ``partial_answers`` with ``point_of_view`` and ``explanation``.

    It has no documents: the explanations are the passages, each of which supports its own view.
    """
    passages: list[Passage] = []
    cases = []
    for place, row in json_lines(path):
        try:
            gold = {}
            views = tuple(_text(each["point_of_view"]) for each in row["partial_answers"])
            for number, each in enumerate(row["partial_answers"]):
                name = f"{row['id']}-{number}"
                passages.append(Passage(name, _text(each["explanation"])))
                gold[name] = frozenset({number})
            cases.append(Case(str(row["id"]), _text(row["question"]), views, gold))
        except (KeyError, TypeError) as error:
            raise CorpusError(f"{place}: not a line of DebateQA: {error!r}") from error
    return Data(path.name, tuple(passages), tuple(cases))


def dqfs(path: Path) -> Data:
    """DebateQFS (Balepur et al. 2025) as JSON lines: ``query`` and ``doc_texts``, each document a
    text or a list of its paragraphs. ``stances`` (true: yes, false: no; one a document), where a
    file has them, are the labels.
    """
    passages: list[Passage] = []
    cases = []
    for number, (place, row) in enumerate(json_lines(path)):
        try:
            gold: dict[str, frozenset[int]] = {}
            stances = row.get("stances") or [None] * len(row["doc_texts"])
            for document, (content, stance) in enumerate(
                zip(row["doc_texts"], stances, strict=True)
            ):
                parts = [content] if isinstance(content, str) else list(content)
                for part, text in enumerate(parts):
                    name = f"{number}-{document}-{part}"
                    passages.append(Passage(name, _text(text), {"source": f"{number}-{document}"}))
                    if stance is not None:
                        gold[name] = frozenset({0 if stance else 1})
            sides = ("yes", "no") if gold else ()
            cases.append(Case(str(number), _text(row["query"]), sides, gold))
        except (KeyError, TypeError, ValueError) as error:
            raise CorpusError(f"{place}: not a line of DebateQFS: {error!r}") from error
    return Data(path.name, tuple(passages), tuple(cases))


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"expected a text, got {value!r:.80}")
    return value
