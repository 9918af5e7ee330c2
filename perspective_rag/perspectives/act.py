"""What a question is about as a noun phrase: "closing zoos" for "Should zoos be closed?"."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perspective_rag.perspectives.clauses import auxiliary_of, subject_end
from perspective_rag.perspectives.context import antecedents
from perspective_rag.perspectives.words import (
    BE,
    MODALS,
    WH_WORDS,
    bare,
    base_of,
    gerund,
    mid_sentence,
    tags,
)

_NAMED = re.compile(
    r"^(?:what|which)(?:'s| is| are| was| were| do you think of| about)"
    r"(?: the (?:pros and cons|benefits|risks|advantages|disadvantages|effects|costs?|dangers) of)?"
    r" (?P<topic>.+)$",
    re.IGNORECASE,
)
_DONE_ABOUT = re.compile(
    r"^what (?:should|can|could|must) (?:be done|we do|one do|governments? do)"
    r" (?:about|against|with) (?P<topic>.+)$",
    re.IGNORECASE,
)


def act_of(words: Sequence[str]) -> str | None:
    """What a question proposes, as a gerund: "banning social media for children" for "Should
    social media be banned for children"; None where it proposes nothing.
    """
    parts = _parts(words)
    if parts is None or parts[0] not in MODALS - {"will", "would", "may", "might", "can", "could"}:
        return None
    _, subject, predicate = parts
    predicate = [word for word in predicate if bare(word) not in {"not", "ever", "always"}]
    if len(predicate) > 1 and bare(predicate[0]) == "be":
        verb = base_of(predicate[1], "p") if "p" in tags(predicate[1]) else None
        if verb is not None:
            return " ".join([gerund(verb), *subject, *predicate[2:]])
        return " ".join(["making", *subject, *predicate[1:]])
    if not predicate or bare(predicate[0]) == "be":
        return None
    doing = [gerund(bare(predicate[0])), *predicate[1:]]
    return " ".join(doing if bare(subject[0]) in {"we", "one", "you", "i"} else [*subject, *doing])


def topic_of(words: Sequence[str]) -> str | None:
    """What a question without its end mark is about: what it proposes, else its subject; None where
    neither is found.
    """
    proposed = act_of(words)
    if proposed is not None:
        return proposed
    text = " ".join(words)
    for pattern in (_DONE_ABOUT, _NAMED):
        if match := pattern.match(text):
            return match["topic"].partition(":")[0]
    parts = _parts(words)
    if parts is not None:
        return " ".join(parts[1])
    if bare(words[0]).removesuffix("'s") in WH_WORDS:
        return None
    return mid_sentence(text) if len(words) < 5 else next(iter(antecedents([words])), None)


def _parts(words: Sequence[str]) -> tuple[str, list[str], list[str]] | None:
    """The auxiliary, the subject and the predicate of a question, also behind "why" and "how", or
    of a statement with an auxiliary.
    """
    words = [*words]
    if bare(words[0]) in {"why", "how", "when", "where"}:
        words = words[1:]
    if not words:
        return None
    auxiliary = auxiliary_of(words[0])
    if auxiliary is not None:
        end = subject_end(words, auxiliary)
        return None if end is None else (auxiliary, words[1:end], words[end:])
    if bare(words[0]).removesuffix("'s") in WH_WORDS:
        return None
    for i, word in enumerate(words[1:-1], start=1):
        if bare(word) in MODALS | BE:
            return bare(word), [mid_sentence(words[0]), *words[1:i]], words[i + 1 :]
    return None
