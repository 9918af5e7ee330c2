"""What a claim cites a passage by, and what in a text looks like a citation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from perspective_rag.types import Candidate, passage_key

# The space before is looked at once, from its beginning.
MARK = re.compile(r"(?<!\s)\s*\[(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\]")
# Brackets of other scripts, and spaces inside, look like a mark too.
_FORGED = re.compile(r"(?<!\s)\s*[\[［【〔]\s*\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\s*[\]］】〕]")
_ROUND = str.maketrans("[［【〔]］】〕", "(（((" + ")）))")


def citation_keys(candidates: Sequence[Candidate]) -> list[str]:
    """The name by which a claim cites each candidate: its passage's id, else what
    ``identity.passage_key`` makes of it; no two are the same.
    """
    keys: list[str] = []
    taken: set[str] = set()
    for candidate in candidates:
        own = key = passage_key(candidate.passage)
        number = 1
        while key in taken:
            number += 1
            key = f"{own}#{number}"
        taken.add(key)
        keys.append(key)
    return keys


def without_marks(text: str) -> str:
    """A text without what looks like a citation ("[2]"): those of a quoted passage are not ours."""
    bare = _FORGED.sub("", text)
    # "[1[2]]": what is left of a mark around a mark.
    return _FORGED.sub(lambda left: left[0].translate(_ROUND), bare).strip()
