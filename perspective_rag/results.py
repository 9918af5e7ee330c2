"""What comes out of a question, how it is shown in a line, and what of it stands in metadata."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from perspective_rag.errors import ConfigError
from perspective_rag.identity import voice_of
from perspective_rag.listing import ListingRule, RelevanceFloor, State, Verdict
from perspective_rag.text import printable
from perspective_rag.types import Candidate, Kind, Matrix, Passage, Perspective, Trace
from perspective_rag.validation import from_json, json_ready

WIDTH = 100
_READ = 50 * WIDTH  # characters of a text that are looked at for its line


def result_in_a_line(result: Any) -> str:
    """``RetrievalResult('Should ...?', 5 passages, 2 of 2 perspectives covered)``."""
    parts = [repr(shortened(result.question, 60)), _number_of(len(result.candidates), "passage")]
    if result.coverage.judged:
        parts.append(_coverage_in_words(result))
    elif result.perspectives:
        parts.append(f"{_number_of(len(result.perspectives), 'perspective')} not judged")
    if result.trace.degradations:
        parts.append(_number_of(len(result.trace.degradations), "degradation"))
    return f"RetrievalResult({', '.join(parts)})"


def result_in_lines(result: Any) -> str:
    """A line for the question, each perspective, passage and degradation."""
    lines = [result.question]
    state: dict[str, str] = {}
    if result.coverage.judged:
        for word in ("covered", "missing", "unjudged"):
            state |= {each.id: word for each in getattr(result.coverage, word)}
    for each in result.perspectives:
        lines.append(f"  [{each.id}] {each.text} ({state.get(each.id, 'not judged')})")
    if result.caution:
        lines.append(f"  {result.caution}")
    if result.says_nothing:
        lines.append("  no passage is about the question")
    states = result.coverage.states
    for number, (candidate, state) in enumerate(
        zip(result.candidates, states, strict=True), start=1
    ):
        sides = ", ".join(each.id for each in result.supports(candidate))
        said = f"[{sides or state}] " if result.perspectives else ""
        lines.append(f"{number:2}. {said}{candidate.passage.text}")
    for degradation in result.trace.degradations:
        lines.append(f"  degraded, {degradation.stage}: {degradation.message}")
    return "\n".join(shortened(printable(line[:_READ]), WIDTH, indent=True) for line in lines)


def pipeline_in_a_line(pipeline: Any) -> str:
    """``PerspectivePipeline(FaissStore, judge=LLMJudge, options=PipelineOptions(k=6))``."""
    components = {name: getattr(pipeline, name) for name in ("embedder", "judge", "extractor")}
    parts = [type(pipeline.store).__name__]
    parts += [f"{name}={type(c).__name__}" for name, c in components.items() if c is not None]
    return f"{type(pipeline).__name__}({', '.join(parts)}, options={pipeline.options!r})"


def shortened(text: str, length: int, *, indent: bool = False) -> str:
    """A text in one line of at most ``length`` characters; ``indent`` keeps the spaces before."""
    before = text[: len(text) - len(text.lstrip())] if indent else ""
    line = before + " ".join(text.split())
    return line if len(line) <= length else line[: length - 3].rstrip() + "..."


def _coverage_in_words(result: Any) -> str:
    total = len(result.coverage.perspectives)
    noun = "perspective" if total == 1 else "perspectives"
    return f"{len(result.coverage.covered)} of {total} {noun} covered"


def _number_of(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@dataclass(frozen=True, slots=True, eq=False)
class Coverage:
    """Which perspectives a set of passages supports: those under which any passage is listed.

    Attributes:
        perspectives: The perspectives of the question.
        support: P(support) in [0, 1], shape (n_passages, n_perspectives), rows in the order of the
            passages; NaN where the judge gave no answer.
        rule: When a passage is listed.
        contradicts: Which perspectives contradict each other, shape (n_perspectives,
            n_perspectives). None: none.
        related: Which passages are about the question, shape (n_passages,). None: all.
        scale: What the encoder's cosines mean (``Calibration.scale``). None: unknown.
        judged: False where no judge looked at the passages, or there was no perspective to look
            for.
    """

    perspectives: tuple[Perspective, ...]
    support: Matrix
    rule: ListingRule
    contradicts: NDArray[np.bool_] | None = None
    related: NDArray[np.bool_] | None = None
    scale: RelevanceFloor | None = None
    judged: bool = True

    @property
    def threshold(self) -> float:
        """The P(support) from which a passage is listed."""
        return self.rule.threshold

    @property
    def verdicts(self) -> NDArray[np.str_]:
        """The ``Verdict`` on every passage and perspective, shape (n_passages, n_perspectives)."""
        return self.rule.verdicts(self.support, self.contradicts)

    @property
    def listed(self) -> NDArray[np.bool_]:
        """Which passage is listed under which perspective, shape (n_passages, n_perspectives)."""
        return np.asarray(self.verdicts == "clear")

    @property
    def states(self) -> tuple[State, ...]:
        """How each passage stands to the perspectives, in the order of the passages.

        "takes a side", "argues both ways", "takes no side", "not sorted" (the judge cannot tell) or
        "not judged".
        """
        if not self.judged or not self.perspectives:
            unjudged: list[State] = ["not judged"] * len(self.support)
            return tuple(unjudged)
        verdicts = self.verdicts
        states = np.full(len(verdicts), "not sorted", dtype="<U16")
        silent = (verdicts == "silent").all(axis=1)
        states[silent if self.related is None else silent & self.related] = "takes no side"
        states[(verdicts == "mixed").any(axis=1)] = "argues both ways"
        states[(verdicts == "clear").any(axis=1)] = "takes a side"
        found: list[State] = states.tolist()
        return tuple(found)

    @property
    def covered(self) -> tuple[Perspective, ...]:
        """Perspectives that at least one passage supports."""
        found = list(map(bool, np.atleast_1d(self.listed.any(axis=0))))
        return tuple(p for p, there in zip(self.perspectives, found, strict=True) if there)

    @property
    def missing(self) -> tuple[Perspective, ...]:
        """Perspectives that were judged on every passage about the question and found in none."""
        return self._uncovered(with_gaps=False)

    @property
    def unjudged(self) -> tuple[Perspective, ...]:
        """Perspectives not found so far, with passages that could not be judged."""
        return self._uncovered(with_gaps=True)

    @property
    def complete(self) -> bool:
        """True when the passages were judged and every perspective is covered."""
        return self.judged and len(self.covered) == len(self.perspectives)

    @property
    def next_queries(self) -> tuple[str, ...]:
        """What to search for next: the text of every perspective that is not covered.

        Empty when a research agent can stop.
        """
        covered = {each.id for each in self.covered}
        return tuple(each.text for each in self.perspectives if each.id not in covered)

    @property
    def contradicting(self) -> NDArray[np.bool_]:
        """Which passages are listed under perspectives that contradict each other.

        Shape (n_passages, n_passages).
        """
        listed = self.listed.astype(int)
        if self.contradicts is None:
            return np.zeros((len(listed), len(listed)), dtype=bool)
        return np.asarray(listed @ self.contradicts.astype(int) @ listed.T > 0)

    def _uncovered(self, *, with_gaps: bool) -> tuple[Perspective, ...]:
        gaps = np.isnan(self.support)
        if self.related is not None and self.related.any():  # else nothing was read
            gaps = gaps & self.related[:, None]
        unknown = list(map(bool, np.atleast_1d(gaps.any(axis=0))))
        found = list(map(bool, np.atleast_1d(self.listed.any(axis=0))))
        return tuple(
            p
            for p, gap, there in zip(self.perspectives, unknown, found, strict=True)
            if not there and bool(gap) == with_gaps
        )

    def to_dict(self) -> dict[str, Any]:
        """The coverage as JSON-ready values; NaN becomes None."""
        return {
            "judged": self.judged,
            "rule": asdict(self.rule),
            "covered": [p.id for p in self.covered],
            "missing": [p.id for p in self.missing],
            "unjudged": [p.id for p in self.unjudged],
            "next_queries": list(self.next_queries),
            "support": [[None if math.isnan(v) else float(v) for v in row] for row in self.support],
            "verdicts": self.verdicts.tolist(),
            "states": list(self.states),
        }


@dataclass(frozen=True, slots=True, eq=False)
class RetrievalResult:
    """The passages for a question, best first, with proof of which perspective each supports.

    ``print(result)`` shows it in a few lines.

    Attributes:
        question: The question as it was asked, in single spaces.
        candidates: The chosen passages with their scores, best first.
        perspectives: The perspectives of the question.
        coverage: Which of them the passages support. ``coverage.judged`` is False where no judge
            looked at the passages or the question invites no perspectives; None, given for it, says
            so.
        trace: What the request did and cost, and what failed.
        reading: Tells a person how the question was understood ("I understood: ..."); empty where
            nobody read it.
        kind: What sort of question it is.
        related: Which candidates are about the question, shape (n_candidates,). None: not known.
        caution: Tells a person what a question in another language than English gets; empty:
            nothing to say.
        reported: Which candidates, by their wording, only tell what others say and take no side
            themselves, shape (n_candidates,). None: nothing was judged.
        says_nothing: True where the corpus holds nothing about the question: no passage is near to
            it, and none holds half of the words of its topic.
    """

    question: str
    candidates: tuple[Candidate, ...]
    perspectives: tuple[Perspective, ...]
    coverage: Coverage
    trace: Trace
    reading: str = ""
    kind: Kind = "open"
    related: NDArray[np.bool_] | None = None
    caution: str = ""
    reported: NDArray[np.bool_] | None = None
    says_nothing: bool = False

    __repr__ = result_in_a_line
    __str__ = result_in_lines

    def __post_init__(self) -> None:
        if self.coverage is None:
            unknown = np.full((len(self.candidates), len(self.perspectives)), np.nan)
            rule = ListingRule(0.5, 0.5)
            coverage = Coverage(
                self.perspectives, unknown, rule, related=self.related, judged=False
            )
            object.__setattr__(self, "coverage", coverage)

    @property
    def passages(self) -> list[Passage]:
        """The passages alone, best first."""
        return [candidate.passage for candidate in self.candidates]

    def supporting(self, perspective: Perspective) -> list[Candidate]:
        """The candidates listed as support of a perspective.

        Args:
            perspective: One of the result's.

        Returns:
            The candidates, strongest support first.

        Raises:
            ConfigError: The perspective is not the result's.
        """
        return self.with_verdict("clear", perspective)

    def with_verdict(self, verdict: Verdict, perspective: Perspective) -> list[Candidate]:
        """The same as ``places``, but the candidates themselves."""
        return [self.candidates[place] for place in self.places(verdict, perspective)]

    def places(self, verdict: Verdict, perspective: Perspective) -> list[int]:
        """Where the candidates with a verdict on a perspective stand in ``candidates``.

        Args:
            verdict: "clear", "leaning", "mixed", "silent" or "unsorted".
            perspective: One of the result's.

        Returns:
            Their indices, strongest support first.

        Raises:
            ConfigError: The perspective is not the result's.
        """
        ids = [each.id for each in self.perspectives]
        if perspective.id not in ids:
            raise ConfigError(f"the result has the perspectives {ids}, not {perspective.id!r}")
        column = self.coverage.verdicts[:, ids.index(perspective.id)]
        found = np.flatnonzero(column == verdict).tolist()
        strength = [c.support.get(perspective.id, 0.0) for c in self.candidates]
        return sorted(found, key=lambda place: -strength[place])

    def supports(self, candidate: Candidate) -> list[Perspective]:
        """The perspectives under which a candidate is listed.

        Args:
            candidate: One of the result's own.

        Returns:
            The perspectives, in the result's order.

        Raises:
            ConfigError: The candidate is not the result's own.
        """
        verdicts = self.verdicts_on(candidate)
        return [each for each in self.perspectives if verdicts.get(each.id) == "clear"]

    def verdicts_on(self, candidate: Candidate) -> dict[str, Verdict]:
        """The verdicts on a candidate.

        Args:
            candidate: One of the result's own; an equal copy is not.

        Returns:
            The verdict by perspective id; empty where nothing was judged.

        Raises:
            ConfigError: The candidate is not the result's own.
        """
        if not self.coverage.judged:
            return {}
        # Not by equality: two passages without ids may be equal, and stand on different sides.
        place = next((i for i, own in enumerate(self.candidates) if own is candidate), None)
        if place is None:
            raise ConfigError(f"not a candidate of this result: {candidate!r:.200}")
        row = self.coverage.verdicts[place].tolist()
        return {each.id: verdict for each, verdict in zip(self.perspectives, row, strict=True)}

    @property
    def mixed(self) -> list[Candidate]:
        """The candidates that argue for and against, in their order."""
        rows = (self.coverage.verdicts == "mixed").any(axis=1)
        return [c for c, there in zip(self.candidates, rows, strict=True) if there]

    @property
    def contradictions(self) -> list[tuple[int, int]]:
        """The places of candidates that contradict each other by the judge, each pair once."""
        pairs = np.argwhere(np.triu(self.coverage.contradicting, 1)).tolist()
        return [(first, second) for first, second in pairs]

    @property
    def single_source(self) -> tuple[Perspective, ...]:
        """The perspectives that are covered by passages of one author, address or debate alone.

        Only where that of every passage is known (``identity.voice_of``).
        """
        voices = [
            {voice_of(candidate.passage) for candidate in self.supporting(each)}
            for each in self.perspectives
        ]
        pairs = zip(self.perspectives, voices, strict=True)
        return tuple(p for p, own in pairs if len(own) == 1 and None not in own)

    def to_dict(self) -> dict[str, Any]:
        """The whole result as JSON-ready values."""
        return {
            "question": self.question,
            "kind": self.kind,
            "reading": self.reading,
            "caution": self.caution,
            "says_nothing": self.says_nothing,
            "related": None if self.related is None else self.related.tolist(),
            "reported": None if self.reported is None else self.reported.tolist(),
            "perspectives": json_ready([asdict(p) for p in self.perspectives]),
            "candidates": [c.to_dict() for c in self.candidates],
            "coverage": self.coverage.to_dict(),
            "contradictions": [list(pair) for pair in self.contradictions],
            "single_source": [each.id for each in self.single_source],
            "trace": self.trace.to_dict(),
        }


Checked = Literal["", "quoted", "side", "supported"]


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of an answer and the ids of the passages it rests on.

    Attributes:
        text: The sentence.
        citations: Ids of the passages it rests on.
        perspective: Id of the perspective it speaks for. None: it speaks for none.
        reported: True where the sentence tells what somebody says ("critics say ..."), and does not
            say it itself.
        verified: True where ``checked`` is "side" or "supported", False where it was found not to
            hold, else None.
        checked: What was checked. "quoted": its words stand in the passage it cites; "side": they
            do, and the judge, which read them alone, lists them under its perspective; "supported":
            the judge finds that a cited passage supports it; "": nothing.
        quote: The words of a cited passage that prove it, as a language model copied them; empty
            where none were given. Words that stand in no cited passage make ``verified`` False.
    """

    text: str
    citations: tuple[str, ...]
    perspective: str | None = None
    reported: bool = False
    verified: bool | None = None
    checked: Checked = ""
    quote: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """Sentences that each cite a passage, and the perspectives under which no passage is listed.

    Attributes:
        claims: The sentences, in the order of the perspectives.
        unsupported: Perspectives that no passage supports and no sentence speaks for.
        trace: What the answer cost, and what failed.
        summary: How the passages stand, in a sentence ("3 for, 2 against, 4 not sorted; all from
            two sources").
        strength: By the id of a covered perspective, on how much it rests ("2 passages from one
            source").
        missing: What a language model found that no passage says.
    """

    claims: tuple[Claim, ...]
    unsupported: tuple[Perspective, ...] = ()
    trace: Trace = field(default_factory=Trace)
    summary: str = ""
    strength: Mapping[str, str] = field(default_factory=dict, hash=False)
    missing: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON-ready values."""
        return {
            "summary": self.summary,
            "missing": list(self.missing),
            "claims": [asdict(c) for c in self.claims],
            "unsupported": [p.id for p in self.unsupported],
            "strength": dict(self.strength),
            "trace": self.trace.to_dict(),
        }


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
