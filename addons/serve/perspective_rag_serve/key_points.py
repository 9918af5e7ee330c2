"""The arguments that several passages of a side share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from perspective_rag import RetrievalResult
from perspective_rag.addons import PACKAGED_FLOOR, cosine
from perspective_rag.extend import Embedder, Flow, call, degrade

MANY = 4
"""Passages of a side from which their arguments are put together."""

SAME = 0.8
"""Cosine of two sentences, by the packaged encoder, from which they are one argument. Of sampled
pairs of arguments for one side, 13 of 16 above it were, and 3 of 12 from 0.7 to 0.75.
"""


@dataclass(frozen=True, slots=True)
class KeyPoint:
    """An argument in the words of its strongest passage, and the places of all that make it."""

    text: str
    places: tuple[int, ...]


def key_points(
    embedder: Embedder | None,
    result: RetrievalResult,
    sentences: Mapping[tuple[int, str], str],
) -> Flow[dict[str, list[KeyPoint]]]:
    """By a perspective's id the arguments that two or more of its passages make, strongest first.

    Of perspectives with at least ``MANY`` listed passages, whose sentences (those of
    ``supporting_sentences``) are embedded: a sentence joins the first group to all of whose members
    its cosine, on the packaged encoder's scale, is at least ``SAME``. None where that scale is not
    known. An encoder that fails is recorded, and there are none.
    """
    scale = result.coverage.scale
    listed = {each.id: result.places("clear", each) for each in result.perspectives}
    marked = {
        name: [place for place in places if (place, name) in sentences]
        for name, places in listed.items()
        if len(places) >= MANY
    }
    texts = [sentences[place, name] for name, places in marked.items() for place in places]
    if embedder is None or scale is None or not texts:
        return {}
    counts = {"embedded_texts": len(texts)}
    reply = yield from call("embed", embedder.embed_passages, texts, counts=counts)
    if reply.error is not None:
        degrade("answer", "the arguments could not be put together", reply.error)
        return {}
    vectors = np.asarray(reply.value, dtype=float)
    near = scale.moved(cosine(vectors, vectors), PACKAGED_FLOOR)
    found: dict[str, list[KeyPoint]] = {}
    first = 0
    for name, places in marked.items():
        groups: list[list[int]] = []
        for row in range(first, first + len(places)):
            home = next((g for g in groups if (near[row, g] >= SAME).all()), None)
            if home is None:
                groups.append([row])
            else:
                home.append(row)
        found[name] = [
            KeyPoint(texts[group[0]], tuple(places[row - first] for row in group))
            for group in groups
            if len(group) > 1
        ]
        first += len(places)
    return {name: points for name, points in found.items() if points}
