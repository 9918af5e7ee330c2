"""The same questions as bare topics, the way people type them into a search box."""

from __future__ import annotations

import re
from dataclasses import replace

from benchmarks.core.gold import GoldSet
from perspective_rag.perspectives.statements import main_verb
from perspective_rag.perspectives.words import PRONOUNS, verb_share

_FORMULA = re.compile(
    r"^(?:this house (?:would|believes(?: that)?|supports|regrets)|we should|let us)\s+",
    re.IGNORECASE,
)


def topics_of(gold: GoldSet) -> GoldSet:
    """The set with its questions cut down to their topics; those that leave none are left out."""
    cut = [(each, topic_of(each.question)) for each in gold.questions]
    questions = tuple(replace(each, question=topic) for each, topic in cut if topic)
    return replace(gold, questions=questions, fingerprint=f"{gold.fingerprint}-topics")


def topic_of(statement: str) -> str | None:
    """What a statement is about, by rule: "Homework should be banned" gives "Homework", "Ban junk
    food from schools" "junk food from schools"; None where no topic can be cut out.
    """
    words = _FORMULA.sub("", statement.strip().rstrip(".?!")).split()
    if not words:
        return None
    if verb_share(words[0]) > 0.3:
        topic = words[1:]
    else:
        verb = main_verb(words)
        topic = words[:verb] if verb else []
    if not topic or topic[0].lower() in PRONOUNS or len(topic) == len(words):
        return None
    return " ".join(topic)
