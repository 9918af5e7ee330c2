"""What a judge that stands in front of another one takes over from it."""

from __future__ import annotations

from typing import cast

from perspective_rag.judge.support import listing_rule, sides_rule
from perspective_rag.listing import ListingRule
from perspective_rag.protocols import Judge, JudgesLists


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

    @property
    def quick(self) -> Judge | None:
        """What reads single sentences: itself, or what the judge has for that."""
        own = quick_judge(self.inner)
        return cast("Judge", self) if own is self.inner else own


def quick_judge(judge: Judge | None) -> Judge | None:
    """What reads single sentences in a judge's place (``quick``): a language model behind it would
    cost a call for each. The judge itself where it names nothing; None: nobody can.
    """
    found: Judge | None = getattr(judge, "quick", judge)
    return found


def list_reader(judge: Judge | None) -> JudgesLists | None:
    """The judge where it reads lists, else None."""
    return judge if isinstance(judge, JudgesLists) and judge.batch_size is not None else None


def pair_judge(judge: Judge | None) -> Judge | None:
    """What is asked about single pairs: the judge, or what one that reads lists has for them."""
    return judge if list_reader(judge) is None else quick_judge(judge)
