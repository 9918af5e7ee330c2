"""Passages that take no side of a statement, found for it: most of what a retriever brings."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from perspective_rag import ConfigError, MissingDependency
from perspective_rag.addons import json_lines
from perspective_rag_train.data import LabelledPair
from perspective_rag_train.recipe import NeutralSource


def neutral_pairs(
    source: NeutralSource,
    pairs: Sequence[LabelledPair],
    files: Callable[[str], list[Path]],
    seed: int,
) -> list[LabelledPair]:
    """The pairs that a recipe's ``[[stage.neutral]]`` asks for; ``files`` finds a file by name.

    Statements and, for kinds without passages, documents are those of ``pairs``. Raises ConfigError
    where nothing fits, and CorpusError for a file that cannot be read.
    """
    rng = random.Random(f"{seed}-{source.kind}")
    chosen = [p for p in pairs if not source.from_sources or p.source in source.from_sources]
    if not chosen:
        raise ConfigError(f"no pair is of the sources {', '.join(source.from_sources)}")
    if source.kind == "random":
        found = _random(source, chosen, _passages(source, files), rng)
    elif source.kind == "retrieved":
        found = _retrieved(source, chosen, _passages(source, files), rng)
    else:
        found = _other_topic(source, chosen, rng)
    return [
        LabelledPair(
            _cut(document, source.max_characters),
            statement,
            "neutral",
            f"neutral by rule: {source.kind}",
            weight=source.weight,
            smoothing=source.smoothing,
        )
        for document, statement in found
    ]


def _random(
    source: NeutralSource,
    pairs: Sequence[LabelledPair],
    passages: Sequence[str],
    rng: random.Random,
) -> list[tuple[str, str]]:
    pool = [p.document for p in pairs]
    found = []
    for number in range(source.rows):
        # Arguments and, where they are given, passages in turn.
        own = not passages or number % 2
        document, pair = rng.choice(pool if own else passages), rng.choice(pairs)
        found.append((document, pair.statement))
    related = {(p.document, p.statement) for p in pairs}
    return [each for each in found if each not in related]


def _retrieved(
    source: NeutralSource,
    pairs: Sequence[LabelledPair],
    passages: Sequence[str],
    rng: random.Random,
) -> list[tuple[str, str]]:
    if not passages:
        raise ConfigError(f"no passage is left in {', '.join(source.passages)}")
    statements = _drawn([pair.statement for pair in pairs], source.statements, rng)
    found = []
    for statement, rows in zip(
        statements, _best(passages, statements, min(source.top, len(passages))), strict=True
    ):
        for row in rng.sample(rows, min(source.each, len(rows))):
            found.append((passages[row], statement))
    return found


def _other_topic(
    source: NeutralSource, pairs: Sequence[LabelledPair], rng: random.Random
) -> list[tuple[str, str]]:
    if not any(pair.topic for pair in pairs):
        raise ConfigError("neutral pairs of kind 'other topic' need pairs with a topic")
    arguments = [pair for pair in pairs if pair.label != "neutral" and pair.topic]
    topic = {pair.statement: pair.topic for pair in arguments}
    statements = _drawn(list(topic), source.statements, rng)
    found = []
    documents = [pair.document for pair in arguments]
    for statement, rows in zip(
        statements, _best(documents, statements, min(source.top, len(documents))), strict=True
    ):
        # One topic may go by two names: those that share more than a word are taken for one.
        silent = [
            arguments[row]
            for row in rows
            if arguments[row].topic != topic[statement]
            and len(_content(topic[statement]) & _content(arguments[row].topic)) <= 1
            and len(_content(statement) & _content(arguments[row].statement)) <= 1
        ]
        for pair in rng.sample(silent, min(source.each, len(silent))):
            found.append((pair.document, statement))
    return found


def _best(documents: Sequence[str], queries: Sequence[str], top: int) -> list[list[int]]:
    """For each query the rows of the ``top`` documents that BM25 ranks best."""
    try:
        import bm25s
    except ImportError as error:
        raise MissingDependency("local", "finding neutral passages with BM25") from error
    index = bm25s.BM25()
    index.index(
        bm25s.tokenize(list(documents), stopwords="en", show_progress=False), show_progress=False
    )
    tokens = bm25s.tokenize(list(queries), stopwords="en", show_progress=False)
    rows, _ = index.retrieve(tokens, k=top, show_progress=False)
    return [[int(row) for row in each] for each in rows]


def _passages(source: NeutralSource, files: Callable[[str], list[Path]]) -> list[str]:
    excluded = {
        _key(str(row.get("text") or row.get("document") or ""))
        for name in source.exclude
        for path in files(name)
        for _, row in json_lines(path)
    }
    return [
        row["text"]
        for name in source.passages
        for path in files(name)
        for _, row in json_lines(path)
        if len(row.get("text", "")) >= source.min_characters
        and (not source.passage_sources or row.get("source") in source.passage_sources)
        and _key(row["text"]) not in excluded
    ]


def _drawn(statements: Sequence[str], most: int, rng: random.Random) -> list[str]:
    distinct = sorted(set(statements))
    rng.shuffle(distinct)
    return distinct[:most]


def _key(text: str) -> str:
    """What is equal in two prints of one text: its words, lower case, the first 200 characters."""
    return " ".join(re.findall(r"\w+", text.lower()))[:200]


def _content(text: str) -> set[str]:
    return set(re.findall(r"[a-z]{4,}", text.lower()))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[:most].rsplit(" ", 1)[0]
