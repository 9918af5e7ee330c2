"""A small debate with known vectors, and what brute force makes of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from uuid import NAMESPACE_URL, uuid5

import numpy as np

from perspective_rag.maths.ranking import reciprocal_rank_fusion
from perspective_rag.maths.vectors import normalised
from perspective_rag.search.candidates import QUESTION_WEIGHT
from perspective_rag.testing.standins import HashEmbedder
from perspective_rag.types import Passage, Perspective, Query, Vector

QUESTION = "Should the old harbour become a car park?"
PERSPECTIVES = ("parking brings shoppers to the town", "the harbour is home to herons and boats")
CARRIED = tuple(f"{QUESTION} {each}" for each in PERSPECTIVES)
"""The queries of a request: the question with each perspective, beside the question itself."""
QUERIES = (QUESTION, *PERSPECTIVES, "who paid for the lighthouse")

_FOR = (
    "a car park at the harbour brings shoppers to the old town",
    "the harbour stands empty and parking is scarce",
    "shoppers drive away because the town has no parking",
    "cars that circle the streets foul the air of the town",
    "a car park pays for itself within six years",
    "traders ask for parking near the quay",
    "an empty harbour earns nothing for anyone",
)
_AGAINST = (
    "herons nest at the harbour and would lose their home",
    "fishing boats still land their catch at the old quay",
    "visitors come for the harbour and never for asphalt",
    "the bus already stops at the town square",
    "floods cover the quay twice a year and would drown the cars",
    "the harbour wall is listed and may not be broken",
    "children learn to sail between the old boats",
)
_NEITHER = (
    "the harbour was dug by hand long ago",
    "the council meets on the first monday of the month",
    "a lighthouse keeper paid for the bell",
    "tar and rope were sold in this street",
    "the tide table hangs beside the door",
    "salted fish went inland by mule",
    "a ferry crosses twice a day in summer",
    "the map shows three wells and a mill",
)


def name_of(key: str) -> str:
    """An id that every store accepts; some take UUIDs only."""
    return str(uuid5(NAMESPACE_URL, f"perspective-rag:{key}"))


SAMPLE = tuple(
    Passage(name_of(f"{side}-{number}"), text, {"side": side, "number": number})
    for side, texts in (("for", _FOR), ("against", _AGAINST), ("neither", _NEITHER))
    for number, text in enumerate(texts)
)
"""22 passages; ``metadata["side"]`` is "for", "against" or "neither"."""

_PLACE = {passage.id: index for index, passage in enumerate(SAMPLE)}


class Carrying:
    """An expander whose queries carry a perspective without being it."""

    def expand(self, question: str, perspectives: Sequence[Perspective]) -> list[Query]:
        """One query for each perspective."""
        return [Query(f"{question} {each.text}", each.id) for each in perspectives]


def vector(text: str) -> Vector:
    """The vector of a text, shape (64,), of length one."""
    return np.array(_vector(text))


@cache
def _vector(text: str) -> Vector:
    row: Vector = HashEmbedder().embed_passages([text])[0]
    return row


def cosine_of(name: str, query: Vector) -> float:
    """The cosine of a passage of the sample to a query."""
    return float(_vector(SAMPLE[_PLACE[name]].text) @ query / np.linalg.norm(query))


def fused_rankings(method: str, fetch_k: int) -> dict[str, float]:
    """The fused score of each passage under "pap" or "pap+", straight from the formulas.

    pap: c . q_p; pap+: cos(q_p, c_p), where x_p = x - (x . p^) p^. PIR, Section 3.1. Both are
    ranked to ``fetch_k`` and fused by RRF with the plain ranking of the question.
    """
    rows = np.array([_vector(passage.text) for passage in SAMPLE])
    rankings = [np.argsort(-(rows @ vector(QUESTION)), kind="stable")[:fetch_k]]
    for text, carried in zip(PERSPECTIVES, CARRIED, strict=True):
        query, p = vector(carried), normalised(vector(text)[None, :])[0]
        turned = query - (query @ p) * p
        left = rows if method == "pap" else normalised(rows - np.outer(rows @ p, p))
        rankings.append(np.argsort(-(left @ turned), kind="stable")[:fetch_k])
    names = [[SAMPLE[index].id for index in ranking] for ranking in rankings]
    return reciprocal_rank_fusion(names, weights=[QUESTION_WEIGHT, 1.0, 1.0])


def expect(holds: bool, problem: str) -> None:
    """Raises AssertionError; a plain assert would be gone under ``python -O``."""
    if not holds:
        raise AssertionError(problem)
