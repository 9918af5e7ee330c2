"""Short names of sides, as statements about a question."""

from __future__ import annotations

from perspective_rag.extract.cleaning import cleaned, glued, shortened, unglued
from perspective_rag.extract.context import sentences
from perspective_rag.extract.english import AUXILIARIES, bare, upper_first
from perspective_rag.extract.lexicon import tags
from perspective_rag.extract.options import answer_with
from perspective_rag.extract.sanity import sound
from perspective_rag.extract.statement import statement_of
from perspective_rag.extract.unwrap import core_of, trimmed
from perspective_rag.extract.verbs import finite_verb

LONGEST_LABEL = 8  # words
_FOR = frozenset("yes yep yeah pro for support supporters agree in-favour true approve".split())
_AGAINST = frozenset(
    "no nope con contra against anti oppose opponents disagree false disapprove".split()
)


def as_statement_about(question: str, label: str) -> str:
    """A short name of a side as a statement about the question; the label itself where the rules
    know no way, or where it is a statement already ("Zoos save species").

    ``"nuclear"`` about ``"Which is the best source of power?"`` gives ``"Nuclear is the best source
    of power"``; ``"yes"`` and ``"against"`` about a yes/no question give its two sides.
    """
    plain = " ".join(label.split()).rstrip(". ")
    words = plain.split(" ")
    if not plain or len(words) > LONGEST_LABEL or _says_something(words):
        return upper_first(plain) if plain else label
    asked = unglued(trimmed(core_of(trimmed(cleaned(shortened(question)[0]))).text))
    claim = statement_of(asked)
    if claim is not None:
        side = bare(words[0]) if len(words) < 3 else ""
        if side in _FOR:
            return claim.text
        if side in _AGAINST:
            return claim.negation
    parts = sentences(glued(asked))
    made = answer_with(parts[-1], words) if parts else None
    if made is not None and sound(made):
        return made
    return upper_first(plain)


def _says_something(words: list[str]) -> bool:
    """True for a label with a verb of its own."""
    if len(words) < 2:
        return False
    verb = finite_verb(words)
    return verb is not None and (
        verb + 1 < len(words) or bare(words[verb]) in AUXILIARIES or "z" in tags(words[verb])
    )
