"""What a judge that stands in front of another one takes over from it."""

from __future__ import annotations

from perspective_rag.judge.support import listing_rule, sides_rule
from perspective_rag.listing import ListingRule
from perspective_rag.protocols import Judge


class OfInner:
    """The name, the threshold, the listing rules and the languages of the judge ``inner``."""

    inner: Judge

    @property
    def name(self) -> str:
        """The judge's own."""
        return self.inner.name

    @property
    def threshold(self) -> float:
        """The judge's own."""
        return self.inner.threshold

    @property
    def languages(self) -> tuple[str, ...]:
        """The judge's own; empty where it names none."""
        return tuple(getattr(self.inner, "languages", ()))

    @property
    def listing(self) -> ListingRule:
        """The judge's own, else its threshold."""
        return listing_rule(self.inner)

    @property
    def sides_listing(self) -> ListingRule | None:
        """The judge's own where it reads two sides together, else None."""
        return sides_rule(self.inner)
