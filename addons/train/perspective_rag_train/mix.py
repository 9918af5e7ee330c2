"""The pairs of a recipe's stage, and what goes into the model's provenance about them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from perspective_rag import ConfigError
from perspective_rag.addons import file_sha256
from perspective_rag_train.data import LabelledPair, read_pairs
from perspective_rag_train.hard_cases import hard_pairs
from perspective_rag_train.neutrals import neutral_pairs
from perspective_rag_train.questions import Question, read_questions
from perspective_rag_train.recipe import PairSource, Stage

Facts = list[dict[str, Any]]


def stage_pairs(stage: Stage, root: Path, seed: int) -> tuple[list[LabelledPair], Facts]:
    """The stage's pairs with those neutral by rule; ``root`` is where its files are named from."""
    pairs, facts = source_pairs(stage.data, root, seed)
    made: list[LabelledPair] = []
    for source in stage.neutral:
        found = neutral_pairs(source, pairs, lambda name: files(root, name), seed)
        made += found
        facts.append(
            {
                "neutral by rule": source.kind,
                "rows": len(found),
                "licence": source.licence,
                "files": [
                    facts_of(path, root) for name in source.passages for path in files(root, name)
                ],
            }
        )
    for hard in stage.hard:
        found = hard_pairs(hard, pairs, seed)
        made += found
        facts.append({"made": hard.kind, "rows": len(found)})
    return pairs + made, facts


def stage_questions(stage: Stage, root: Path) -> tuple[list[Question], Facts]:
    """The stage's whole questions, and for each file its hash and what it holds."""
    paths = [path for name in stage.questions for path in files(root, name)]
    questions = read_questions(paths)
    if not paths:
        return [], []
    about = {
        "files": [facts_of(path, root) for path in paths],
        "questions": len(questions),
        "rows": sum(len(each.passages) for each in questions),
    }
    return questions, [about]


def source_pairs(
    sources: Sequence[PairSource], root: Path, seed: int
) -> tuple[list[LabelledPair], Facts]:
    """The pairs of several sources, and for each its files with hashes, its rows and licence."""
    pairs: list[LabelledPair] = []
    facts: Facts = []
    read: dict[str, list[LabelledPair]] = {}
    for source in sources:
        paths = files(root, source.file)
        if source.file not in read:
            read[source.file] = read_pairs(paths)
        own = _drawn(source, read[source.file], seed)
        if not own:
            raise ConfigError(f"{source.file}: no pair is left of sources {source.sources}")
        facts.append(
            {
                "files": [facts_of(path, root) for path in paths],
                "rows": len(own),
                "by source": dict(Counter(pair.source for pair in own).most_common()),
                "repeat": source.repeat,
                "licence": source.licence,
            }
        )
        pairs += own * source.repeat
    return pairs, facts


def files(root: Path, name: str) -> list[Path]:
    """The files of a name or pattern; raises ConfigError when there are none."""
    found = sorted(root.glob(name)) if not Path(name).is_absolute() else [Path(name)]
    if not found or not all(path.is_file() for path in found):
        raise ConfigError(f"{root / name} does not exist; expected a JSONL file, plain or .gz")
    return found


def facts_of(path: Path, root: Path) -> dict[str, Any]:
    """A file's name below ``root`` and its SHA-256."""
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    return {"file": name, "sha256": file_sha256(path)}


def _drawn(source: PairSource, pairs: Sequence[LabelledPair], seed: int) -> list[LabelledPair]:
    rng = random.Random(f"{seed}-{source.file}")
    by_source: dict[str, list[LabelledPair]] = {}
    for pair in pairs:
        if (not source.sources or pair.source in source.sources) and (
            pair.source not in source.without
        ):
            by_source.setdefault(pair.source, []).append(pair)
    unknown = (set(source.sources) | set(source.caps)) - {pair.source for pair in pairs}
    if unknown:
        raise ConfigError(f"{source.file} holds no source {', '.join(sorted(unknown))}")
    chosen: list[LabelledPair] = []
    for name, rows in by_source.items():
        most = source.caps.get(name, source.cap)
        chosen += rows if most is None or most >= len(rows) else rng.sample(rows, most)
    if source.rows is not None and source.rows < len(chosen):
        chosen = rng.sample(chosen, source.rows)
    return [_shaped(pair, source) for pair in chosen]


def _shaped(pair: LabelledPair, source: PairSource) -> LabelledPair:
    document = pair.document
    if source.max_characters is not None and len(document) > source.max_characters:
        document = document[: source.max_characters].rsplit(" ", 1)[0]
    smoothing = pair.smoothing if source.smoothing is None else source.smoothing
    weight = pair.weight * source.weight
    return replace(pair, document=document, smoothing=smoothing, weight=weight)
