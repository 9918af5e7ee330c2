"""Quotations found again in the passage they were copied from, in linear time."""

from __future__ import annotations

from perspective_rag.text import words
from perspective_rag.types import Proof

MAX_WORDS = 40
"""Twice what a model is asked for: a longer piece is no quotation but the passage given back."""
_LEAST_WORDS = 2
_SAME = {
    **dict.fromkeys("“”„‟«»″〝〞「」『』", '"'),
    **dict.fromkeys("‘’‚‛′´`", "'"),
    **dict.fromkeys("‐‑‒–—−", "-"),
}
_OUTSIDE = " \"'.…"
# Scripts from here on, Thai and Chinese among them, put no spaces between words.
_UNSPACED = "\u0e00"


def find_quote(quote: str, text: str) -> Proof | None:
    """Where the words of a quotation stand in a text; None where they do not.

    White space, quotation marks and dashes of any kind are alike; everything else must agree, and
    the quotation must begin and end with whole words. Quotation marks and dots around it do not
    count. One of fewer than two words, or of more than ``MAX_WORDS``, proves nothing.
    """
    wanted = _plain(quote[: MAX_WORDS * 40])[0].strip(_OUTSIDE)
    if not _LEAST_WORDS <= len(words(wanted)) <= MAX_WORDS:
        return None
    plain, places = _plain(text)
    start = plain.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        if not (_joined(plain, start) or _joined(plain, end)):
            return Proof(places[start], places[end - 1] + 1)
        start = plain.find(wanted, end)
    return None


def _plain(text: str) -> tuple[str, list[int]]:
    """The text with single spaces and one kind of each mark, and the place of each character."""
    kept: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        if character.isspace():
            if kept and kept[-1] == " ":
                continue
            character = " "
        kept.append(_SAME.get(character, character))
        places.append(place)
    return "".join(kept), places


def _joined(text: str, place: int) -> bool:
    """Whether a word of an alphabet goes on across a place."""
    around = text[max(place - 1, 0) : place + 1]
    return len(around) == 2 and around.isalnum() and max(around) < _UNSPACED
