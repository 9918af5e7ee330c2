"""What the development sets say of a two-sided judge, by set, device and probability."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perspective_rag_train.two_sided.data import is_held_out, own_texts, read

Floats = NDArray[np.float64]
Reader = Callable[[Sequence[tuple[str, str, str]]], Floats]
"""(first, second, document) -> (n, 4) probabilities of first, second, neither, both."""


@dataclass(frozen=True, slots=True)
class Case:
    """A passage beside two statements with its label (S s N o O M) and what it is counted under."""

    first: str
    second: str
    document: str
    label: str
    kind: str = ""


def development(data: Path) -> dict[str, list[Case]]:
    """The development sets by name; own notes are only looked at, never trained on."""
    natural = read(data / "judge_dev" / "natural_sides_dev.jsonl.gz")
    written = [
        row
        for row in read(data / "judge_written" / "train.jsonl.gz")
        if is_held_out(row["question_id"]) and row["label"] != "N"
    ]
    sets = {
        "natural": [_case(row, row["source"]) for row in natural],
        "written": [_case(row, row["device"]) for row in written],
        "pools_dev": _pool(data / "judge_retrieved" / "pools_dev.jsonl.gz"),
        "pools_open": _pool(data / "judge_retrieved" / "pools_open_dev.jsonl.gz"),
        "notes": _notes(data / "own_notes"),
        "notes held out": [_case(row, row["topic"]) for row in own_texts("notes", held_out=True)],
        "devices held out": [
            _case(row, row["device"]) for row in own_texts("devices", held_out=True)
        ],
    }
    return sets


def _case(row: dict[str, Any], kind: str) -> Case:
    return Case(row["statement"], row["opposite"], row["document"], row["label"], kind)


def _pool(path: Path) -> list[Case]:
    lines = read(path)
    texts = {line["id"]: line["text"] for line in lines if line["kind"] == "doc"}
    return [
        Case(line["statement"], line["opposite"], texts[doc], label, line["id"])
        for line in lines
        if line["kind"] == "query"
        for doc, label in line["labels"].items()
    ]


def _notes(folder: Path) -> list[Case]:
    texts = {row["id"]: row["text"] for row in read(folder / "dev_docs.jsonl")}
    return [
        Case(row["for"], row["against"], texts[doc], label, row["collection"])
        for row in read(folder / "dev_questions.jsonl")
        for doc, label in row["labels"].items()
    ]


def auc(scores: Floats, positive: NDArray[np.bool_]) -> float:
    """The chance that a positive stands above a negative, ties counted half."""
    order = np.argsort(scores, kind="stable")
    values = scores[order]
    ranks = np.empty(len(scores))
    starts = np.r_[0, np.flatnonzero(np.diff(values)) + 1, len(values)]
    for low, high in pairwise(starts):
        ranks[order[low:high]] = (low + high + 1) / 2
    n = int(positive.sum())
    rest = len(scores) - n
    if not n or not rest:
        return float("nan")
    return float((ranks[positive].sum() - n * (n + 1) / 2) / (n * rest))


def figures(cases: Sequence[Case], probability: Floats) -> dict[str, Any]:
    """AUC for / against and the share right of side-taking passages; AUC of taking any side."""
    label = np.array([case.label for case in cases])
    own, other = np.isin(label, ["S", "s"]), np.isin(label, ["O", "o"])
    margin = np.log(probability[:, 0] + 1e-9) - np.log(probability[:, 1] + 1e-9)
    sided = own | other
    right = (margin > 0) == own
    by_kind: dict[str, list[bool]] = defaultdict(list)
    for case, is_sided, is_right in zip(cases, sided, right, strict=True):
        if is_sided and case.kind:
            by_kind[case.kind].append(bool(is_right))
    result: dict[str, Any] = {
        "auc": round(auc(margin[sided], own[sided]), 4),
        "right": round(float(right[sided].mean()), 4),
        "pairs": int(sided.sum()),
    }
    if (label == "N").any():
        taken = probability[:, 0] + probability[:, 1] + probability[:, 3]
        result["sided auc"] = round(auc(taken, label != "N"), 4)
        both = np.r_[probability[:, 0], probability[:, 1]]
        true = np.r_[own | (label == "M"), other | (label == "M")]
        result["support auc"] = round(auc(both, true), 4)
    if len(by_kind) <= 30:
        result["by kind"] = {k: [round(float(np.mean(v)), 2), len(v)] for k, v in by_kind.items()}
    return result


def assess(
    read_all: Reader, data: Path, *, at_most: int = 0, sets: Sequence[str] = ()
) -> dict[str, Any]:
    """The figures of every development set; at most ``at_most`` cases each (0: all)."""
    found = {}
    for name, cases in development(data).items():
        if sets and name not in sets:
            continue
        if at_most and len(cases) > at_most:
            sided = [case for case in cases if case.label != "N"]
            cases = random.Random(1).sample(sided, min(len(sided), at_most))
        probability = read_all([(case.first, case.second, case.document) for case in cases])
        found[name] = figures(cases, probability)
    return found
