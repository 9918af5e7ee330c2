"""The same task in other words."""

from __future__ import annotations

import re
from dataclasses import replace

from benchmarks.pir.tasks import Task


def reworded(task: Task) -> Task:
    """The same task in other words: what frames queries and perspectives is said differently."""
    return replace(
        task,
        queries=tuple(
            replace(
                query,
                text=_other_words(query.text),
                perspective=_other_words(query.perspective),
            )
            for query in task.queries
        ),
    )


def _other_words(text: str) -> str:
    for pattern, words in _WORDS:
        text = pattern.sub(words, text, count=1)
    return text


_WORDS = tuple(
    (re.compile(pattern, re.IGNORECASE), words)
    for pattern, words in (
        (r"^find (an? )?", "I would like to see "),
        (r"\ba news article\b|\bnews article\b", "press coverage"),
        (r"\ba claim\b|\bclaim\b", "an assertion"),
        (r"\ba story\b", "a short tale"),
        (r"\bopposes\b", "disagrees with"),
        (r"\bsupports\b", "agrees with"),
        (r"\brefutes\b", "disproves"),
        (r"\bhappened in\b", "from"),
        (r"\brelates to\b", "has to do with"),
    )
)
