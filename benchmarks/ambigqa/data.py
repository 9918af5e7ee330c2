"""Questions that are answered from one passage: a PIR task, and the answers to its queries.

Three sources are read:

* a folder with ``ambignq_dev.jsonl`` (AmbigNQ: ambiguous questions, what each may mean, and short
  answers) and ``condambigqa.jsonl.gz`` (fragments of Wikipedia found for some of these questions).
  The queries are the meanings, the roots the ambiguous questions, the corpus all the fragments;
  gold are those found for the question that hold an answer (distant supervision, as for open-domain
  question answering: Chen et al. 2017). Meanings that no fragment answers are left out;
* a PIR task in JSON lines (``benchmarks.pir.tasks``) whose queries also have ``answers``, a list of
  texts;
* a PIR task without answers, such as the demo's: ``answers`` are empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.ambigqa.scoring import contains
from benchmarks.downstream.retrieving import sample
from benchmarks.pir.extraction import tokens
from benchmarks.pir.tasks import PirQuery, Task, checked_task, read_task
from perspective_rag import CorpusError
from perspective_rag.addons import json_lines

QUESTIONS, FRAGMENTS = "ambignq_dev.jsonl", "condambigqa.jsonl.gz"

Answers = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AnswerTask:
    """``answers[i]`` are the accepted answers to ``task.queries[i]``, none where unknown."""

    task: Task
    answers: tuple[Answers, ...]

    @property
    def answered(self) -> bool:
        """Whether every query has an answer to compare with."""
        return all(self.answers)

    def sampled(self, count: int, *, seed: int) -> AnswerTask:
        """``count`` of the queries with an answer, or of all where none has one."""
        rows = list(zip(self.task.queries, self.answers, strict=True))
        some = sample([row for row in rows if row[1]] or rows, count, seed=seed)
        queries, answers = zip(*some, strict=True)
        return AnswerTask(Task(self.task.name, self.task.corpus, queries), answers)


def read_answer_task(source: Path) -> AnswerTask:
    """The task of a file or folder; raises CorpusError for what cannot be read."""
    if source.is_dir():
        return joined_task(
            [row for _, row in json_lines(source / QUESTIONS)],
            [row for _, row in json_lines(source / FRAGMENTS)],
        )
    task = read_task(source)
    if source.suffix == ".json":
        return AnswerTask(task, tuple(() for _ in task.queries))
    asked = [(place, row) for place, row in json_lines(source) if row["kind"] == "query"]
    return AnswerTask(task, tuple(_answers(row.get("answers", []), place) for place, row in asked))


def joined_task(
    questions: Sequence[Mapping[str, Any]], fragments: Sequence[Mapping[str, Any]]
) -> AnswerTask:
    """The task of AmbigNQ's questions on fragments found for them; see the module's text.

    Of several annotators the first one's meanings are taken. Equal fragments are one document.
    """
    corpus: dict[str, int] = {}
    queries: list[PirQuery] = []
    answers: list[Answers] = []
    try:
        meant = {_key(row["question"]): row["disambiguations"] for row in questions}
        for row in fragments:
            texts = [f"{each['title']}\n{each['text']}" for each in row["passages"]]
            places = [corpus.setdefault(text, len(corpus)) for text in texts]
            for meaning in (meant.get(_key(row["question"])) or [[]])[0]:
                accepted = tuple(dict.fromkeys(meaning["answers"]))
                gold = frozenset(
                    place
                    for place, text in zip(places, texts, strict=True)
                    if contains(text.partition("\n")[2], accepted)
                )
                if gold:
                    text = meaning["question"]
                    queries.append(PirQuery(text, row["question"], text, "meaning", gold))
                    answers.append(accepted)
    except (KeyError, TypeError, AttributeError) as error:
        raise CorpusError(f"not AmbigNQ questions with fragments: {error!r}") from error
    task = checked_task("ambignq", list(corpus), queries, f"{QUESTIONS} and {FRAGMENTS}")
    return AnswerTask(task, tuple(answers))


def _answers(values: Any, place: str) -> Answers:
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise CorpusError(f"{place}: answers are {values!r}, expected a list of texts")
    return tuple(values)


def _key(question: str) -> str:
    return " ".join(tokens(question))
