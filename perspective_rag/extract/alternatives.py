"""The alternatives that a question names, by rule."""

from __future__ import annotations

import re

from perspective_rag.extract.english import AUXILIARIES, BASE_VERBS, predicate_start, upper_first

_BEST = r"(?:best|better|worse|worst|more \w+|most \w+|less \w+|least \w+|\w+er|\w+est)"
_WHICH_FIRST = re.compile(
    rf"^(?:which|what|who)\b(?P<thing>.*?)\b(?:is|are|was|were|would be|should be|makes?|works?)\b"
    rf".*?(?P<comparison>{_BEST})\b(?P<rest>.*?)[:,;–-]\s*(?P<list>.+?)\??$",
    re.IGNORECASE,
)
_LIST_FIRST = re.compile(
    rf"^(?P<list>.+?)\s*[:;,–-]\s*(?:which|what|who)\b(?:.*?)(?P<comparison>{_BEST})\b(?P<rest>.*?)\??$",
    re.IGNORECASE,
)
_COPULA = re.compile(
    r"^(?P<be>is|are|was|were)\s+(?P<left>.+?)\s+or\s+(?P<right>.+?)\??$", re.IGNORECASE
)
_MODAL = re.compile(
    r"^(?P<modal>should|must|can|could|will|would|do|does)\s+(?P<left>.+?),?\s+or\s+(?P<right>.+?)\??$",
    re.IGNORECASE,
)
_OR_NOT = re.compile(r",?\s+or\s+(?:not|no)\??$", re.IGNORECASE)
_SPLIT = re.compile(
    r"\s*,\s*(?:or|and)\s+|\s*,\s*|\s+or\s+|\s+vs\.?\s+|\s+versus\s+", re.IGNORECASE
)


def named_alternatives(question: str) -> list[str]:
    """A statement for each alternative that a question names, in its order; none if it names fewer
    than two.

    ``"Which is the best source of power: wind, sun or nuclear?"`` gives three statements, ``"Is tea
    or coffee healthier?"`` two.
    """
    text = question.strip()
    if _OR_NOT.search(text):
        return []
    for pattern in (_WHICH_FIRST, _LIST_FIRST):
        if match := pattern.match(text):
            options = _options(match["list"])
            if len(options) > 1:
                return [
                    _comparison(option, match["comparison"], match["rest"]) for option in options
                ]
    if match := _COPULA.match(text):
        return _copula(match)
    if match := _MODAL.match(text):
        return _modal(match)
    return []


def _options(text: str) -> list[str]:
    parts = [part.strip(" .?") for part in _SPLIT.split(text)]
    return [part for part in dict.fromkeys(parts) if part]


def _comparison(option: str, comparison: str, rest: str) -> str:
    article = (
        "the "
        if comparison.lower().endswith(("est", "best", "worst")) or "most" in comparison
        else ""
    )
    return upper_first(" ".join(f"{option} is {article}{comparison} {rest}".split()))


def _copula(match: re.Match[str]) -> list[str]:
    """ "Is A or B PREDICATE": the predicate starts at the first word that looks like one."""
    words = match["right"].split(" ")
    start = predicate_start(words, 1)
    if start is None:
        start = next((i for i in range(1, len(words)) if re.fullmatch(_BEST, words[i])), None)
    if start is None:
        return _predicates(match["be"], match["left"], match["right"])
    options = [*_options(match["left"]), " ".join(words[:start])]
    predicate = " ".join(words[start:])
    return [upper_first(f"{option} {match['be'].lower()} {predicate}") for option in options]


def _predicates(be: str, left: str, right: str) -> list[str]:
    """ "Is SUBJECT X or Y": two predicates of one subject."""
    words = left.split(" ")
    if len(words) < 2:
        return []
    start = predicate_start(words, 1) or len(words) - 1
    subject = " ".join(words[:start])
    return [
        upper_first(f"{subject} {be.lower()} {each}") for each in (" ".join(words[start:]), right)
    ]


def _modal(match: re.Match[str]) -> list[str]:
    """ "Should SUBJECT VERB A or B": two objects, or two predicates when a verb follows "or"."""
    left, right = match["left"].split(" "), match["right"]
    verb = next((i for i in range(1, len(left)) if left[i].lower() in BASE_VERBS), None)
    if verb is None:
        return []
    modal = match["modal"].lower()
    stem = [*left[:verb], *([] if modal in {"do", "does"} else [modal])]
    first_right = right.split(" ")[0].lower()
    if first_right in BASE_VERBS or first_right in AUXILIARIES:
        return [upper_first(" ".join([*stem, *left[verb:]])), upper_first(" ".join([*stem, right]))]
    # Only the last words before "or" stand against what follows it.
    size = min(len(right.split(" ")), max(1, len(left) - verb - 1))
    kept = left[verb : len(left) - size]
    objects = [*_options(" ".join(left[len(left) - size :])), right]
    return [upper_first(" ".join([*stem, *kept, each])) for each in objects]
