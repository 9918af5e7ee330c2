"""Listed supports in a file for a person to mark, and the marks read back."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.sides.data import SIDES, PoolQuestion, Pools, Verdict, verdict
from benchmarks.sides.reading import Outcome, Shown
from benchmarks.sides.scoring import share
from perspective_rag import ConfigError, CorpusError
from perspective_rag.addons import json_lines

MARKS: dict[str, Verdict] = {
    "yes": "true",
    "true": "true",
    "opposes": "opposing",
    "opposing": "opposing",
    "no": "silent",
    "silent": "silent",
}
"""What a person may write, and what it means: it supports, it opposes, or it does neither."""


def listed_pairs(
    outcomes: Sequence[Outcome], questions: Sequence[PoolQuestion]
) -> list[tuple[PoolQuestion, Shown]]:
    """All listed supports of the two sides, with their questions."""
    return [
        (question, each)
        for outcome, question in zip(outcomes, questions, strict=True)
        for each in outcome.listed
        if each.side in SIDES
    ]


def write_sample(
    pairs: Sequence[tuple[PoolQuestion, Shown]], pools: Pools, path: Path, *, size: int, seed: int
) -> int:
    """Writes so many of the pairs, drawn without replacement, to be marked; how many there are.

    Neither labels nor probabilities are in the file, so that it is marked without them. Raises
    ConfigError for a file that exists: it may hold marks.
    """
    if path.exists():
        raise ConfigError(f"{path} exists already: marks are not written over, name another file")
    chosen = random.Random(seed).sample(list(pairs), min(size, len(pairs)))
    _write(chosen, pools, path, [{"mark": ""} for _ in chosen])
    return len(chosen)


def write_errors(pairs: Sequence[tuple[PoolQuestion, Shown]], pools: Pools, path: Path) -> int:
    """Writes the pairs that the labels call wrong, most probable first, to be read."""
    wrong = [
        (question, each)
        for question, each in pairs
        if verdict(question.labels[each.passage], each.side) != "true"
    ]
    wrong.sort(key=lambda pair: -(pair[1].probability or 0.0))
    extra = [
        {"label": question.labels[each.passage], "probability": each.probability}
        for question, each in wrong
    ]
    _write(wrong, pools, path, extra)
    return len(wrong)


def read_sample(path: Path, pools: Pools, *, seed: int) -> dict[str, Any]:
    """What the marks of a file say: the shares with intervals over questions, and how often the
    labels of the pools say the same of true and not.

    Raises CorpusError for a mark outside ``MARKS``, for a pair that is none of the pools' and where
    nothing is marked.
    """
    by_id = {each.id: each for each in pools.questions}
    marks: dict[str, Counter[str]] = {}
    agreed = waiting = 0
    for place, row in json_lines(path):
        mark = str(row.get("mark") or "").strip().lower()
        if not mark:
            waiting += 1
            continue
        if mark not in MARKS:
            raise CorpusError(f"{place}: the mark is one of {', '.join(MARKS)}, not {mark!r}")
        question = by_id.get(str(row.get("question_id")))
        label = question.labels.get(str(row.get("passage_id"))) if question else None
        if question is None or label is None or row.get("side") not in SIDES:
            raise CorpusError(f"{place} is no pair of {pools.name}")
        marks.setdefault(question.id, Counter())[MARKS[mark]] += 1
        agreed += (MARKS[mark] == "true") == (verdict(label, row["side"]) == "true")
    wholes = [counts.total() for counts in marks.values()]
    if not wholes:
        raise CorpusError(f"{path}: nothing is marked yet")
    kinds: tuple[Verdict, ...] = ("true", "opposing", "silent")
    return {
        "marked": sum(wholes),
        "not_marked": waiting,
        "agree_with_labels": agreed,
        **{
            kind: share([counts[kind] for counts in marks.values()], wholes, seed=seed)
            for kind in kinds
        },
    }


def _write(
    pairs: Sequence[tuple[PoolQuestion, Shown]],
    pools: Pools,
    path: Path,
    extra: Sequence[dict[str, Any]],
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        for (question, each), more in zip(pairs, extra, strict=True):
            row = {
                "question_id": question.id,
                "question": question.question,
                "side": each.side,
                "perspective": dict(zip(SIDES, question.statements, strict=True))[each.side],
                "passage_id": each.passage,
                "text": pools.passages[each.passage].text,
                **more,
            }
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
