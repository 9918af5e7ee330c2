"""What of a result stands in the metadata of the documents and nodes that a wrapper returns."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from perspective_rag.errors import ConfigError
from perspective_rag.text import from_json
from perspective_rag.types import Candidate, RetrievalResult, State

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
    """Checks an option ``score_kind``.

    Args:
        kind: What was given.

    Raises:
        ConfigError: It is no ``ScoreKind``.
    """
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
    """Computes the score of every returned document, higher is better.

    Args:
        result: The result.
        kind: "similarity" = similarity to the question, not in the order of the choice; "selection"
            = score of the choice, which never rises from one to the next.
        given: The source's own scores by passage id, for candidates whose similarity nothing else
            says.

    Returns:
        A score for each candidate; None where its similarity is not known. Where no similarity is
        known at all, the scores of the choice.
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
    """Makes the metadata that a wrapper adds to each returned document.

    - ``perspective_rag_similarity``: similarity to the question, higher is nearer; absent where it
      is not known
    - ``perspective_rag_selection``: score of the choice
    - ``perspective_rag_state``: "takes a side", "argues both ways", "takes no side", "not sorted"
      or "not judged"
    - ``perspective_rag_supports``, ``perspective_rag_perspectives``: ids and texts of the
      perspectives under which it is listed, separated by "; "
    - ``perspective_rag_report``: all of it; ``report_in`` reads it

    Args:
        result: The result.

    Returns:
        The metadata for each candidate, in their order.
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


def report_of(result: RetrievalResult) -> dict[str, Any]:
    """Makes the report of a request for a framework's trace.

    Args:
        result: The result.

    Returns:
        ``result.to_dict()`` without the texts of the passages, which the documents have already.
    """
    report = result.to_dict()
    report["candidates"] = [
        {name: each[name] for name in ("id", "score", "support")} for each in report["candidates"]
    ]
    return report


def report_in(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the report in the metadata of a document or node that a wrapper returned.

    - ``state``: "takes a side", "argues both ways", "takes no side", "not sorted" or "not judged"
    - ``sides``: every perspective of the question, id to text
    - ``supports``, ``perspectives``: ids and texts of the perspectives under which it is listed
    - ``support``: perspective id to P(support)
    - ``verdicts``: perspective id to the verdict
    - ``proofs``: perspective id to the words that prove the support, where the judge quoted them:
      ``text``, and its ``start`` and ``end`` in the passage, in characters
    - ``contradicts``: ids of returned passages that are listed under a contradicting perspective
    - ``reported``: whether it only tells what others say
    - ``scores``: the score of every stage
    - ``found_by``: the queries that found it

    Args:
        metadata: The document's metadata.

    Returns:
        The report, with these keys.

    Raises:
        ConfigError: The metadata has no report, or one that no wrapper wrote.
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
    """Removes from metadata what a wrapper added.

    Args:
        metadata: The metadata of a returned document; it stays as it is.

    Returns:
        The metadata as it was before.
    """
    return {key: value for key, value in metadata.items() if key not in ANNOTATIONS}
