"""What every result keeps, checked where results are made."""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag.flow.request import Request
from perspective_rag.types import Candidate


def check_chosen(request: Request, chosen: Sequence[Candidate]) -> list[Candidate]:
    """The chosen candidates: none twice, at most k, each one that was found.

    A step that breaks this is at fault: what it chose too much is left out and recorded.
    """
    keys = request.keys([candidate.passage for candidate in chosen])
    first = dict(zip(reversed(keys), reversed(chosen), strict=True))
    kept = [first.pop(key) for key in keys if key in first and key in request.found]
    kept = kept[: request.options.k]
    if len(kept) < len(chosen):
        problem = "passages chosen twice, never found or beyond k were left out"
        request.recorder.degrade("select", f"{len(chosen) - len(kept)} of {len(chosen)} {problem}")
    return kept
