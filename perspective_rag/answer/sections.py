"""The claims of an answer by perspective: a section for each that is covered."""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag.types import Claim, RetrievalResult


def in_sections(claims: Sequence[Claim], result: RetrievalResult) -> list[Claim]:
    """The claims in the order of the perspectives, those of none last."""
    order = {each.id: place for place, each in enumerate(result.perspectives)}
    return sorted(claims, key=lambda claim: order.get(claim.perspective or "", len(order)))


def lacking(claims: Sequence[Claim], result: RetrievalResult) -> list[str]:
    """The ids of the covered perspectives for which no claim speaks."""
    said = {claim.perspective for claim in claims}
    return [each.id for each in result.coverage.covered if each.id not in said]
