"""What wrappers write into the metadata of what they return.

Flat keys with plain values, so that every store takes the documents back: many refuse a dictionary
in the metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from perspective_rag.errors import ConfigError
from perspective_rag.listing import State
from perspective_rag.results import RetrievalResult
from perspective_rag.types import Candidate
from perspective_rag.values import from_json

ScoreKind = Literal["similarity", "selection"]
"""What a returned document's score is: its similarity to the question, or its place in the choice.
"""

PREFIX = "perspective_rag_"
SIMILARITY, SELECTION, STATE, SUPPORTS, PERSPECTIVES, REPORT = ANNOTATIONS = tuple(
    PREFIX + name
    for name in ("similarity", "selection", "state", "supports", "perspectives", "report")
)

_PARTS = {
    "state": str,
    **dict.fromkeys(("scores", "support", "verdicts", "sides"), dict),
    **dict.fromkeys(("supports", "perspectives", "contradicts", "found_by"), list),
}


def check_score_kind(kind: Any) -> None:
    """Raises ConfigError for what is no ``ScoreKind``."""
    if kind not in ("similarity", "selection"):
        raise ConfigError(f'score_kind must be "similarity" or "selection", got {kind!r}')


def similarity_of(candidate: Candidate) -> float | None:
    """How near a candidate is to the question, higher is nearer; None where nothing says it.

    The score it came with, where it was given with one; else the cosine to the question; else what
    the store said for the question, or for the query that it is nearest to.
    """
    scores = candidate.scores
    for name in ("given", "relevance", "search:question"):
        if name in scores:
            return float(scores[name])
    return max((float(v) for name, v in scores.items() if name[:7] == "search:"), default=None)


def scores_of(
    result: RetrievalResult, kind: ScoreKind, *, given: Mapping[str, float] | None = None
) -> list[float | None]:
    """The score of every candidate, as ``kind`` says.

    Similarities are not in the order of the choice; None where one is not known. ``given`` has the
    source's own scores by passage id, for candidates of which nothing else is known. Where none is
    known, the selection's scores take their place: these never rise from one to the next.
    """
    own = given or {}
    similar = [
        own.get(candidate.passage.id) if value is None else value
        for candidate in result.candidates
        for value in [similarity_of(candidate)]
    ]
    if kind == "similarity" and any(value is not None for value in similar):
        return similar
    return list(_selection(result))


def _selection(result: RetrievalResult) -> list[float]:
    scores, least = [], float("inf")
    for candidate in result.candidates:
        least = min(least, float(candidate.scores.get("selected", candidate.score)))
        scores.append(least)
    return scores


def annotations_of(result: RetrievalResult) -> list[dict[str, str | float]]:
    """The metadata to add to each candidate.

    ``perspective_rag_similarity`` (absent where not known) and ``perspective_rag_selection`` are
    numbers; ``perspective_rag_state`` is the ``State``: "takes a side", "argues both ways", "takes
    no side", "not sorted" or "not judged"; ``perspective_rag_supports`` and
    ``perspective_rag_perspectives`` the ids and the texts of the perspectives under which it is
    listed, separated by "; "; ``perspective_rag_report`` is what ``report_in`` reads.
    """
    against: list[list[str]] = [[] for _ in result.candidates]
    for one, other in result.contradictions:
        against[one].append(result.candidates[other].passage.id)
        against[other].append(result.candidates[one].passage.id)
    told = [False] * len(against) if result.reported is None else result.reported.tolist()
    states, scores = result.coverage.states, _selection(result)
    return [
        _annotation(result, *each)
        for each in zip(result.candidates, scores, states, against, told, strict=True)
    ]


def _annotation(
    result: RetrievalResult,
    candidate: Candidate,
    selection: float,
    state: State,
    contradicts: list[str],
    reported: bool,
) -> dict[str, str | float]:
    supports = result.supports(candidate)
    report: dict[str, Any] = {
        "state": state,
        "sides": {each.id: each.text for each in result.perspectives},
        "scores": {name: float(value) for name, value in candidate.scores.items()},
        "support": {name: float(value) for name, value in candidate.support.items()},
        "supports": [perspective.id for perspective in supports],
        "perspectives": [perspective.text for perspective in supports],
        "verdicts": result.verdicts_on(candidate),
        "contradicts": contradicts,
        "reported": reported,
        "found_by": list(candidate.found_by),
        "proofs": {
            each.id: candidate.proofs[each.id].to_dict(candidate.passage)
            for each in supports
            if each.id in candidate.proofs
        },
    }
    similarity = similarity_of(candidate)
    return {
        **({} if similarity is None else {SIMILARITY: similarity}),
        SELECTION: selection,
        STATE: state,
        SUPPORTS: "; ".join(report["supports"]),
        PERSPECTIVES: "; ".join(report["perspectives"]),
        REPORT: json.dumps(report, ensure_ascii=False),
    }


def report_in(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The report in the metadata of a document or node that a wrapper returned.

    ``state`` (the ``State``), ``sides`` (every perspective of the question, id to text), ``scores``
    (of every stage), ``reported`` (whether it only tells what others say),
    ``support`` (perspective id to probability), ``supports`` (the ids
    of the perspectives under which it is listed), ``perspectives`` (their texts), ``verdicts``
    (perspective id to ``Verdict``), ``contradicts`` (ids of returned
    passages that are listed under a contradicting perspective), ``found_by`` (the queries that
    found it) and ``proofs`` (perspective id to ``start`` and ``end`` in the passage, in characters,
    and ``text``: the words that prove the support, where the judge quoted them). Raises ConfigError
    where there is none, and for what no wrapper has written.
    """
    if REPORT not in metadata:
        raise ConfigError(f"no report: the metadata has no {REPORT!r}, as no wrapper returned it")
    given = metadata[REPORT]
    try:
        report = from_json(given) if isinstance(given, str) else None
    except ValueError:
        report = None
    if not isinstance(report, dict) or not _is_report(report):
        raise ConfigError(f"{REPORT!r} holds no report, but {given!r:.80}")
    return report


def _is_report(report: Mapping[str, Any]) -> bool:
    if not all(isinstance(report.get(name), kind) for name, kind in _PARTS.items()):
        return False
    texts = [text for name, kind in _PARTS.items() if kind is list for text in report[name]]
    texts += [*report["verdicts"].values(), *report["sides"].values()]
    return all(isinstance(text, str) for text in texts)


def without_annotations(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata as it was before a wrapper added to it."""
    return {key: value for key, value in metadata.items() if key not in ANNOTATIONS}
