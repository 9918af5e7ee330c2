"""Words that stand in questions and denials only ("any", "ever", "at all"), and what stands for
them in a plain statement.
"""

from __future__ import annotations

from collections.abc import Sequence

from perspective_rag.extract.english import ASKING_ADVERBS, DEGREES, bare
from perspective_rag.extract.lexicon import readings

_SOME = {
    "any": "some",
    "anything": "something",
    "anyone": "someone",
    "anybody": "somebody",
    "anywhere": "somewhere",
}
_LONGER = frozenset("more longer anymore".split())


def affirmed(predicate: Sequence[str]) -> list[str]:
    """The predicate of a question as an affirmation says it: "any less polluting" becomes "less
    polluting", "anything to say" becomes "something to say"; "ever" is left to the caller.
    """
    kept: list[str] = []
    skip = 0
    for i, word in enumerate(predicate):
        if skip:
            skip -= 1
            continue
        lower = bare(word)
        following = bare(predicate[i + 1]) if i + 1 < len(predicate) else ""
        last = i + 1 == len(predicate) or (following in _LONGER and i + 2 == len(predicate))
        if lower == "at" and following == "all":
            skip = 1
        elif lower == "any" and following in _LONGER and last:
            skip = 1  # "Do we need libraries any more"
        elif (lower == "any" and _compares(following)) or (lower in {"anymore", "yet"} and last):
            continue
        elif lower in _SOME:
            kept.append(_SOME[lower] + word[len(lower) :])
        else:
            kept.append(word)
    return kept


def _compares(word: str) -> bool:
    adjective = any(tag in "ar" for _, tag in readings(word))
    return word in DEGREES or (word.endswith("er") and adjective) or word == "different"


def without_asking(predicate: Sequence[str]) -> list[str]:
    """The predicate without the adverbs that only lend weight to a question ("really")."""
    kept = [word for word in predicate if bare(word) not in ASKING_ADVERBS]
    if len(kept) > 1 and bare(kept[0]) == "even":
        kept = kept[1:]
    return kept or list(predicate)


def take_ever(predicate: Sequence[str]) -> tuple[list[str], bool]:
    """The predicate without the first "ever", and whether there was one."""
    for i, word in enumerate(predicate[:6]):
        if bare(word) == "ever" and (i == 0 or bare(predicate[i - 1]) not in {"than", "for"}):
            return [*predicate[:i], *predicate[i + 1 :]], True
    return list(predicate), False


def no_longer(predicate: Sequence[str]) -> list[str] | None:
    """The predicate with "still" turned into "no longer"; None without a "still" at its head."""
    for i, word in enumerate(predicate[:2]):
        if bare(word) == "still":
            return [*predicate[:i], "no", "longer", *predicate[i + 1 :]]
    return None
