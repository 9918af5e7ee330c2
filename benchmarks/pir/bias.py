"""What a retriever prefers when it is asked neutrally: PIR Tables 3 and 10, Figures 3, 5 and 6."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.pir.metrics import top_documents
from benchmarks.pir.tasks import Task
from perspective_rag.extend import Matrix

NEUTRAL_LABELS = frozenset({"general"})
"""Labels of queries that take no side; their gold says nothing about a preference."""


def label_shares(root_scores: Matrix, task: Task, k: int) -> dict[str, Any]:
    """Which perspectives the root queries find: shares of the gold documents among their first k.

    Each gold document found counts once for the label that it is gold for under that root.
    ``shares`` of what was found and ``expected`` of what there is to find sum to 1 each; ``found``
    is how many. ``root_scores`` has shape (n_roots, n_corpus), in the order of ``task.roots``.
    """
    found: Counter[str] = Counter()
    there: Counter[str] = Counter()
    tops = top_documents(root_scores, k)
    for top, places in zip(tops, task.roots.values(), strict=True):
        by_label: dict[str, set[int]] = {}
        for query in (task.queries[place] for place in places):
            if query.label not in NEUTRAL_LABELS:
                by_label.setdefault(query.label, set()).update(query.gold)
        for label, gold in by_label.items():
            there[label] += len(gold)
            found[label] += len(gold.intersection(top.tolist()))
    return {"shares": _shares(found), "expected": _shares(there), "found": found.total()}


def _shares(counts: Counter[str]) -> dict[str, float]:
    total = counts.total()
    return {label: counts[label] / total if total else 0.0 for label in sorted(counts)}


_COUNTRY = re.compile(r"\bhappened in (?P<country>.+?)\s*$")


@dataclass(frozen=True, slots=True)
class Countries:
    """Where the articles of a news task and its location queries are from.

    ``of_document[i]`` is a position in ``names`` or -1 (unknown): the country of the location query
    that the document is gold for, else the one of ``names`` that its text names most often.
    ``asked`` maps location queries to positions in ``names``.
    """

    names: tuple[str, ...]
    of_document: NDArray[np.int64]
    asked: Mapping[int, int]


def countries(task: Task) -> Countries | None:
    """The countries of a task whose perspectives end in "happened in COUNTRY"; None for others."""
    asked: dict[int, str] = {}
    for place, query in enumerate(task.queries):
        if match := _COUNTRY.search(query.perspective):
            asked[place] = match["country"]
    if not asked:
        return None
    names = tuple(sorted(set(asked.values())))
    number = {name: place for place, name in enumerate(names)}
    of_document = np.array([_named(text, names) for text in task.corpus], dtype=np.int64)
    for place, name in asked.items():
        of_document[sorted(task.queries[place].gold)] = number[name]
    return Countries(names, of_document, {place: number[name] for place, name in asked.items()})


def _named(text: str, names: Sequence[str]) -> int:
    """The name found most often in a text, the first of equals; -1 for none."""
    counts = [len(re.findall(rf"\b{re.escape(name)}\b", text)) for name in names]
    best = int(np.argmax(counts))
    return best if counts[best] else -1


def country_counts(scores: Matrix, known: Countries, k: int = 5) -> NDArray[np.int64]:
    """How many of the first k documents of all queries are from each country (Figure 5).

    Shape (n_countries + 1,), the last entry for unknown ones.
    """
    tops = np.concatenate(list(top_documents(scores, k)))
    return np.bincount(
        known.of_document[tops] % (len(known.names) + 1), minlength=len(known.names) + 1
    )


def country_portions(scores: Matrix, known: Countries, k: int = 5) -> NDArray[np.float64]:
    """For queries that ask for country i, the share of their first k from country j (Figure 6).

    Shape (n_countries, n_countries + 1), rows sum to 1, the last column is unknown origin; the
    diagonal is Figure 3's share from the desired country.
    """
    size = len(known.names)
    portions = np.zeros((size, size + 1))
    places = sorted(known.asked)
    for place, top in zip(places, top_documents(scores[places], k), strict=True):
        portions[known.asked[place]] += np.bincount(
            known.of_document[top] % (size + 1), minlength=size + 1
        )
    sums = portions.sum(axis=1, keepdims=True)
    return portions / np.where(sums > 0, sums, 1.0)
