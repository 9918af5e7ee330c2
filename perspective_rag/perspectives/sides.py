"""Perspectives from texts and claims: given, made, told apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from perspective_rag.errors import ConfigError
from perspective_rag.perspectives.statements import Statement, as_statement, negate
from perspective_rag.text import seen_keys
from perspective_rag.types import Extraction, Perspective


@dataclass(frozen=True, slots=True)
class GivenPerspectives:
    """Perspectives named in advance, the same for every question.

    Attributes:
        perspectives: The perspectives, with different ids.
    """

    perspectives: tuple[Perspective, ...]

    def extract(self, question: str) -> Extraction:
        """The given perspectives.

        Args:
            question: The question.

        Returns:
            The question with the perspectives; exclusive where they are the sides of claims.
        """
        return Extraction(
            question,
            self.perspectives,
            kind="sides" if exclude_each_other(self.perspectives) else "alternatives",
            exclusive=exclude_each_other(self.perspectives),
        )


def exclude_each_other(perspectives: Sequence[Perspective]) -> bool:
    """True where each perspective is one side of a claim, and some claim has both of its sides."""
    sides: dict[str, set[str]] = {}
    for each in perspectives:
        if each.claim is None or each.stance is None:
            return False
        sides.setdefault(each.claim, set()).add(each.stance)
    return any(len(stances) == 2 for stances in sides.values())


def as_perspectives(given: Sequence[Perspective | str]) -> tuple[Perspective, ...]:
    """Makes perspectives of texts.

    Args:
        given: Texts, which get the ids p1, p2, ..., or Perspectives.

    Returns:
        The perspectives, in their order.

    Raises:
        ConfigError: Something else, an empty text, an id given twice, or two that read
            the same.
    """
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ConfigError(f"perspectives must be a list of texts or Perspectives, got {given!r}")
    made = []
    for number, item in enumerate(given, start=1):
        if isinstance(item, str):
            item = Perspective(f"p{number}", item)
        if not isinstance(item, Perspective) or not seen_keys(item.text):
            raise ConfigError(f"a perspective must be a text that is not empty, got {item!r}")
        made.append(item)
    if len({item.id for item in made}) < len(made):
        raise ConfigError(f"perspectives must have different ids, got {[p.id for p in made]}")
    for one, other in _alike(made):
        raise ConfigError(
            f"perspectives {one.id} and {other.id} read the same, {one.text!r:.80} and"
            f" {other.text!r:.80} (letters that only look alike count as the same): give each once"
        )
    return tuple(made)


def distinct(found: Sequence[Perspective | str]) -> list[Perspective | str]:
    """What an extractor found, without those that read the same as one before."""
    known = (str, Perspective)  # as_perspectives refuses others
    made = [each if isinstance(each, Perspective) else Perspective("", str(each)) for each in found]
    again = {id(other) for _, other in _alike(made)}
    pairs = zip(found, made, strict=True)
    return [each for each, one in pairs if id(one) not in again or not isinstance(each, known)]


def _alike(made: Sequence[Perspective]) -> Iterator[tuple[Perspective, Perspective]]:
    """Each perspective that reads the same as an earlier one, behind that one."""
    seen: dict[tuple[str, str | None, str | None], Perspective] = {}
    for each in made:
        keys = [(key, each.stance, each.claim) for key in seen_keys(each.text)]
        earlier = next((seen[key] for key in keys if key in seen), None)
        if earlier is not None:
            yield earlier, each
        for key in keys:
            seen.setdefault(key, each)


def both_sides(claim: str | Statement, *, number: int = 1) -> tuple[Perspective, Perspective]:
    """A claim and its opposite: the perspectives ``support`` and ``oppose`` of one claim.

    A text that the rules cannot negate is denied as a whole. The ids of a second claim of the same
    question end in its ``number``.
    """
    if isinstance(claim, str):
        text = claim.strip()
        claim = as_statement(text) or Statement(text, negate(text))
    end = "" if number == 1 else str(number)
    return (
        Perspective(f"support{end}", claim.text, "support", claim.text),
        Perspective(f"oppose{end}", claim.negation, "oppose", claim.text),
    )
