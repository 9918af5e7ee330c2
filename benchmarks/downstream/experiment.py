"""An experiment from its task to its results: what both do alike."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.core import results
from benchmarks.core.command import publish
from benchmarks.core.table import Table
from benchmarks.downstream.asking import Request
from benchmarks.downstream.commands import conditions_of, reader_of, replies, retriever_of
from benchmarks.downstream.retrieving import passages_for, ranker
from benchmarks.pir.tasks import PirQuery, Task
from perspective_rag import Prompt
from perspective_rag.prompts import read_prompt
from perspective_rag_train.append_log import slug

Fields = Callable[[PirQuery, Sequence[int]], Mapping[str, Any]]
"""What a prompt's template is filled with, for a query and the passages it is given."""


@dataclass(frozen=True, slots=True)
class Answers:
    """What a reader said to the queries of ``task``, a sample of ``whole_task``.

    ``passages`` and ``replies`` are by condition, in the order of the queries.
    """

    whole_task: Task
    task: Task
    passages: Mapping[str, Sequence[tuple[int, ...]]]
    replies: Mapping[str, Sequence[str]]
    tokens: Mapping[str, int]
    reader: str
    retriever: str
    prompt_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A run of one experiment; ``prompt`` is its template, ``passages`` how many a query gets."""

    name: str
    prompt: Path
    passages: int
    options: argparse.Namespace
    given: Sequence[str]
    console: Console
    started: float = field(default_factory=time.perf_counter)

    def answers(self, whole_task: Task, task: Task, fields: Fields) -> Answers:
        """Retrieves for every query under every condition, and asks what is not known yet.

        Raises Refused, ConfigError for another run at work, and LLMError.
        """
        retriever = retriever_of(self.options)
        rank = ranker(task, retriever, self.options.cache)
        conditions = conditions_of(self.options)
        passages = {name: passages_for(task, name, self.passages, rank) for name in conditions}
        template = read_prompt(self.prompt)

        def prompt(query: PirQuery, places: Sequence[int]) -> Prompt:
            filled = template.fill(**fields(query, places))
            return replace(filled, max_tokens=self.options.max_tokens, seed=self.options.seed)

        requests = [
            Request(name, query.text, places, prompt(query, places))
            for name in conditions
            for query, places in zip(task.queries, passages[name], strict=True)
        ]
        with reader_of(self.options) as reader:
            rows = replies(
                requests,
                reader,
                self.options,
                benchmark=self.name,
                key={
                    "data": whole_task.fingerprint,
                    "llm": reader.llm.name,
                    "prompt": template.hash,
                },
                console=self.console,
            )
        said = [row["reply"] for row in rows]
        count = len(task.queries)
        return Answers(
            whole_task,
            task,
            passages,
            {name: said[i * count :][:count] for i, name in enumerate(conditions)},
            {
                "in": sum(row["prompt_tokens"] for row in rows),
                "out": sum(row["completion_tokens"] for row in rows),
            },
            reader.name,
            retriever.name,
            template.hash,
        )

    def publish(
        self,
        found: Answers,
        table: Callable[[Mapping[str, Any]], Table],
        measured: Mapping[str, Any],
        *,
        config: Mapping[str, Any] | None = None,
        judge: Mapping[str, Any] | None = None,
        failed: int = 0,
    ) -> None:
        """Writes and shows what was measured; ``failed`` counts losses besides empty replies."""
        empty = sum(not reply.strip() for some in found.replies.values() for reply in some)
        document = results.document(
            self.name,
            arguments=self.given,
            config={
                "llm": found.reader,
                "prompt": found.prompt_hash,
                "max_tokens": self.options.max_tokens,
                "passages": self.passages,
                "resamples": self.options.resamples,
                **(config or {}),
            },
            seed=self.options.seed,
            data={found.task.name: found.whole_task.fingerprint},
            embedder=found.retriever,
            judge=judge,
            seconds=time.perf_counter() - self.started,
            degradations=empty + failed,
            results={"task": found.task.name, **measured, "tokens": dict(found.tokens)},
        )
        reader = slug(found.reader.rpartition("/")[2])
        name = f"{self.name}-{slug(found.task.name)}-{reader}.json"
        out = self.options.out or results.RESULTS / name
        publish(document, out, self.console, shown=[table(document)])
