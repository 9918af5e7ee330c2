"""The sentences that an answer can quote, and how near they are to a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from perspective_rag.answer.citations import without_marks
from perspective_rag.select.near_duplicates import first_copies
from perspective_rag.text import split_sentences, text_key, words
from perspective_rag.types import Candidate

# Fewer words than this are a heading or a fragment.
_LEAST_WORDS = 4
_OPENING = "\"'“‘«([「『（"
# Words that tell nothing of what a question is about.
_EMPTY = frozenset(
    """a about all am an and any are as at be been being but by can could d did do does for from
    had has have he her his how i if in into is it its ll m may me might more most must my no not
    of on or our re s shall she should so some such t than that the their them then there these
    they this those to us ve was we were what when where which who whom whose why will with would
    you your good bad better best worse worst think tell""".split()
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, and how it stands in each candidate that holds it or nearly the same words, by
    the candidate's place.
    """

    text: str
    holders: Mapping[int, str]


def quotable(
    candidates: Sequence[Candidate], places: Iterable[int], language: str = "en"
) -> list[Sentence]:
    """The distinct sentences of the candidates at these places; fragments only from one that has
    nothing else.

    What looks like a citation in them is left out. ``language`` is that of ``split_sentences``.
    """
    found: list[tuple[str, int]] = []
    for place in dict.fromkeys(places):
        split = split_sentences(candidates[place].passage.text, language)
        texts = [without_marks(" ".join(each.split())) for each in split]
        texts = [text for text in texts if text_key(text)]
        whole = [text for text in texts if _is_whole(text)]
        found += [(text, place) for text in whole or texts]
    first = first_copies([text for text, _ in found])
    holders: dict[int, dict[int, str]] = {}
    for (text, place), same in zip(found, first, strict=True):
        holders.setdefault(same, {}).setdefault(place, text)
    return [Sentence(found[same][0], held) for same, held in holders.items()]


def overlaps(target: str, sentences: Sequence[Sentence]) -> list[float]:
    """The share of the target's words in each sentence, rarer words counting more."""
    bags = [frozenset(words(sentence.text)) for sentence in sentences]
    frequency = Counter(word for bag in bags for word in bag)
    weights = {word: 1.0 / (1 + frequency[word]) for word in set(words(target))}
    total = sum(weights.values()) or 1.0
    return [sum(w for word, w in weights.items() if word in bag) / total for bag in bags]


def nearest(targets: Sequence[str], sentences: Sequence[Sentence], limit: int) -> list[Sentence]:
    """At most ``limit`` sentences, in their order: as many for each target, those that share most
    of its words.
    """
    shares = [overlaps(each, sentences) for each in targets]
    ranks = [sorted(range(len(sentences)), key=lambda i: -own[i]) for own in shares]
    first = dict.fromkeys(i for row in zip(*ranks, strict=True) for i in row)
    return [sentences[i] for i in sorted(islice(first, limit))]


def shares_topic(question: str, sentence: Sentence) -> bool:
    """Whether a sentence holds any word of the question that says what it is about."""
    asked = {_stem(word) for word in words(question) if word not in _EMPTY}
    return bool(asked & {_stem(word) for word in words(sentence.text)})


def _stem(word: str) -> str:
    for ending in ("ies", "es", "ing", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return word[: -len(ending)]
    return word.removesuffix("e").removesuffix("y") if len(word) > 3 else word


def _is_whole(text: str) -> bool:
    starts = not text.lstrip(_OPENING)[:1].islower()
    ends = not text[-1].isalnum() and text[-1] not in ",;:-–—"
    return starts and ends and len(words(text)) >= _LEAST_WORDS
